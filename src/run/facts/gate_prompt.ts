import { UnsupportedError } from "../../cli_error.ts";
import type { GatedPrompt, HiddenSkills } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import {
  commandNames,
  type CommandPlaces,
  type CustomCommand,
  findCustomCommand,
  pluginDirs,
} from "../../sandbox/child/custom_command.ts";
import { watchesModels } from "../../sandbox/child/foreign_settings.ts";
import { judgePrompt } from "../../conversation/control/prompt/judge_prompt.ts";
import { slashWord } from "../../conversation/control/prompt/slash_word.ts";
import type { JsonObject } from "../../json_object.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { isChosen } from "../../conversation/protocol/chosen_skills.ts";
import { claudeCommands } from "../../conversation/control/prompt/claude_commands.ts";

/** Longest prompt as JSON for the rendezvous socket: 2.1.330 gives up a line of more than 1,048,576 characters, with some around it. */
export const LONGEST_REPLY = 1_048_500;

/** A version above all: of a program that does not name its own, nothing is known. */
const UNKNOWN_VERSION = "9999.0.0";

/**
 * Lets a prompt through to a child, or not: what Claude Code's interactive program would carry out by itself never
 * gets there.
 *
 * @throws {CliError} when the prompt is refused
 */
export function gatePrompt(
  options:
    & Pick<RunOrder, "inject" | "cwd" | "addDirs" | "forwarded" | "persistSession">
    & {
      readonly prompt: string;
      /** Whether it is a message of a conversation. */
      readonly conversation?: boolean;
      /** Whether Claude Code traces its turn. */
      readonly isTraced?: boolean;
    },
  facts: {
    /** The version of Claude Code, if the executable names one. */
    readonly version: string | undefined;
    /** The project's folder. */
    readonly projectRoot: string;
    /** The user's config dir. */
    readonly configDir: string;
    /** All settings in force. */
    readonly settings: readonly JsonObject[];
    readonly mcpServers: number;
  },
): GatedPrompt {
  const { prompt, forwarded } = options;
  const { version = UNKNOWN_VERSION } = facts;
  const places = commandPlaces(options, facts);
  const found = new Map<string, CustomCommand | undefined>();
  const rendezvous = options.inject === "stdin" && JSON.stringify(prompt).length <= LONGEST_REPLY;
  // On its fd 0 a child has the prompt before it traces anything: the turn has no span then (2.1.330).
  const isLate = rendezvous && options.isTraced === true;
  const judgement = judgePrompt(prompt, {
    version,
    custom: (name) => {
      if (!found.has(name)) found.set(name, findCustomCommand(name, places));
      return found.get(name);
    },
    isPath: isPath(slashWord(prompt)?.name ?? ""),
    disabled: forwarded.includes("--disable-slash-commands"),
    plugins: places.plugins.length > 0 ||
      forwarded.some((argument) => argument.startsWith("--plugin-")),
    mcpServers: facts.mcpServers > 0,
    conversation: options.conversation === true,
    keepsSession: options.persistSession,
    watchesModels: watchesModels(facts.settings),
    rendezvous,
  });
  switch (judgement.kind) {
    case "send":
      return {
        expands: judgement.expands,
        verbatim: judgement.verbatim === true || (isLate && !judgement.expands),
        ...(judgement.forks ? { forks: true } : {}),
      };
    case "answer":
      // What the session is like is told with it in a conversation, which takes somebody to say so.
      return options.conversation
        ? { expands: false, asked: { version, unavailable: true } }
        : { expands: false, answer: { text: judgement.text, version } };
    case "ask": {
      const { kind: _, ...asked } = judgement;
      // A run with such a command alone is a session, too, which another one may go on with.
      const isKept = !options.conversation && options.persistSession && asked.clears !== true;
      return {
        expands: false,
        asked: { version, ...asked, ...(isKept ? { notes: true as const } : {}) },
      };
    }
    case "refuse":
      throw new UnsupportedError(judgement.message, { suggestion: judgement.suggestion });
  }
}

/** Whether there is something of that name in the root folder: Claude Code looks no deeper either. */
function isPath(name: string): boolean {
  try {
    return /^[\w:-]+$/u.test(name) && Deno.statSync(`/${name}`) !== undefined;
  } catch {
    return false;
  }
}

/** Where the skills and custom commands of a run come from. */
export function commandPlaces(
  { cwd, addDirs, forwarded }: Pick<RunOrder, "cwd" | "addDirs" | "forwarded">,
  { projectRoot, configDir, settings }: {
    /** The project's folder. */
    readonly projectRoot: string;
    /** The user's config dir. */
    readonly configDir: string;
    /** All settings in force. */
    readonly settings: readonly JsonObject[];
  },
): CommandPlaces {
  const absolute = (dir: string) => absolutePath(dir, cwd);
  const given = forwarded.flatMap((argument) =>
    /^--plugin-dir(?:-no-mcp)?=(.*)$/su.exec(argument)?.[1] ?? []
  );
  return {
    projectRoot,
    configDir,
    addDirs: addDirs.map(absolute),
    plugins: [...given.map(absolute), ...pluginDirs(configDir, { settings })],
  };
}

/**
 * How many characters a name may have, and all together: Claude Code ends at settings of more than 2 MiB (2.1.330), and a
 * project names its skills as it likes. Further ones are in the list for the model, which cannot load them.
 */
const LONGEST_NAME = 1000;
const MOST_CHARACTERS = 300_000;

/**
 * The skills that the model is not to have where the caller has chosen some.
 *
 * @param options.version that of Claude Code, whose own skills are hidden as well
 */
export function hiddenSkills(
  chosen: readonly string[],
  { places, version }: { readonly places: CommandPlaces; readonly version: string },
): HiddenSkills {
  const { own, ofPlugins } = commandNames(places);
  let left = MOST_CHARACTERS;
  const isHidden = (name: string) =>
    !isChosen(name, chosen) && name.length <= LONGEST_NAME && (left -= name.length) >= 0;
  return {
    own: [...new Set([...claudeCommands(version).kinds.keys(), ...own])].filter(isHidden),
    ofPlugins: ofPlugins.filter(isHidden),
  };
}
