import { OWN_FIELDS } from "../../../../src/claude/wire/result_frame.ts";
import { assert, assertEquals } from "@std/assert";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import { fetchRelease } from "../../../../src/claude/program/releases.ts";
import { PROFILED_VERSIONS } from "../../../../src/claude/versions/profiles.ts";
import { FrameKeys } from "../../../../src/recording/learn/learn_frames.ts";
import { parseFrames } from "../../../real/print_mode_facts.ts";
import { namedClaude } from "../../../real/named_claude.ts";
import { RealClaude } from "../../../real/real_claude.ts";
import { callerLines, userMessage } from "../../../caller_lines.ts";

/** The seed that chooses two versions. */
const SEED = "window";
const ROOT = new URL("../../../../", import.meta.url).pathname;

const JSON_LINES = ["--output-format=stream-json", "--verbose"];

/** Runs that show the most common frames. `own` are flags that only claude-print has. */
const RUNS: readonly {
  readonly args: readonly string[];
  readonly own?: readonly string[];
  readonly stdin?: string;
}[] = [
  {
    own: ["--exact-stream"],
    args: [
      ...[...JSON_LINES, "--include-partial-messages", "--allowedTools", "Bash", "--"],
      "[[think so]] [[say I look]] [[bash echo one]] [[bash echo no >&2; exit 3]] [[say done]]",
    ],
  },
  { args: [...JSON_LINES, "--", '[[tool Write {"file_path":"/a","content":"b"}]] [[say denied]]'] },
  {
    args: [...JSON_LINES, "--max-turns", "1", "--allowedTools", "Bash", "--", "[[bash echo one]]"],
  },
  { args: [...JSON_LINES, "--", "[[error 400]]"] },
  {
    args: [...JSON_LINES, "--input-format=stream-json", "--replay-user-messages"],
    stdin: callerLines(["one", "two"].map((text) => userMessage(`[[say ${text}]]`))),
  },
];

/** Chooses two versions by the seed. */
async function chosenVersions(): Promise<readonly string[]> {
  const seed = new TextEncoder().encode(SEED);
  const [first = 0, second = 0] = new Uint32Array(await crypto.subtle.digest("SHA-256", seed));
  const one = PROFILED_VERSIONS[first % PROFILED_VERSIONS.length] ?? "";
  const others = PROFILED_VERSIONS.filter((version) => version !== one);
  return [one, others[second % others.length] ?? ""];
}

/** Returns the executable of a version, downloaded into `.cache` on first use. */
async function executableOf(version: string): Promise<string> {
  if (fileAt(`${ROOT}.cache/claude-print/releases/${version}/claude`) === undefined) {
    const text = `Downloading Claude Code ${version} from npm (up to 190 MB, once) …\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  }
  const env = {
    ...Deno.env.toObject(),
    XDG_CACHE_HOME: `${ROOT}.cache`,
    XDG_DATA_HOME: `${ROOT}.cache/nothing`,
  };
  return (await fetchRelease(version, { env, keep: true })).binary;
}

/** The keys and frames that docs/explanation/versions.md lists as not printed. */
async function unknowableKeys(): Promise<readonly string[]> {
  const page = await Deno.readTextFile(`${ROOT}docs/explanation/versions.md`);
  const [, table = ""] = /^\| key or frame +\|.*?\n(.*?)\n\n/msu.exec(page) ?? [];
  return table.split("\n").flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/gu)].map(([, key = ""]) => key)
  );
}

/** Returns each printed key with its kind of frame, without the keys and kinds of `left`. */
function keysIn(stdouts: readonly string[], left: readonly string[]): readonly string[] {
  const keys = new FrameKeys();
  for (const frame of stdouts.flatMap((text) => parseFrames(text))) keys.add(frame);
  return Object.entries(keys.words()).flatMap(([kind, words]) =>
    kind.split(/\W+/u).some((part) => left.includes(part))
      ? []
      : words.split(" ").filter((word) => !left.includes(word.replace("?", "")))
        .map((word) => `${kind} ${word}`)
  ).toSorted();
}

const versions = namedClaude === undefined ? await chosenVersions() : [namedClaude.version];
for (const version of versions) {
  Deno.test(`${version}: frames have the keys of claude -p`, async () => {
    const binary = namedClaude?.binary ?? await executableOf(version);
    await using real = await RealClaude.set(version, { binary });
    const [ours, theirs]: [string[], string[]] = [[], []];
    for (const { args, own = [], ...options } of RUNS) {
      ours.push((await real.print([...own, ...args], options)).stdout);
      theirs.push((await real.claudeP(args, options)).stdout);
    }
    const left = [...OWN_FIELDS, ...await unknowableKeys()];
    assert(left.includes("messaging_socket_path"));
    assertEquals(keysIn(ours, left), keysIn(theirs, left));
  });
}
