import { dirname, resolve } from "node:path";
import { printChanges } from "../parity/differences.ts";
import { withoutIds } from "../parity/mask.ts";
import type { RealClaude } from "./real_claude.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..", "..");

/** A line of a recording: what `claude -p` did at one place of a test. */
interface Line {
  readonly name: string;
  readonly value: unknown;
}

/** The name of a file, and of a line in it. */
export type RecordedName = `${string}/${string}`;

/** If set, everything is run and recorded: `deno task record-parity` sets it. */
const IS_RECORDING = (Deno.env.get("RECORD_PARITY") ?? "") !== "";

/**
 * Names that differ by test and machine, and their placeholders: the home as a path and as the folder name that Claude Code
 * derives from it, the API, the user, this checkout and its Deno.
 */
const PLACES: readonly (readonly [string | RegExp, string])[] = [
  [/(?:\/[^\s/"'\\]+)*\/home-\d+-[\da-f]{8}(?![\da-f])/gu, "<home>"],
  [/[\w-]*-home-\d+-[\da-f]{8}(?![\da-f])/gu, "<slug>"],
  [/127\.0\.0\.1:\d{4,}/gu, "<api>"],
  [/(?<=\/claude-)\d+(?=\/)/gu, "<uid>"],
  [Deno.execPath(), "<deno>"],
  [ROOT, "<root>"],
];

/**
 * Returns what `claude -p` of this version did when it was recorded. To run it in each test would take half as long again as
 * the test. A version without a recording, which CLAUDE_CODE names, is run.
 *
 * The value is JSON, with the names of this home.
 */
export async function asRecorded<Value>(
  { version, home, api }: {
    readonly version: string;
    readonly home: Pick<RealClaude["home"], "path">;
    readonly api: Pick<RealClaude["api"], "url">;
  },
  name: RecordedName,
  run: () => Promise<Value>,
): Promise<Value> {
  const path = pathOf(version, name.slice(0, name.indexOf("/")));
  const found = IS_RECORDING ? undefined : linesOf(path).find((line) => line.name === name);
  const value = found?.value ?? JSON.parse(withPlaces(JSON.stringify(await run())));
  if (IS_RECORDING) {
    const before = linesOf(path).find((line) => line.name === name);
    if (before !== undefined) {
      printChanges(`${version} ${name}`, [withoutTimes(before.value), withoutTimes(value)]);
    }
    write(path, { name, value });
  }
  return JSON.parse(
    JSON.stringify(value).replaceAll("<home>", home.path)
      .replaceAll("<slug>", home.path.replaceAll(/[^a-z\d]/giu, "-"))
      .replaceAll("<api>", new URL(api.url).host).replaceAll("<uid>", `${Deno.uid()}`)
      .replaceAll("<deno>", Deno.execPath()).replaceAll("<root>", ROOT),
  );
}

/** A value without what differs from run to run. */
function withoutTimes(value: unknown): unknown {
  return JSON.parse(
    withoutIds(JSON.stringify(value)).replaceAll(/(?<=_?ms\\*":)\d+/giu, "0"),
  );
}

function withPlaces(text: string): string {
  return PLACES.reduce((text, [pattern, place]) => text.replaceAll(pattern, place), text);
}

function pathOf(version: string, file: string): string {
  return `${ROOT}/fixtures/recordings/parity/${version}/${file}.jsonl`;
}

function linesOf(path: string): readonly Line[] {
  try {
    return Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Synchronous, since a test may record in parallel; no two test files share a recording. */
function write(path: string, line: Line): void {
  const lines = [...linesOf(path).filter(({ name }) => name !== line.name), line]
    .toSorted((one, other) => one.name < other.name ? -1 : 1);
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeTextFileSync(path, lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
}
