/** The SDKs whose users' conversations are replayed from tapes. */
export type ReplayedSdk = "python" | "typescript";

/** The scenarios that are replayed: all that the users of the SDKs play. */
export const REPLAYED_SCENARIOS: Readonly<Record<ReplayedSdk, readonly string[]>> = {
  python: [
    "permissions and tools of its own",
    "hooks",
    "control",
    "options",
    "structured output",
    "partial messages",
    "sessions",
    "errors",
    "an abort",
    "two queries at once",
  ],
  typescript: [
    "permissions",
    "every hook, and some that decide",
    "control, and tools of its own",
    "prompts as they are",
    "options",
    "structured output",
    "partial messages",
    "sessions",
    "an abort",
    "errors",
    "two plain queries at once",
  ],
};

/** The folder in `fixtures/recordings/sdk` with the tapes of a scenario, one a run. */
export function tapeFolder(sdk: ReplayedSdk, scenario: string): string {
  return `${sdk}/${scenario.replaceAll(/[ ,]+/gu, "-")}`;
}
