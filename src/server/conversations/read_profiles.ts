import { z } from "zod/mini";
import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";
import { PROFILE_SCHEMA } from "./profile.ts";

/** The largest file of profiles, in bytes. */
const LIMIT = 1_000_000;

const WAITING_SCHEMA = z.extend(PROFILE_SCHEMA, {
  /** Whether it is one of runs that print a text, who are asked nothing. */
  text: z._default(z.boolean(), false),
  /** Whether it is one of runs that print json without --verbose, who are asked nothing either. */
  json: z._default(z.boolean(), false),
});

/** What children wait for. */
type WaitingProfile = z.infer<typeof WAITING_SCHEMA>;

/** A profile of a file, and what an error calls it. */
export interface NamedProfile {
  readonly profile: WaitingProfile;
  readonly name: string;
}

/**
 * Reads a file of profiles: on each line one, as it stands in the body of `POST /v1/conversations`, or of runs that print a
 * text, or json.
 *
 * @throws {CliError} when it cannot be read, or one of them is none
 */
export function readProfiles(path: string): readonly NamedProfile[] {
  return textOf(path).split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    const name = `line ${at + 1} of ${path}`;
    return [{ name, profile: profileIn(line, name) }];
  });
}

function profileIn(line: string, name: string): WaitingProfile {
  const result = WAITING_SCHEMA.safeParse(valueOf(line));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.map(String).join(".") ?? "";
  throw unusable(name, place === "" ? "it is no object with a profile" : `${place} is none of one`);
}

/** Nothing that is a profile, where a line is no JSON. */
function valueOf(line: string): unknown {
  try {
    return isTooDeep(line) ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  try {
    const bytes = readRegularFile(path, { limit: LIMIT });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw unusable(path, "it does not exist");
    if (error instanceof UnfitFileError) throw unusable(path, error.reason);
    if (error instanceof TypeError) throw unusable(path, "it is not UTF-8");
    throw error;
  }
}

/** Profiles for which no children can wait. */
export function unusable(name: string, why: string): CliError {
  return new CliError(`Cannot have Claude Codes wait for ${name}: ${why}`, {
    suggestion: 'Write lines such as {"args": ["--model", "haiku"], "cwd": "/home/me/project"}',
  });
}
