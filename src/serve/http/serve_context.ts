import type { Registry } from "../conversations/registry.ts";

/** What the answers of a server are made of. */
export interface ServeContext {
  readonly version: string;
  readonly registry: Registry;
  /** When the server was started, in milliseconds since the epoch. */
  readonly startedAt: number;
}
