import { health } from "./health.ts";
import type { Route } from "./route.ts";
import type { ServeContext } from "./serve_context.ts";

/** All that the server answers. */
export const ROUTES: readonly Route<ServeContext>[] = [
  { method: "GET", path: "/healthz", isOpen: true, handle: health },
];
