import { tokenize } from "../arguments/tokenize.ts";
import type { OutputFormat } from "../../claude/wire/output_writer.ts";

/** What a recorded program makes of its command line. */
export interface ProgramFlags {
  /** Whether it is to say its version and nothing else. */
  readonly version: boolean;
  /** Whether its caller writes lines of stream-json; otherwise a prompt. */
  readonly isConversation: boolean;
  readonly format: OutputFormat;
  readonly verbose: boolean;
  readonly promptArgument?: string;
  readonly inputFile?: string;
  /** The session that the run has, where its caller decides that. */
  readonly sessionId?: string;
}

/**
 * Reads the command line that a caller gives `claude`, as far as a replay heeds it. Flags that this program does not know
 * or would refuse were given to the recorded one, and change nothing.
 */
export function programFlags(args: readonly string[]): ProgramFlags {
  const { uses, operands: [promptArgument], information } = tokenize(args);
  const valueOf = (name: string) => uses.findLast(({ flag }) => flag.name === name)?.value;
  const has = (name: string) => uses.some(({ flag }) => flag.name === name);
  const isConversation = valueOf("--input-format") === "stream-json";
  const format = valueOf("--output-format");
  const resumed = has("--fork-session") ? undefined : valueOf("--resume");
  const inputFile = valueOf("--input-file");
  const sessionId = valueOf("--session-id") ?? resumed;
  return {
    version: information === "version" || information === "short version",
    isConversation,
    format: isConversation || format === "stream-json"
      ? "stream-json"
      : format === "json"
      ? format
      : "text",
    verbose: has("--verbose"),
    ...(promptArgument === undefined ? {} : { promptArgument }),
    ...(inputFile === undefined ? {} : { inputFile }),
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}
