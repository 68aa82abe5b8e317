import type { CassetteOptions, ForkOptions, ProgramReplayOptions } from "./parsed_arguments.ts";
import { type Given, type LastValue, numberIn, oneOf } from "./read_given.ts";
import { READING } from "./tokenize.ts";
import { CliError } from "../../cli_error.ts";

/** Where cassettes are looked for, and by what names. */
function foundBy(
  { operands, last }: Pick<Given, "operands"> & { readonly last: LastValue },
): { readonly paths: readonly string[]; readonly inputName?: string } {
  const inputName = last("--input-name");
  if (inputName !== undefined && !/^[^/]+$/u.test(inputName)) {
    throw new CliError(`${READING}: --input-name "${inputName}" is no name of a file`, {
      suggestion: "Write it as --input-name input.jsonl",
    });
  }
  return { paths: operands.slice(1), ...(inputName === undefined ? {} : { inputName }) };
}

/** What is asked of a cassette. */
export function cassetteOptions(
  given: Given & { readonly last: LastValue },
): CassetteOptions {
  const { operands, switches, values, rest, last } = given;
  const [action, dir = "", other = ""] = operands;
  const as = action as CassetteOptions["action"];
  switch (as) {
    case "svg":
      return { action: as, dir };
    case "program":
      return { action: as, dir, asProgram: programReplayOptions(last) };
    case "replay": {
      const split = last("--split");
      const [alien] = [...values.keys()].filter((name) => name !== "--split");
      if (rest === undefined && alien !== undefined) {
        throw new CliError(`${READING}: ${alien} goes with a replay as the program`, {
          suggestion: 'Type "--" behind the folder, and behind that what a caller gives claude',
        });
      }
      if (rest !== undefined && split !== undefined) {
        throw new CliError(`${READING}: --split does not go with a replay as the program`, {
          suggestion: 'Leave it out, or "--" and what is behind it',
        });
      }
      return {
        action: as,
        dir,
        ...(split === undefined ? {} : { split: pieceSize(split) }),
        ...(rest === undefined ? {} : { asProgram: { ...programReplayOptions(last), args: rest } }),
      };
    }
    case "info":
      return { action: as, dir, json: switches.has("--json") };
    case "diff":
      return { action: as, dir, other, json: switches.has("--json") };
    case "fork":
      return { action: as, ...forkOptions(dir, given) };
    case "scrub":
      return {
        action: as,
        ...foundBy(given),
        prompts: switches.has("--prompts"),
        answers: switches.has("--answers"),
        names: values.get("--name") ?? [],
        ...outGiven(last("--out")),
      };
    case "lint":
      return { action: as, ...foundBy(given) };
    default:
      return as satisfies never;
  }
}

function outGiven(out: string | undefined): { readonly out?: string } {
  if (out !== "") return out === undefined ? {} : { out };
  throw new CliError(`${READING}: --out needs the name of a folder`, {
    suggestion: "Write it as --out shared",
  });
}

function forkOptions(
  dir: string,
  { values, last, rest }: Given & { readonly last: LastValue },
): ForkOptions {
  const at = last("--at") ?? "";
  if (!/^\d{1,9}$/u.test(at)) {
    throw new CliError(
      at === ""
        ? `${READING}: cassette fork needs --at and the last turn that stays`
        : `${READING}: --at "${at}" is no number of a turn`,
      { suggestion: "Write it as --at 2 to go on behind the second turn, --at 0 to begin anew" },
    );
  }
  const [model, apiCassette, record] = ["--model", "--api-cassette", "--record"].map(last);
  return {
    dir,
    at: Number(at),
    prompts: values.get("--prompt") ?? [],
    ...(model === undefined ? {} : { model }),
    ...(apiCassette === undefined ? {} : { apiCassette }),
    ...(record === undefined ? {} : { record }),
    flags: rest ?? [],
  };
}

/** The largest pieces of output, in bytes: so much is held in memory. */
const LARGEST_PIECE = 1_000_000;

function pieceSize(split: string): number {
  const size = /^\d+$/u.test(split) ? Number(split) : NaN;
  if (size >= 1 && size <= LARGEST_PIECE) return size;
  throw new CliError(
    `${READING}: --split "${split}" is no number of bytes from 1 to ${LARGEST_PIECE}`,
    { suggestion: "Write it as --split 1, or leave it out" },
  );
}

function programReplayOptions(last: LastValue): ProgramReplayOptions {
  const report = last("--report");
  return {
    mode: oneOf("--mode", last("--mode") ?? "verify", ["inert", "stub", "verify"]),
    speed: numberIn("--speed", last("--speed") ?? "0", { most: 1_000_000 }),
    patienceMs: 1000 * numberIn("--patience", last("--patience") ?? "30", { most: 1_000_000 }),
    ...(report === undefined ? {} : { report }),
  };
}
