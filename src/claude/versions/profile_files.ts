import type { VersionProfile } from "./profile.ts";

/** Loads the profile of a version. `deno task learn` writes this file: the bundler follows only paths that are written out. */
export const PROFILE_FILES: Readonly<Record<string, () => Promise<{ default: VersionProfile }>>> = {
  "2.1.285": () => import("./2.1.285.json", { with: { type: "json" } }),
  "2.1.330": () => import("./2.1.330.json", { with: { type: "json" } }),
  "2.1.332": () => import("./2.1.332.json", { with: { type: "json" } }),
};
