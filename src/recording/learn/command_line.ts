import type { VersionProfile } from "../../claude/versions/profile.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import type { ProgramText } from "./program_text.ts";
import { runProgram } from "./run_print.ts";
import { openScene, type Scene, type Subject } from "./subject.ts";

/** Where the options of `claude` itself begin, and the first subcommand that is defined after them. */
const OPTIONS_BEGIN = '.name("claude")';
const OPTIONS_END = '.command("';
/** An option as its parser is given it: its names, and its value. */
const OPTION = /\("((?:-\w, )?--[a-zA-Z][\w-]*(?:, --[a-zA-Z][\w-]*)*)( [<[][^"]*)?"/gu;
const OPTIONS = new RegExp(`${escaped(OPTIONS_BEGIN)}[^]*?${escaped(OPTIONS_END)}`, "gu");

/** How a word begins that `claude --help` lists, with its other names. */
const LISTED = /^ {2}([a-z][a-z|-]*)/gmu;
/** Where the program defines a subcommand of any depth. */
const DEFINED = /\.command\("([a-z][a-z-]+)/gu;
/** Words with which the program compares an argument, or that it lists after others. Few of them are subcommands. */
const COMPARED =
  /(?:[\w$.?]+\[\w\]==="[a-z][a-z-]+"(?:\|\|)?)+|new Set\(\[\.\.\.[\w$]+(?:,"[a-z][a-z-]+")+\]/gu;
/** Programs that start at the same time. */
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

/** The flags of the program, each with `=` behind it if it takes a value. */
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
 * Measures which words are subcommands as the first argument, hidden ones included. A word is one if `claude WORD --help`
 * does not print the help of `claude` itself; those that any profile has are tried too.
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
    // When a program ends, all others of its scene are ended.
    await using scene = await openScene(subject, { login: "none" });
    for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
      if (await helpOf(subject, scene, [word]) !== own) subcommands.push(word);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, measureNext));
  return { subcommands: [...new Set(subcommands)].toSorted().join(" ") };
}

/** Words of the program that may be hidden subcommands. The bundler of some versions hides a few of them. */
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
