import { findTool } from "./missing_tool.ts";
import { NOWHERE } from "./nowhere.ts";

/** A shell that the installer must run under. */
export interface Shell {
  readonly name: string;
  /** The command that reads a script; empty where the machine does not have the shell. */
  readonly command: readonly string[];
  /** Whether it has programs in it that it prefers to those on PATH. */
  readonly bringsTools: boolean;
}

const KINDS: readonly (readonly string[])[] = [
  ["sh"],
  ["dash"],
  ["bash", "--posix"],
  ["busybox", "sh"],
];

/** The shells to test under, each once, under whatever names the machine has it. */
export const SHELLS: readonly Shell[] = KINDS.map(([program = "", ...rest]) => {
  const path = findTool(program);
  const command = path === undefined ? [] : [path, ...rest];
  return {
    name: [program, ...rest].join(" "),
    command,
    bringsTools: path !== undefined && findsWithoutPath(command),
  };
}).filter((shell, index, all) => all.findIndex((other) => isSame(shell, other)) === index);

function isSame(one: Shell, other: Shell): boolean {
  const [program, ...args] = one.command;
  const [otherProgram, ...otherArgs] = other.command;
  if (program === undefined || otherProgram === undefined) return one === other;
  return Deno.realPathSync(program) === Deno.realPathSync(otherProgram) &&
    args.join(" ") === otherArgs.join(" ");
}

/** Whether a shell finds `mv` where PATH has none. */
function findsWithoutPath([program = "", ...args]: readonly string[]): boolean {
  return new Deno.Command(program, {
    args: [...args, "-c", "command -v mv"],
    clearEnv: true,
    env: { PATH: NOWHERE },
    stdout: "null",
    stderr: "null",
  }).outputSync().success;
}
