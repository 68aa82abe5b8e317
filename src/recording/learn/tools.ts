import type { VersionProfile } from "../../claude/versions/profile.ts";
import type { ProgramText } from "./program_text.ts";
import { runPrint } from "./run_print.ts";
import type { Subject } from "./subject.ts";

/** A word that may be the name of a tool, of one of old, or of a set of tools. Most words that are found are none. */
const IN_PROGRAM = /(?:[=:[(,]|\?\?|===)"([A-Z][A-Za-z]{2,40})"/gu;

/** Most characters of a flag: Linux takes 128 KiB. */
const LONGEST_FLAG = 100_000;

/** What is said of a name that no tool has. */
const UNKNOWN = /Permission deny rule "(\w+)" matches no known tool/gu;

/** Measures which names of tools permission rules know: of all words that may be one, those of which nothing is said. */
export async function learnTools(subject: Subject): Promise<Pick<VersionProfile, "tools">> {
  const names = toolNames(subject.program);
  const { stderr } = await runPrint(subject, {
    args: ["--output-format", "text", ...flagsOf([...names, NO_TOOL]), "--", "[[say measured]]"],
  });
  const unknown = new Set([...stderr.matchAll(UNKNOWN)].map(([, name]) => name));
  if (!unknown.has(NO_TOOL)) throw new Error("claude -p does not tell of rules without a tool");
  return { tools: names.filter((name) => !unknown.has(name)).join(" ") };
}

const NO_TOOL = "NoToolOfThisName";

/** Words that may be names of tools. */
export function toolNames(program: ProgramText): readonly string[] {
  return [...new Set(program.matches(IN_PROGRAM).flatMap(([, name]) => name ?? []))].toSorted();
}

function flagsOf(names: readonly string[]): readonly string[] {
  const flags: string[] = [];
  let flag = "";
  for (const name of names) {
    if (flag.length + name.length > LONGEST_FLAG) flags.push(flag), flag = "";
    flag += flag === "" ? `--disallowedTools=${name}` : `,${name}`;
  }
  return [...flags, flag];
}

/** What `claude -p` says on stderr of its own accord. */
export interface Warnings {
  /** Which settings did not load. */
  readonly tellsOfSettings: boolean;
  /** Which rules of a flag look as if they were torn apart. */
  readonly tellsOfTornRules: boolean;
}

/** Measures what is said of faulty settings and rules. */
export async function measureWarnings(subject: Subject): Promise<Warnings> {
  const { stderr } = await runPrint(subject, {
    args: [
      ...["--output-format", "text", '--settings={"verbose":7}', "--allowedTools=Bash(x"],
      ...["--", "[[say measured]]"],
    ],
  });
  return {
    tellsOfSettings: stderr.includes("These settings did not load"),
    tellsOfTornRules: stderr.includes("doesn't look like a complete rule"),
  };
}
