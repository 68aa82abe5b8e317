import type { VersionProfile } from "../../claude/versions/profile.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import { openScene, type ProgramText, type Scene, type Subject } from "./subject.ts";
import { runPrint, runProgram } from "./run_print.ts";
import { isJsonObject, type JsonObject, jsonObjects, jsonStrings } from "../../json_object.ts";

/** The options of `claude` itself stand between these texts. */
const OPTIONS_BEGIN = '.name("claude")';
const OPTIONS_END = '.command("';
/** The definition of an option: its names and its value. */
const OPTION = /\("((?:-\w, )?--[a-zA-Z][\w-]*(?:, --[a-zA-Z][\w-]*)*)( [<[][^"]*)?"/gu;
const OPTIONS = new RegExp(`${escaped(OPTIONS_BEGIN)}[^]*?${escaped(OPTIONS_END)}`, "gu");

/** A subcommand in the output of `claude --help`, with its aliases. */
const LISTED = /^ {2}([a-z][a-z|-]*)/gmu;
/** The definition of a subcommand of any depth. */
const DEFINED = /\.command\("([a-z][a-z-]+)/gu;
/** Words that the program compares with an argument, or lists. Few of them are subcommands. */
const COMPARED =
  /(?:[\w$.?]+\[\w\]==="[a-z][a-z-]+"(?:\|\|)?)+|new Set\(\[\.\.\.[\w$]+(?:,"[a-z][a-z-]+")+\]/gu;
/** Programs that run at the same time. */
const AT_ONCE = 2;

const MODES = /--permission-mode <mode>[^]*?\(choices:([^)]*)\)/u;

/** Measures the flags, hidden ones included, and the permission modes. */
export async function learnFlags(
  subject: Subject,
): Promise<Pick<VersionProfile, "flags" | "permissionModes">> {
  await using scene = await openScene(subject, { login: "none" });
  const { stdout } = await runProgram(subject, scene, { args: ["--help"] });
  const flags = flagsIn(subject.program);
  const modes = (MODES.exec(stdout)?.[1] ?? "").match(/\w+/gu) ?? [];
  if (flags.length === 0) throw new Error("The program's text does not define its flags");
  if (modes.length === 0) throw new Error("claude --help does not list the permission modes");
  return { flags: flags.join(" "), permissionModes: modes.join(" ") };
}

/** The flags of the program; a `=` marks those with a value. */
export function flagsIn(program: ProgramText): readonly string[] {
  const flags = new Set<string>();
  for (const [text] of program.matches(OPTIONS)) {
    for (const [, names = "", value] of text.matchAll(OPTION)) {
      for (const name of names.split(", ")) flags.add(value === undefined ? name : `${name}=`);
    }
  }
  return [...flags].toSorted();
}

/**
 * Measures which first arguments are subcommands, hidden ones included. A word is one if `claude WORD --help` does
 * not print the help of `claude` itself. Also tries the subcommands of all profiles.
 */
export async function learnSubcommands(
  subject: Subject,
): Promise<Pick<VersionProfile, "subcommands">> {
  await using scene = await openScene(subject, { login: "none" });
  const own = await helpOf(subject, scene, []);
  const listed = wordsIn(own.slice(own.indexOf("\nCommands:")).matchAll(LISTED));
  const subcommands = [...listed];
  const hidden = new Set([...hiddenWords(subject.program), ...subcommandsOf(undefined)]);
  const waiting = [...hidden].filter((word) => !listed.includes(word));
  const measureNext = async (): Promise<void> => {
    // A scene kills all its programs when one ends.
    await using scene = await openScene(subject, { login: "none" });
    for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
      if (await helpOf(subject, scene, [word]) !== own) subcommands.push(word);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, measureNext));
  return { subcommands: [...new Set(subcommands)].toSorted().join(" ") };
}

/** Words that may be hidden subcommands. The bundler of some versions obscures a few. */
function hiddenWords(program: ProgramText): readonly string[] {
  const compared = program.matches(COMPARED)
    .map(([text]) => [...text.matchAll(/"([a-z-]+)"/gu)].map(([, word = ""]) => word))
    .filter((words) => words.some((word) => program.has(`claude ${word}`)));
  return [...new Set([...wordsIn(program.matches(DEFINED)), ...compared.flat()])].toSorted();
}

async function helpOf(subject: Subject, scene: Scene, words: readonly string[]): Promise<string> {
  const { stdout } = await runProgram(subject, scene, { args: [...words, "--help"] });
  return stdout;
}

function wordsIn(matches: Iterable<RegExpExecArray>): readonly string[] {
  return [...matches].flatMap(([, words = ""]) => words.split("|"));
}

function escaped(text: string): string {
  return text.replace(/[.()]/gu, "\\$&");
}

type Kind = keyof VersionProfile["commands"];

/** The name of a command, as a literal or a constant. */
const NAME = `(?:"((?:__)?[a-z][a-z0-9]+(?:-[a-z0-9]+)*)"|([\\w$]{2,}))`;
const TYPE = `type:"(?:local|local-jsx|prompt)"`;
const DESCRIPTION = `(?:get )?(?:menuDescription|description)`;
/** Definitions of commands, skills and aliases. Most matches are none. */
const IN_PROGRAM = [
  `${TYPE}[^{}]{0,300}?[,{]name:${NAME}`,
  `[,{]name:${NAME},[^{}]{0,300}?${TYPE}`,
  `[\\w$]\\(\\{(?:[^{}]{0,200},)?name:${NAME},(?:${DESCRIPTION}|aliases)`,
  `(?:[{,]|return )name:${NAME},${DESCRIPTION}`,
  ...["", `"[a-z-]+",`, `"[a-z-]+","[a-z-]+",`].map((before) =>
    `aliases:\\[${before}${NAME}[^\\]]*\\],(?:type|name|load|get|description|is[EH]|argumentHint|availability|immediate|supports|requires|thin)`
  ),
  // Commands that have moved are made by a function of a name and a title.
  `=[\\w$]+\\(${NAME},"[A-Z][A-Za-z ]{2,40}"[,)]`,
].map((pattern) => new RegExp(pattern, "gu"));
const CONSTANTS = /[ ,;]([\w$]{2,})="((?:__)?[a-z][a-z0-9]+(?:-[a-z0-9]+)*)"/gu;

/** Not run, because it writes hundreds of megabytes. It answers without the model. */
const COSTLY = "heapdump";

/** The answer of `claude -p` to a command that only the TUI has. */
const UNAVAILABLE = "isn't available in this environment";

/** The maximum number of starts of the process, which some commands end. */
const MOST_STARTS = 6;

/**
 * Measures the kind of each slash command: it becomes a prompt, is answered locally, or is unavailable. Hooks show
 * whether the text becomes a prompt, and keep it from the model.
 */
export async function learnCommands(subject: Subject): Promise<Pick<VersionProfile, "commands">> {
  await using scene = await openScene(subject);
  const kinds = new Map<string, Kind>();
  const names = commandNames(subject.program).filter((name) => name !== COSTLY);
  if (subject.program.has(`name:"${COSTLY}"`)) kinds.set(COSTLY, "local");
  let next = 0;
  for (let starts = 0; next < names.length && starts < MOST_STARTS; starts++) {
    next = await classifyCommands(subject, { scene, names, from: next, kinds });
  }
  if (next < names.length) throw new Error(`claude -p ended before it answered /${names[next]}`);
  const all = [...kinds].toSorted(([one], [other]) => one < other ? -1 : 1);
  const ofKind = (kind: Kind) =>
    all.filter(([, each]) => each === kind).map(([name]) => name).join(" ");
  return {
    commands: {
      prompt: ofKind("prompt"),
      local: ofKind("local"),
      unavailable: ofKind("unavailable"),
    },
  };
}

/** Words that may be names of commands. */
export function commandNames(program: ProgramText): readonly string[] {
  const found = IN_PROGRAM.flatMap((pattern) => program.matches(pattern));
  const names = new Set(found.flatMap(([, name]) => name ?? []));
  const constants = new Set(found.flatMap(([, , constant]) => constant ?? []));
  for (const [, constant = "", name = ""] of program.matches(CONSTANTS)) {
    if (constants.has(constant)) names.add(name);
  }
  return [...names].toSorted();
}

/** Hooks that show whether Claude Code takes a prompt for a text or for a command. */
const HOOKS = {
  UserPromptSubmit: [{ hookCallbackIds: ["text"] }],
  UserPromptExpansion: [{ hookCallbackIds: ["prompt"] }],
};

/** Sends commands to one `claude -p` until it ends. Returns the index of the first command without an answer. */
async function classifyCommands(
  subject: Subject,
  { scene, names, from, kinds }: {
    readonly scene: Scene;
    /** Gets the commands that the process lists added. */
    readonly names: string[];
    readonly from: number;
    readonly kinds: Map<string, Kind>;
  },
): Promise<number> {
  let index = from;
  let hook: unknown;
  const listed = new Set<string>();
  const message = (text: string) => ({ type: "user", message: { role: "user", content: text } });
  await runPrint(subject, {
    scene,
    args: ["--input-format", "stream-json", "--no-session-persistence"],
    // Some commands print nothing for minutes on a busy machine.
    silenceMs: 300_000,
    talk: {
      start: ({ send }) => {
        send(control("initialize", { hooks: HOOKS }));
        send(message(`/${names[index]}`));
      },
      answer: (frame, { send, close }) => {
        const { request_id, request, response } = frame;
        const { slash_commands: begun } = frame;
        // The reply to initialize may lack a skill that is still loading. The first turn lists all.
        for (const name of isJsonObject(response) ? listedNames(response) : jsonStrings(begun)) {
          if (isJsonObject(response)) listed.add(name);
          if (name !== COSTLY && !names.includes(name)) names.push(name);
        }
        if (frame["type"] === "control_request" && isJsonObject(request)) {
          hook = request["callback_id"];
          // Some versions call the hook for the text first, and that for the command only after it allows the text.
          const response = hook === "prompt" ? { decision: "block", reason: "measured" } : {};
          send({
            type: "control_response",
            response: { subtype: "success", request_id, response },
          });
        }
        if (frame["type"] !== "result") return;
        const name = names[index++];
        // On a busy machine, a listed command may reach the hook for texts.
        const isListed = hook === "text" && name !== undefined && listed.has(name);
        const kind = isListed ? "prompt" : commandKind(hook, frame["result"]);
        if (kind !== undefined && name !== undefined) kinds.set(name, kind);
        hook = undefined;
        if (index < names.length) send(message(`/${names[index]}`));
        else close();
      },
    },
  });
  if (index >= names.length) return index;
  // The process executed the command by ending.
  kinds.set(names[index] ?? "", "local");
  return index + 1;
}

function control(subtype: string, fields: JsonObject): JsonObject {
  return { type: "control_request", request_id: subtype, request: { subtype, ...fields } };
}

/** The command names in the reply to `initialize`. */
function listedNames({ response }: JsonObject): readonly string[] {
  return jsonObjects(isJsonObject(response) ? response["commands"] : undefined)
    .flatMap(({ name, aliases }) => [name, ...(Array.isArray(aliases) ? aliases : [])])
    .filter((name) => typeof name === "string");
}

function commandKind(hook: unknown, result: unknown): Kind | undefined {
  if (hook === "prompt") return "prompt";
  if (hook === "text") return undefined;
  return typeof result === "string" && result.includes(UNAVAILABLE) ? "unavailable" : "local";
}
