import { z } from "zod/mini";
import { runToEnd } from "../../../ffi/processes/run_to_end.ts";
import { CliError } from "../../cli_error.ts";
import { type Drift, DRIFT_CHECKS, type DriftCheck, type Place } from "./findings.ts";
import { parseJson } from "../../claude/wire/json_text.ts";

/** What the Agent SDK for Python does not know. */
interface PythonVerdict {
  /** Such as `claude-agent-sdk 0.2.189 (Python)`. */
  readonly name: string;
  readonly found: readonly (Drift & { readonly count: number; readonly place: Place })[];
  readonly left: number;
}

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({
    version: z.string(),
    left: z.number(),
    found: z.array(z.object({
      check: z.enum(DRIFT_CHECKS as unknown as [DriftCheck, ...DriftCheck[]]),
      where: z.string(),
      what: z.string(),
      count: z.number(),
      path: z.string(),
      line: z.number(),
    })),
  }),
]);

/**
 * Has the Agent SDK for Python parse the frames of tapes in its own interpreter. The interpreter is isolated: it
 * imports nothing from its working directory or from `PYTHONPATH`.
 *
 * @param python the interpreter
 * @param options.tapes absolute paths of regular files
 * @param options.signal ends the interpreter
 * @param options.limitMs a time limit in milliseconds; by default it grows with the size of the tapes
 * @returns undefined if the interpreter has no SDK
 * @throws {CliError} when it cannot be started or does not answer in time
 */
export async function pythonVerdict(
  python: string,
  { tapes, signal, limitMs = limitFor(tapes) }: {
    readonly tapes: readonly string[];
    readonly signal?: AbortSignal | undefined;
    readonly limitMs?: number;
  },
): Promise<PythonVerdict | undefined> {
  let output: Deno.CommandOutput;
  const tooLong = AbortSignal.timeout(limitMs);
  try {
    output = await runToEnd(python, {
      args: ["-I", "-B", "-c", PYTHON_PROGRAM],
      cwd: "/",
      input: JSON.stringify(tapes),
      signal: AbortSignal.any([tooLong, ...(signal === undefined ? [] : [signal])]),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const why = tooLong.aborted
      ? `it has not answered within ${limitMs / 1000} s`
      : (cause as Error).message;
    throw unusable(python, why, cause);
  }
  const answer = answerSchema.safeParse(parseJson(new TextDecoder().decode(output.stdout)));
  if (!answer.success) {
    const last = new TextDecoder().decode(output.stderr).trim().split("\n").at(-1) ?? "";
    throw unusable(
      python,
      `it ended with exit code ${output.code}${last === "" ? "" : `: ${last.slice(0, 500)}`}`,
    );
  }
  if ("missing" in answer.data) return undefined;
  const { version, found, left } = answer.data;
  return {
    name: `claude-agent-sdk ${version} (Python)`,
    found: found.map(({ path, line, ...rest }) => ({ ...rest, place: { path, line } })),
    left,
  };
}

/** The time limit in milliseconds: to start and load the SDK, and for each megabyte of tapes. */
const START_MS = 60_000;
const MEGABYTE_MS = 1000;

function limitFor(tapes: readonly string[]): number {
  const bytes = tapes.reduce((sum, path) => sum + Deno.statSync(path).size, 0);
  return START_MS + Math.ceil(bytes / 1_000_000) * MEGABYTE_MS;
}

function unusable(python: string, why: string, cause?: unknown): CliError {
  return new CliError(`Cannot ask the Agent SDK of ${python}: ${why}`, {
    suggestion: "Name the python3 that it is installed for by --sdk, or leave it out by --no-sdk",
    cause,
  });
}

/**
 * The program for the interpreter. It reads the paths of tapes as JSON from stdin, has the SDK parse each frame, and
 * prints one JSON object. It skips frames that the SDK's parser never sees: the control protocol, and
 * `command_lifecycle`, which the parser ignores.
 */
const PYTHON_PROGRAM = String.raw`
import json, sys
try:
    import claude_agent_sdk
    from claude_agent_sdk._internal.message_parser import parse_message
except Exception as error:
    print(json.dumps({"missing": f"{type(error).__name__}: {error}"[:500]}))
    sys.exit(0)

PROTOCOL = ("control_request", "control_response", "control_cancel_request", "transcript_mirror", "keep_alive", "command_lifecycle")
MOST = 1000
LONGEST_LINE = 64 * 1024 * 1024
LONGEST = 500
found = {}
left = 0

def add(path, line, check, where, what):
    global left
    key = (check, where[:LONGEST], what[:LONGEST])
    if key in found:
        found[key]["count"] += 1
    elif len(found) < MOST:
        found[key] = {"check": check, "where": key[1], "what": key[2], "count": 1, "path": path, "line": line}
    else:
        left += 1

def text(value):
    return value if isinstance(value, str) else json.dumps(value)

def look(path, line, frame):
    kind = text(frame.get("type"))
    if kind in PROTOCOL:
        return
    if frame.get("subtype") is not None:
        kind += "/" + text(frame["subtype"])
    where = "frame " + kind
    try:
        parsed = parse_message(frame)
    except Exception as error:
        cause = error.__cause__
        if isinstance(cause, KeyError) and cause.args:
            add(path, line, "field gone", where, text(cause.args[0]))
        else:
            add(path, line, "frame rejected", where, str(error))
        return
    if parsed is None:
        add(path, line, "type unknown", "frame", kind)
        return
    message = frame.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    kept = getattr(parsed, "content", None)
    if not isinstance(blocks, list) or not isinstance(kept, list) or len(kept) >= len(blocks):
        return
    for block in blocks:
        one = parse_message({**frame, "message": {**message, "content": [block]}})
        if not one.content:
            add(path, line, "block dropped", "block", text(block.get("type")))

for path in json.load(sys.stdin):
    with open(path, "rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), b""), 1):
            if len(line) == LONGEST_LINE:
                break
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(entry, dict) or entry.get("dir") == "write":
                continue
            frame = entry.get("frame") if "dir" in entry or isinstance(entry.get("frame"), dict) else entry
            if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
                continue
            try:
                look(path, number, frame)
            except RecursionError:
                add(path, number, "frame rejected", "frame", "it is nested too deeply")
print(json.dumps({"version": str(getattr(claude_agent_sdk, "__version__", "of an unknown version"))[:100], "found": list(found.values()), "left": left}))
`;
