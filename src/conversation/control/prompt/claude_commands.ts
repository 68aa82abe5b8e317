import { wordsOf } from "../../../claude/versions/profile_index.ts";
import { isNewerThanProfiles } from "../../../claude/versions/profiles.ts";
import { commandsOf } from "../../../claude/versions/tables.ts";

/**
 * How `claude -p` treats one of Claude Code's own slash commands, and what happens here:
 *
 * - `prompt`: it becomes a text for the model, also in the interactive program
 * - `unavailable`: `claude -p` answers that it is not available; the interactive program would carry it out
 * - `told`: both programs do the same, and the transcript shows it; some ask the model
 * - `asked`: `claude -p` answers without the model. The headless helper does the same; without arguments it changes
 *   nothing
 * - `alone`: like `asked`, but the answer may describe the process itself, and a conversation has another process
 * - `noted`: like `asked`, but the session continues with a change
 * - `clears`: it ends the session and begins another one; the headless helper does that
 * - `own`: `claude -p` has an answer of its own, and the interactive program does something else
 * - `personal`: a text for the model about the transcripts of all sessions. The child sees only its own
 * - `gated`: not in `claude -p`; the interactive program has it for some accounts
 * - `absent`: the version does not have it
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

/**
 * The kinds of commands whose profile says only that `claude -p` has its own answer. A command that is not listed here is
 * `own`, and is refused.
 */
const HOW: Readonly<Partial<Record<CommandKind, string>>> = {
  told: "__remote-workflow compact heapdump keybindings-help list-agents name peers recap rename " +
    "workflow-launch-exec",
  asked: "agents auto-mode-setup autocompact config context effort focus goal mcp model " +
    "output-style reload-skills settings",
  alone: "cost fast stats usage",
  noted: "color reload-plugins",
  clears: "clear new reset",
};
const HOW_BY_NAME = byName(HOW);

/**
 * Commands that are prompts in a profile, but read the transcripts of all sessions; and commands that only some
 * accounts have.
 */
const PERSONAL = "insights team-onboarding".split(" ");
const GATED = "daemon skill-doctor".split(" ");

/**
 * Commands that, with an argument, only change the session and are recorded in it (2.1.285 to 2.1.332). The headless helper
 * carries them out, and a child that resumes the session applies them.
 */
const NOTED = ["color", "effort", "model", "name", "output-style", "rename"];

/** Arguments of `/goal` that end the current goal, and the longest goal in UTF-16 units. */
const ENDS_OF_GOALS = ["cancel", "clear", "none", "off", "reset", "stop"];
const LONGEST_GOAL = 4000;

function isGoal(rest: string): boolean {
  return !ENDS_OF_GOALS.includes(rest.toLowerCase()) && rest.length <= LONGEST_GOAL;
}

/** Commands whose arguments change nothing in the headless helper. */
const IGNORING_ARGUMENTS =
  "agents context cost fast focus keybindings-help mcp reload-skills stats usage"
    .split(" ");

/** Commands whose prompt a subagent carries out. Its answer is their output. */
export const REVIEWS: readonly string[] = ["code-review", "review"];

/** Arguments with which some commands do something. Otherwise they print their usage. */
const EFFECTIVE_ARGUMENTS: ReadonlyMap<string, RegExp> = new Map([
  ["config", /=/u],
  ["settings", /=/u],
]);

/** The commands of a version of Claude Code. */
export interface ClaudeCommands {
  /** The kinds of commands, by name. Commands of other versions are missing. */
  readonly kinds: ReadonlyMap<string, CommandKind>;
  /**
   * Whether `kinds` is complete. For a version that is newer than every profile, the commands of the newest profile are
   * assumed.
   */
  readonly complete: boolean;
}

/** The commands of profiles, by version. */
const made = new Map<string, ClaudeCommands>();

/** The slash commands of a version. */
export function claudeCommands(version: string): ClaudeCommands {
  const known = made.get(version);
  if (known !== undefined) return known;
  const { prompt, local, unavailable } = commandsOf(version);
  const kinds = new Map<string, CommandKind>([
    ...GATED.map((name) => [name, "gated"] as const),
    ...byName({ prompt, unavailable }),
    ...wordsOf(local).map((name) => [name, HOW_BY_NAME.get(name) ?? "own"] as const),
    ...PERSONAL.map((name) => [name, "personal"] as const),
  ]);
  const commands = { kinds, complete: !isNewerThanProfiles(version) };
  // A transcript may name any version, so the number of versions has a limit.
  if (made.size >= MOST_VERSIONS) made.clear();
  made.set(version, commands);
  return commands;
}

const MOST_VERSIONS = 20;

/**
 * Returns the effect of a command's argument: it is recorded in the session (`notes`), it is a goal that both programs
 * pursue (`pursues`), it has no effect (`nothing`), or it has another effect (`more`).
 */
export function heeds(name: string, rest: string): "notes" | "pursues" | "nothing" | "more" {
  if (IGNORING_ARGUMENTS.includes(name) || EFFECTIVE_ARGUMENTS.get(name)?.test(rest) === false) {
    return "nothing";
  }
  if (name === "goal") return isGoal(rest) ? "pursues" : "notes";
  return NOTED.includes(name) ? "notes" : "more";
}

function byName(
  names: Readonly<Partial<Record<CommandKind, string>>>,
): ReadonlyMap<string, CommandKind> {
  return new Map(
    Object.entries(names).flatMap(([kind, text]) =>
      wordsOf(text).map((name) => [name, kind as CommandKind] as const)
    ),
  );
}
