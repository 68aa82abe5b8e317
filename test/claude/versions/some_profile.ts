import type { VersionProfile } from "../../../src/claude/versions/profile.ts";

/** A profile in which only the given parts matter. */
export function someProfile(version: string, parts: Partial<VersionProfile> = {}): VersionProfile {
  return {
    version,
    capabilities: [],
    frames: {},
    constants: {},
    unseenKeys: "",
    hookEvents: "",
    controlRequests: "",
    tools: "",
    commands: { prompt: "", local: "", unavailable: "" },
    subcommands: "",
    flags: "",
    settings: {},
    permissionModes: "",
    dialogs: [],
    ...parts,
  };
}
