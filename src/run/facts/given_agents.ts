import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { isJsonObject } from "../../json_object.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

const FLAG = "--agents=";
/** The largest file that is read for agents, in bytes. */
const LARGEST_FILE = 16 * 1024 * 1024;

/** What `--agents` is given that counts, unless it is the beginning of a JSON object, or nothing. */
export function agentsElsewhere({ forwarded }: Pick<RunOrder, "forwarded">): string | undefined {
  const given = forwarded.findLast((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  return given === undefined || given === "" || given.trimStart().startsWith("{")
    ? undefined
    : given;
}

/**
 * The agents of a file, as the text of a JSON object: `claude -p` reads what is no JSON as the path of one (2.1.330), and
 * the interactive Claude Code does not.
 *
 * @param given what `--agents` is given in their place
 * @param options.cwd the folder from which a relative path leads to the file
 * @throws {CliError} when it is other JSON, or no file with such an object
 */
export function readAgents(given: string, { cwd }: { readonly cwd: string }): string {
  if (parsed(given) !== undefined) throw refusal("it is not a JSON object");
  const path = absolutePath(given, cwd);
  const text = textOf(path);
  if (!isJsonObject(parsed(text))) throw refusal(`${path} holds no JSON object`);
  return text;
}

function textOf(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: LARGEST_FILE });
    return new TextDecoder().decode(bytes).trim();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw refusal(`${path} is not there, and what is not JSON is the path of a file`, cause);
    }
    if (cause instanceof UnfitFileError) {
      throw refusal(`${path} cannot be read: ${cause.reason}`, cause);
    }
    throw cause;
  }
}

/** What a text is as JSON, if it is any that can be walked over. */
function parsed(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --agents: ${why}`, {
    suggestion:
      `Give a JSON object such as {"reviewer": {"description": "Reviews code", "prompt": ` +
      `"You review."}}, or a file of at most 16 MiB that holds one`,
    cause,
  });
}
