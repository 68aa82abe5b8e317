import { dirname, resolve } from "node:path";
import type { RealClaude } from "./real_claude.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..", "..");

/** A line of a recording: what `claude -p` did in one place of a test. */
interface Line {
  readonly name: string;
  readonly value: unknown;
}

/** The name of a file, and of what is in it. */
export type RecordedName = `${string}/${string}`;

/** With it set, everything is run, and what came of it is written down: `deno task record-parity` does so. */
const IS_RECORDING = (Deno.env.get("RECORD_PARITY") ?? "") !== "";

/**
 * What is another for each test and machine, and what stands for it in a recording: the home, as a path and as the name
 * that Claude Code makes of one, the API, the user, this checkout and its Deno.
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
 * What `claude -p` of this version does, which does not change: to run it in each test would take half as long again as
 * what is tested. A version of which nothing is recorded, one that CLAUDE_CODE names, is run.
 *
 * The value is JSON, and is read as if it had come about in this home.
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
  if (IS_RECORDING) write(path, { name, value });
  return JSON.parse(
    JSON.stringify(value).replaceAll("<home>", home.path)
      .replaceAll("<slug>", home.path.replaceAll(/[^a-z\d]/giu, "-"))
      .replaceAll("<api>", new URL(api.url).host).replaceAll("<uid>", `${Deno.uid()}`)
      .replaceAll("<deno>", Deno.execPath()).replaceAll("<root>", ROOT),
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

/** At one go, since a test may run several things at once; no two files of tests have a recording in common. */
function write(path: string, line: Line): void {
  const lines = [...linesOf(path).filter(({ name }) => name !== line.name), line]
    .toSorted((one, other) => one.name < other.name ? -1 : 1);
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeTextFileSync(path, lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
}
