import { UnsupportedError } from "../../cli_error.ts";
import { claudeCommands } from "../../conversation/control/prompt/claude_commands.ts";
import { judgePrompt } from "../../conversation/control/prompt/judge_prompt.ts";
import { slashWord } from "../../conversation/control/prompt/prompt_text.ts";
import { isChosen } from "../../conversation/protocol/caller_options.ts";
import { definedFields } from "../../defined_fields.ts";
import type { JsonObject } from "../../json_object.ts";
import {
  commandNames,
  type CommandPlaces,
  type CustomCommand,
  findCustomCommand,
  pluginDirs,
} from "../../sandbox/child/custom_command.ts";
import { watchesModels } from "../../sandbox/child/read_settings.ts";
import { absolutePath } from "../../paths.ts";
import type { GatedPrompt, HiddenSkills } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { UNKNOWN_VERSION } from "./settings_documents.ts";

/**
 * The maximum length of a prompt for the rendezvous socket, in characters of JSON. 2.1.330 rejects lines of more than
 * 1,048,576 characters, and a line holds more than the prompt.
 */
export const LONGEST_SOCKET_PROMPT = 1_048_500;

/** The places of skills and custom commands. */
interface CommandFacts {
  readonly projectRoot: string;
  /** The user's config dir. */
  readonly configDir: string;
  readonly settings: readonly JsonObject[];
}

/**
 * Decides how a prompt is carried out. A command of the interactive Claude Code itself never reaches a child: it is
 * answered, left to a headless helper, or refused.
 *
 * @param options.conversation whether the prompt is a message of a conversation
 * @param options.isTraced whether Claude Code traces its turn
 * @throws {UnsupportedError} when the prompt is refused
 */
export function gatePrompt(
  options:
    & Pick<RunOrder, "inject" | "cwd" | "addDirs" | "forwarded" | "persistSession">
    & { readonly prompt: string; readonly conversation?: boolean; readonly isTraced?: boolean },
  facts: CommandFacts & { readonly version: string | undefined; readonly mcpServers: number },
): GatedPrompt {
  const { prompt, forwarded, conversation = false, isTraced = false } = options;
  const { version = UNKNOWN_VERSION } = facts;
  const places = commandPlaces(options, facts);
  const found = new Map<string, CustomCommand | undefined>();
  const rendezvous = options.inject === "stdin" &&
    JSON.stringify(prompt).length <= LONGEST_SOCKET_PROMPT;
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
    conversation,
    keepsSession: options.persistSession,
    watchesModels: watchesModels(facts.settings),
    rendezvous,
  });
  switch (judgement.kind) {
    case "send": {
      // A prompt on fd 0 arrives before Claude Code starts tracing, and its turn has no span (2.1.330).
      const losesSpan = isTraced && rendezvous && !judgement.expands;
      return {
        expands: judgement.expands,
        verbatim: judgement.verbatim === true || losesSpan,
        ...definedFields({ forks: judgement.forks }),
      };
    }
    case "answer":
      // In a conversation, a headless helper has to describe the session together with the answer.
      return conversation
        ? { expands: false, asked: { version, unavailable: true } }
        : { expands: false, answer: { text: judgement.text, version } };
    case "ask": {
      const { kind: _, ...asked } = judgement;
      // A run of only such a command is also a session, which a later run can resume.
      const notes = !conversation && options.persistSession && asked.clears !== true;
      return { expands: false, asked: { version, ...asked, ...(notes ? { notes } : {}) } };
    }
    case "refuse":
      throw new UnsupportedError(judgement.message, { suggestion: judgement.suggestion });
  }
}

/** Whether the root folder has an entry of that name. Claude Code does not check deeper paths either. */
function isPath(name: string): boolean {
  try {
    return /^[\w:-]+$/u.test(name) && Deno.statSync(`/${name}`) !== undefined;
  } catch {
    return false;
  }
}

/** The folders of a run's skills and custom commands. */
export function commandPlaces(
  { cwd, addDirs, forwarded }: Pick<RunOrder, "cwd" | "addDirs" | "forwarded">,
  { projectRoot, configDir, settings }: CommandFacts,
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
 * The maximum number of characters of a skill's name, and of all names together, for which skills are hidden. Claude
 * Code ends at settings of more than 2 MiB (2.1.330), and a project chooses its names. The model sees further skills,
 * but cannot load them.
 */
const LONGEST_NAME = 1000;
const MOST_CHARACTERS = 300_000;

/**
 * The skills that the caller has not chosen, including Claude Code's own.
 *
 * @param options.version the version of Claude Code
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
