import type { VersionProfile } from "./profile.ts";
import newest from "./2.1.332.json" with { type: "json" };

/** The newest shipped profile. `deno task learn` writes this file. */
export const NEWEST_PROFILE: VersionProfile = newest;
