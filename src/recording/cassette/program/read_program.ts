import { entryAt } from "../../../../ffi/files/at_path.ts";
import { CliError } from "../../../cli_error.ts";
import { isJsonObject } from "../../../json_object.ts";
import { parseJsonObject } from "../../../claude/wire/json_text.ts";
import {
  CAST_FILE,
  type CastHeader,
  META_FILE,
  TAPE_FILE,
  type TapeEntry,
} from "../cassette_format.ts";
import { parseEvent, parseHeader } from "../read/read_cast.ts";
import { readTape } from "../read/read_tape.ts";
import { readMeta } from "../read/read_meta.ts";
import { NAME_A_CASSETTE, partLines } from "../read/part_lines.ts";
import type { ProgramOptions } from "./recorded_program.ts";
import { definedFields } from "../../../defined_fields.ts";

/** The tape of a cassette in the nested layout of `claude-agent-cassette`. */
const NESTED_TAPE = "input.jsonl";

/** A tape, and the other known facts about the recorded program. */
interface ProgramParts extends Omit<ProgramOptions, "mode" | "plain"> {
  readonly tape: readonly TapeEntry[];
}

/**
 * Reads a recorded program: a cassette, with or without a cast, or a tape alone. The tapes of later children follow the
 * tape of the first child.
 *
 * @param path the cassette's folder, or the tape's file
 * @throws {CliError} if there is no tape, or a part is damaged
 */
export function readProgram(path: string): ProgramParts {
  if (!isFolder(path)) return { tape: readTape(path) ?? missing(path), path };
  const { claude_code: version, blanked = [] } = readMeta(`${path}/${META_FILE}`) ?? {};
  const facts = { ...definedFields({ version }), blanked };
  const nested = readTape(`${path}/${NESTED_TAPE}`);
  const tape = readTape(`${path}/${TAPE_FILE}`);
  if (tape === undefined) {
    const name = nested === undefined ? TAPE_FILE : NESTED_TAPE;
    return { tape: nested ?? missing(`${path}/${name}`), path: `${path}/${name}`, ...facts };
  }
  let program: ProgramParts = {
    tape,
    path: `${path}/${TAPE_FILE}`,
    ...facts,
    ...readCastFacts(`${path}/${CAST_FILE}`),
  };
  for (let child = 2;; child++) {
    const folder = `${path}/${child}`;
    // A link may lead to any folder, so it does not count.
    const more = entryAt(folder)?.isDirectory === true
      ? readTape(`${folder}/${TAPE_FILE}`)
      : undefined;
    if (more === undefined) return program;
    program = withNextChild(program, more, readCastFacts(`${folder}/${CAST_FILE}`));
  }
}

/** Appends the tape of the next child, whose times begin at zero. */
function withNextChild(
  { prompts = [], tape, exit: _, inputEnded: __, ...rest }: ProgramParts,
  more: readonly TapeEntry[],
  facts: CastFacts,
): ProgramParts {
  const last = tape.at(-1)?.at ?? 0;
  return {
    ...rest,
    ...facts,
    prompts: [...prompts, ...facts.prompts ?? []],
    tape: [...tape, ...more.map((entry) => ({ ...entry, at: entry.at + last }))],
  };
}

/** The facts about a run that a cast has and the tape does not. */
type CastFacts = Pick<ProgramParts, "prompts" | "exit" | "inputEnded">;

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return missing(path);
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`, {
      suggestion: NAME_A_CASSETTE,
      cause: error,
    });
  }
}

function missing(path: string): never {
  throw new CliError(`Cannot read ${path}: it does not exist`, {
    suggestion: `${NAME_A_CASSETTE}, or a tape`,
  });
}

/** Reads the prompts of a run, and how it ended. */
function readCastFacts(path: string): CastFacts {
  const lines = partLines(path);
  if (lines === undefined) return {};
  const prompts: string[] = [];
  let header: CastHeader | undefined;
  let last = 0;
  let inputEnded: boolean | undefined;
  let exit: ProgramParts["exit"];
  let isClosed = false;
  for (const line of lines) {
    if (header === undefined) {
      header = parseHeader(line, { path });
      const first = header.claude_print.first;
      if (first !== undefined) prompts.push(first.text);
      continue;
    }
    const { at, code, data } = parseEvent(line, { path, header, last });
    last = at;
    if (code !== "h" && code !== "d") continue;
    const { type, message, report } = parseJsonObject(data) ?? {};
    switch (type) {
      case "message":
        if (isJsonObject(message) && typeof message["text"] === "string") {
          prompts.push(message["text"]);
        }
        break;
      case "closed":
        isClosed = true;
        break;
      case "report":
        exit = exitIn(report) ?? exit;
        break;
      case "end":
        inputEnded = isClosed;
        break;
    }
  }
  return {
    prompts,
    ...definedFields({ exit, inputEnded }),
  };
}

/** The exit code of a run and its text on stderr, from its report. */
function exitIn(report: unknown): ProgramParts["exit"] {
  const { exitCode: code, problem } = isJsonObject(report) ? report : {};
  if (typeof code !== "number") return undefined;
  const { message, suggestion } = isJsonObject(problem) ? problem : {};
  if (typeof message !== "string") return { code };
  const advice = typeof suggestion === "string" ? `  ${suggestion}\n` : "";
  return { code, stderr: `claude-print: ${message}\n${advice}` };
}
