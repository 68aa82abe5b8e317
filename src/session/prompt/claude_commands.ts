import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";

/**
 * What `claude -p` makes of a slash command of Claude Code's own:
 *
 * - `prompt`: a text for the model, as the interactive program does
 * - `unavailable`: the answer that it is not available; the interactive program carries it out
 * - `told`: what the interactive program does too, and tells in the transcript: for some both ask the model
 * - `asked`: an answer of its own without the model, which a headless Claude Code gives: it changes nothing as long as
 *   nothing follows it
 * - `alone`: the same, perhaps about the process that is asked, which in a conversation is another one
 * - `noted`: the same, and the session goes on otherwise
 * - `clears`: the end of the session and the beginning of another one, which a headless Claude Code makes
 * - `own`: an answer of its own; the interactive program carries it out in its own way
 * - `personal`: a text for the model about the transcripts of all sessions, of which a run's child sees its own
 * - `gated`: nothing; the interactive program has it for some accounts
 * - `absent`: nothing, the version does not have it
 */
export type CommandKind =
  | "prompt"
  | "unavailable"
  | "told"
  | "asked"
  | "alone"
  | "noted"
  | "clears"
  | "own"
  | "personal"
  | "gated"
  | "absent";

/** The versions that the table was measured with. */
const MEASURED = ["2.1.168", "2.1.197", "2.1.330"] as const;

/** Later versions that have the commands of the last one before. */
const ALIKE: readonly string[] = ["2.1.332"];

interface Row {
  readonly names: string;
  /** One for each measured version. */
  readonly kinds: readonly [CommandKind, CommandKind, CommandKind];
}

/** Every command that comes with Claude Code, skills and other names of a command included. */
const TABLE: readonly Row[] = [
  {
    names: "batch claude-api code-review debug deep-research fewer-permission-prompts init loop " +
      "proactive review run run-skill-generator security-review simplify update-config verify",
    kinds: ["prompt", "prompt", "prompt"],
  },
  {
    names: "checkup dataviz plugin-authoring workflow-authoring",
    kinds: ["absent", "absent", "prompt"],
  },
  { names: "doctor routines schedule", kinds: ["unavailable", "unavailable", "prompt"] },
  { names: "insights team-onboarding", kinds: ["personal", "personal", "personal"] },
  { names: "heapdump", kinds: ["own", "told", "told"] },
  { names: "keybindings-help", kinds: ["own", "asked", "told"] },
  { names: "clear new reset", kinds: ["clears", "clears", "clears"] },
  { names: "context goal reload-skills", kinds: ["asked", "asked", "asked"] },
  { names: "cost stats usage", kinds: ["alone", "alone", "alone"] },
  { names: "compact", kinds: ["own", "told", "told"] },
  { names: "config settings", kinds: ["unavailable", "asked", "asked"] },
  {
    names: "agents autocompact effort focus mcp model output-style",
    kinds: ["unavailable", "unavailable", "asked"],
  },
  { names: "fast", kinds: ["unavailable", "unavailable", "alone"] },
  { names: "color reload-plugins", kinds: ["unavailable", "unavailable", "noted"] },
  { names: "name recap rename", kinds: ["unavailable", "unavailable", "told"] },
  { names: "auto-mode-setup", kinds: ["absent", "absent", "asked"] },
  {
    names: "__remote-workflow list-agents peers workflow-launch-exec",
    kinds: ["absent", "absent", "told"],
  },
  {
    names: "add-dir advisor allowed-tools android app autofix-pr background bashes bg branch " +
      "break-reminder breaks brief btw bug checkpoint chrome continue copy desktop diff downtime " +
      "exit export extra-usage feedback fork help hooks ide install-github-app " +
      "install-slack-app ios keybindings login logout marketplace memory mobile passes " +
      "permissions plan plugin plugins powerup privacy-settings pro-trial-expired quit radio " +
      "rate-limit-options rc release-notes remote remote-control remote-env resume rewind " +
      "sandbox scroll-speed session setup-bedrock setup-vertex share skills status statusline " +
      "stickers stop tasks teleport terminal-setup theme toggle-memory tp tui ultraplan " +
      "ultrareview undo update upgrade usage-credits vim voice web-setup wellbeing workflows",
    kinds: ["unavailable", "unavailable", "unavailable"],
  },
  { names: "loops", kinds: ["unavailable", "unavailable", "absent"] },
  {
    names: "cd design-login memory-pause pause-memory",
    kinds: ["absent", "unavailable", "unavailable"],
  },
  {
    names: "access artifacts cloud-plugins design-consent design-revoke import limit-reset " +
      "low-priority project restart send-to-project subtask use-case",
    kinds: ["absent", "absent", "unavailable"],
  },
  { names: "daemon", kinds: ["gated", "gated", "gated"] },
  { names: "skill-doctor", kinds: ["absent", "absent", "gated"] },
];

/**
 * Commands that, with something behind them, only say how the session goes on, and are noted in it (2.1.330): a headless
 * Claude Code carries them out, and a child that resumes the session heeds them.
 */
const NOTED = ["color", "effort", "model", "name", "output-style", "rename"];

/** What follows `/goal` and ends the one that there is, and the longest goal, in UTF-16 units (2.1.197 and 2.1.330). */
const ENDS_OF_GOALS = ["cancel", "clear", "none", "off", "reset", "stop"];
const LONGEST_GOAL = 4000;

function isGoal(rest: string): boolean {
  return !ENDS_OF_GOALS.includes(rest.toLowerCase()) && rest.length <= LONGEST_GOAL;
}

/** Commands of which what follows them changes nothing in a headless Claude Code (2.1.168 to 2.1.330). */
const HEEDLESS = "agents context cost fast focus keybindings-help mcp reload-skills stats usage"
  .split(" ");

/** Commands that make a prompt which a subagent carries out since 2.1.330: what that says is their output. */
export const REVIEWS: readonly string[] = ["code-review", "review"];

/** What has to follow some commands for them to do anything: else they say how they are used (2.1.197 and 2.1.330). */
const DEEDS: ReadonlyMap<string, RegExp> = new Map([
  ["config", /=/u],
  ["settings", /=/u],
]);

/** The commands of a version of Claude Code. */
export interface ClaudeCommands {
  /** By name; other versions' are `absent`. */
  readonly kinds: ReadonlyMap<string, CommandKind>;
  /** Whether these are all: where nobody has looked, the commands of the last version before are assumed. */
  readonly complete: boolean;
  /**
   * What becomes of what follows a command: it is noted in the session, it is a goal that Claude Code pursues in either
   * program, it is nothing to it, or it does more.
   */
  readonly heeds: (name: string, rest: string) => "notes" | "pursues" | "nothing" | "more";
}

/** The kinds by name, for each measured version. */
const KINDS: readonly ReadonlyMap<string, CommandKind>[] = MEASURED.map((_, index) =>
  new Map(
    TABLE.flatMap(({ names, kinds }) =>
      names.split(" ").map((name) => [name, kinds[index] ?? "absent"] as const)
    ),
  )
);

/** The slash commands that a version brings along. */
export function claudeCommands(version: string): ClaudeCommands {
  const last = MEASURED.findLastIndex((measured) => isVersionAtLeast(version, measured));
  return {
    kinds: KINDS[Math.max(0, last)] ?? new Map(),
    complete: [...MEASURED, ...ALIKE].includes(version),
    heeds: (name, rest) => {
      if (HEEDLESS.includes(name) || DEEDS.get(name)?.test(rest) === false) return "nothing";
      if (name === "goal") return isGoal(rest) ? "pursues" : "notes";
      return NOTED.includes(name) && isVersionAtLeast(version, "2.1.330") ? "notes" : "more";
    },
  };
}
