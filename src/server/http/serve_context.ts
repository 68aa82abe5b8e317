import type { Registry } from "../conversations/registry.ts";
import type { BodyLimits } from "./body.ts";
import type { Pool } from "../pool/pool.ts";

/** What the answers of a server are made of. */
export interface ServeContext {
  readonly version: string;
  readonly registry: Registry;
  /** The children that wait, where some do. */
  readonly pool?: Pick<Pool, "entries" | "counts"> | undefined;
  readonly limits: BodyLimits;
  /** When the server was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** How many runs other processes of this program have handed over, and how many of them are not over yet. */
  readonly handedOver: { readonly total: number; readonly underWay: number };
}
