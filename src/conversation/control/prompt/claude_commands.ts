import { wordsOf } from "../../../claude/versions/profile_index.ts";
import { isNewerThanProfiles } from "../../../claude/versions/profiles.ts";
import { commandsOf } from "../../../claude/versions/tables.ts";

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

/**
 * How commands are carried out of which a profile says only that `claude -p` has an answer of its own. One that is not
 * named here is `own`, and so is refused.
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

/** Commands that a profile has as prompts, which are more than that; and those that only some accounts have. */
const PERSONAL = "insights team-onboarding".split(" ");
const GATED = "daemon skill-doctor".split(" ");

/**
 * Commands that, with something behind them, only say how the session goes on, and are noted in it (2.1.285 to 2.1.332): a headless
 * Claude Code carries them out, and a child that resumes the session heeds them.
 */
const NOTED = ["color", "effort", "model", "name", "output-style", "rename"];

/** What follows `/goal` and ends the one that there is, and the longest goal, in UTF-16 units. */
const ENDS_OF_GOALS = ["cancel", "clear", "none", "off", "reset", "stop"];
const LONGEST_GOAL = 4000;

function isGoal(rest: string): boolean {
  return !ENDS_OF_GOALS.includes(rest.toLowerCase()) && rest.length <= LONGEST_GOAL;
}

/** Commands of which what follows them changes nothing in a headless Claude Code. */
const HEEDLESS = "agents context cost fast focus keybindings-help mcp reload-skills stats usage"
  .split(" ");

/** Commands that make a prompt which a subagent carries out: what that says is their output. */
export const REVIEWS: readonly string[] = ["code-review", "review"];

/** What has to follow some commands for them to do anything: else they say how they are used. */
const DEEDS: ReadonlyMap<string, RegExp> = new Map([
  ["config", /=/u],
  ["settings", /=/u],
]);

/** The commands of a version of Claude Code. */
export interface ClaudeCommands {
  /** By name; other versions' are not there. */
  readonly kinds: ReadonlyMap<string, CommandKind>;
  /** Whether these are all: of a version that is newer than every profile the commands of the newest are assumed. */
  readonly complete: boolean;
}

/** What was made of profiles, by version. */
const made = new Map<string, ClaudeCommands>();

/** The slash commands that a version brings along. */
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
  // A transcript may name any version.
  if (made.size >= MOST_VERSIONS) made.clear();
  made.set(version, commands);
  return commands;
}

const MOST_VERSIONS = 20;

/**
 * What becomes of what follows a command: it is noted in the session, it is a goal that Claude Code pursues in either
 * program, it is nothing to it, or it does more.
 */
export function heeds(name: string, rest: string): "notes" | "pursues" | "nothing" | "more" {
  if (HEEDLESS.includes(name) || DEEDS.get(name)?.test(rest) === false) return "nothing";
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
