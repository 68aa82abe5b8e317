import { answerQuestion } from "./answers.ts";
import { showCassette } from "./cassette.ts";
import {
  createConversation,
  listConversations,
  removeConversation,
  showConversation,
} from "./conversations.ts";
import { streamEvents } from "./events.ts";
import { health } from "./health.ts";
import { interruptTurn } from "./interrupt.ts";
import { typeKeys } from "./keys.ts";
import { sendMessage } from "./messages.ts";
import { metrics } from "./metrics.ts";
import openapi from "./openapi.json" with { type: "json" };
import type { Route } from "../route.ts";
import { answerRun } from "./run.ts";
import { showScreen } from "./screen.ts";
import type { ServeContext } from "../serve_context.ts";

const ALL = "/v1/conversations";
const ONE = `${ALL}/{id}`;

/** All that the server answers. */
export const ROUTES: readonly Route<ServeContext>[] = [
  { method: "POST", path: ALL, handle: createConversation },
  { method: "GET", path: ALL, handle: listConversations },
  { method: "GET", path: ONE, handle: showConversation },
  { method: "DELETE", path: ONE, handle: removeConversation },
  { method: "POST", path: `${ONE}/messages`, handle: sendMessage },
  { method: "GET", path: `${ONE}/events`, handle: streamEvents },
  { method: "POST", path: `${ONE}/answers`, handle: answerQuestion },
  { method: "POST", path: `${ONE}/interrupt`, handle: interruptTurn },
  { method: "GET", path: `${ONE}/screen`, handle: showScreen },
  { method: "GET", path: `${ONE}/cassette`, handle: showCassette },
  { method: "POST", path: `${ONE}/keys`, handle: typeKeys },
  { method: "POST", path: "/v1/run", handle: answerRun },
  { method: "GET", path: "/healthz", isOpen: true, handle: health },
  { method: "GET", path: "/openapi.json", handle: () => Response.json(openapi) },
  { method: "GET", path: "/metrics", handle: metrics },
];
