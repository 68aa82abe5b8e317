import type { ReplayedSdk } from "./replayed_scenarios.ts";

/**
 * The scenarios that are played through a server, by a Claude Code that is started for them and then by one that has
 * waited: an SDK asks there, in its first request, for what such a one has to be started with. They are played nowhere
 * else live.
 */
export const WARM_SCENARIOS: Readonly<Record<ReplayedSdk, readonly string[]>> = {
  python: ["hooks"],
  typescript: ["permissions"],
};
