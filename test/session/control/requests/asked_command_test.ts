import { assertEquals } from "@std/assert";
import type { Consulted } from "../../../../src/session/input.ts";
import type { JsonObject } from "../../../../src/json_object.ts";
import { commandAnswer } from "../../../../src/session/control/requests/asked_command.ts";
import type { SettledMessage } from "../../../../src/session/message.ts";
import { simulate } from "../../simulation.ts";

/** What is done in a conversation that rests when a command is sent, and a message after it. */
function asking() {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.receive({ type: "reachable" });
  session.receive({ type: "hook", event: "SessionStart", payload: {} });
  session.receive({ type: "status", status: "idle" });
  const settled = { kind: "asked", version: "2.1.332" } as const;
  session.receive({ type: "message", message: { text: "/context", ticket: "c", settled } });
  session.receive({ type: "message", message: { text: "hello", way: "rendezvous" } });
  const done = () =>
    session.effects.flatMap((effect): readonly unknown[] => {
      switch (effect.type) {
        case "consult":
          return [`asks ${effect.request.body["prompt"]}`];
        case "deliver":
          return [`delivers ${effect.prompt}`];
        case "turn":
          return effect.ending.kind === "settled" ? [effect.ending.message.settled] : [];
        case "respond":
          return ["responds"];
        default:
          return [];
      }
    });
  const say = (said: Consulted) => {
    const ids = session.effects.flatMap((effect) =>
      effect.type === "consult" ? [effect.request.id] : []
    );
    for (const id of ids) session.receive({ type: "consulted", id, said });
  };
  return { session, done, say };
}

Deno.test("a command is carried out by a headless Claude Code, and what comes after it waits", () => {
  const { done, say } = asking();
  assertEquals(done(), ["asks /context"]);
  say({ response: { text: "much\n", words: "much", name: "context", fields: { a: 1 } } });
  const carried = { words: "much", name: "context", fields: { a: 1 } };
  assertEquals<unknown>(done(), [
    "asks /context",
    { kind: "local", text: "much\n", version: "2.1.332", carried },
    "delivers hello",
  ]);
});

Deno.test("a command that could not be carried out fails its turn alone", () => {
  const { done, say } = asking();
  say({ failure: "it took more than 30 s" });
  const [, settled, delivered] = done();
  assertEquals<unknown>(settled, {
    kind: "refused",
    message: "Cannot carry out /context: it took more than 30 s",
    suggestion: "Try again, or run it with claude -p",
  });
  assertEquals(delivered, "delivers hello");
});

Deno.test("what a command tells of a process counts where any other would tell it", () => {
  const message = { text: "/cost", settled: { kind: "asked", version: "2.1.332", alone: true } };
  const said = (text: string, more = {}) =>
    commandAnswer(message as SettledMessage, { response: { text, commands: [], ...more } }).settled;
  const text = "You are currently using your subscription to power your Claude Code usage";
  assertEquals(said(text), { kind: "local", text, version: "2.1.332", carried: { commands: [] } });
  const refused = said("Total cost: $0.0000");
  assertEquals(
    refused.kind === "refused" ? refused.message : refused,
    [
      "Cannot carry out /cost: what it tells of a conversation is in the frames and results of that",
    ].join(),
  );
  const cost = "Estimated cost:        $0.0601";
  const kinds = [said(cost), said(cost, { hasCost: true })].map(({ kind }) => kind);
  assertEquals(kinds, ["refused", "local"]);
  assertEquals(said("Fast mode OFF (this session only)", { hasCost: true }).kind, "refused");
});

Deno.test("a command that clears the conversation hands the next message to a child of another session", () => {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.receive({ type: "reachable" });
  session.receive({ type: "hook", event: "SessionStart", payload: {} });
  session.receive({ type: "status", status: "idle" });
  const settled = { kind: "asked", version: "2.1.332", clears: true } as const;
  session.receive({ type: "message", message: { text: "/clear", settled } });
  session.receive({ type: "message", message: { text: "hello", way: "rendezvous" } });
  const [consult] = session.effects.filter((effect) => effect.type === "consult");
  const { id = "", body = {} } = consult?.type === "consult" ? consult.request : {};
  assertEquals(body, { prompt: "/clear", clears: true });
  session.receive({
    type: "consulted",
    id,
    said: { response: { text: "", name: "clear", begun: "new" } },
  });
  assertEquals(session.effects.filter(({ type }) => type === "deliver"), []);
  assertEquals(session.effects.filter(({ type }) => type === "turn").length, 1);
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  const last = session.effects.at(-1);
  assertEquals(last?.type === "end" ? last.ending : last, {
    kind: "renewed",
    changes: { begun: "new" },
  });
});

Deno.test("a child that is gone answers no command, which its message keeps for the next one", () => {
  const { session, done } = asking();
  session.receive({ type: "exit", exit: { kind: "exited", code: 1 } });
  assertEquals(done().filter((deed) => deed === "responds"), []);
});

/** What becomes of a message behind a command that says how the session goes on. */
function noting(text: string, { before, after }: Readonly<Record<"before" | "after", unknown>>) {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.receive({ type: "reachable" });
  session.receive({ type: "hook", event: "SessionStart", payload: {} });
  session.receive({ type: "status", status: "idle" });
  const settled = { kind: "asked", version: "2.1.332", notes: true } as const;
  session.receive({ type: "message", message: { text, settled } });
  session.receive({ type: "message", message: { text: "hello", way: "rendezvous" } });
  const [consult] = session.effects.filter((effect) => effect.type === "consult");
  const { id = "", body = {}, notes } = consult?.type === "consult" ? consult.request : {};
  assertEquals([body, notes], [{ prompt: text }, true]);
  session.receive({
    type: "consulted",
    id,
    said: {
      response: {
        ...{ text: "said", title: "T", before, after },
        fields: {
          local_command_run: {
            command: text.slice(1, text.indexOf(" ")),
            args: text.slice(text.indexOf(" ")),
          },
        },
      },
    },
  });
  assertEquals(session.effects.filter(({ type }) => type === "deliver"), []);
  const [turn] = session.effects.filter((effect) => effect.type === "turn");
  const ending = turn?.type === "turn" ? turn.ending : undefined;
  assertEquals(
    ending?.kind === "settled" && ending.message.settled.kind === "local"
      ? ending.message.settled.carried?.title
      : undefined,
    "T",
  );
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  const last = session.effects.at(-1);
  return last?.type === "end" && last.ending.kind === "renewed" ? last.ending.changes : undefined;
}

Deno.test("how a session goes on because of a command is told to the child of the next message", () => {
  const before = { model: "claude-opus", effort: "medium", ultracode: false };
  const changes = (text: string, after: Readonly<Record<string, unknown>>) =>
    noting(text, { before, after: { ...before, ...after } });
  assertEquals(changes("/model sonnet ", { model: "claude-sonnet", effort: "low" }), {
    model: "sonnet",
    chosenModel: "claude-sonnet",
  });
  assertEquals(changes("/model help", {}), {});
  assertEquals(changes("/model opusplan", {}), { model: "opusplan", chosenModel: "claude-opus" });
  assertEquals(changes("/effort HIGH", { effort: "high" }), { effort: "high" });
  assertEquals(changes("/effort auto", { effort: "high" }), { effort: null });
  assertEquals(changes("/effort silly", {}), {});
  assertEquals(changes("/effort ultracode", { ultracode: true }), {
    flagSettings: { ultracode: true },
  });
  assertEquals(changes("/rename x", { model: "another" }), {});
  assertEquals(noting("/model sonnet", { before: undefined, after: 7 }), {});
});

/** A conversation that rests, whose caller has asked for something before it sends a command. */
function askedBefore(request: { readonly subtype: string; readonly body: JsonObject }) {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.receive({ type: "reachable" });
  session.receive({ type: "hook", event: "SessionStart", payload: {} });
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "control", request: { id: "m", ...request } });
  const settled = { kind: "asked", version: "2.1.332" } as const;
  session.receive({ type: "message", message: { text: "/context", settled } });
  return session;
}

Deno.test("a command behind what a child has yet to be told is carried out with that", () => {
  const { effects } = askedBefore({ subtype: "set_permission_mode", body: { mode: "plan" } });
  const [consult] = effects.filter((effect) => effect.type === "consult");
  assertEquals(consult?.type === "consult" ? consult.changes : consult, {
    permissionMode: "plan",
  });
  assertEquals(effects.filter(({ type }) => type === "kill"), []);
});

Deno.test("a command behind changes of MCP servers waits for the child that has them", () => {
  const servers = { calc: { type: "sdk" } };
  const session = askedBefore({ subtype: "mcp_set_servers", body: { servers } });
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  assertEquals(session.effects.filter(({ type }) => type === "consult"), []);
  const last = session.effects.at(-1);
  assertEquals(last?.type === "end" ? last.ending : last, {
    kind: "renewed",
    changes: { setServers: servers, unreached: [] },
  });
});
