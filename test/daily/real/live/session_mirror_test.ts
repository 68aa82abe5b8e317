import { assertEquals } from "@std/assert";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const INNER = {
  description: "Look",
  prompt: "Look. [[bash echo one]] [[say inner]]",
  run_in_background: false,
};
const PROMPT = `Hi ${toolCall("Agent", INNER)} [[say done]]`;
const ARGS = [...STREAM_FORMAT, "--session-mirror", "--", PROMPT];

interface Mirror extends JsonObject {
  readonly filePath: string;
  readonly entries: readonly JsonObject[];
}

const isMirror = (frame: JsonObject): frame is Mirror => frame.type === "transcript_mirror";
const isNote = ({ type }: JsonObject) => type === "agent_metadata";

/** The mirrored lines of the session and its subagent, by file. */
function mirroredIn(stdout: string) {
  const frames = parseFrames(stdout);
  const mirrors = frames.filter(isMirror);
  const files = Map.groupBy(mirrors, ({ filePath }) => filePath);
  const paths = [...files.keys()].toSorted((one, other) => one.length - other.length);
  const [own = [], inner = []] = paths.map((path) => files.get(path));
  const call = frames.flatMap(({ message }) => blocksOf(message)).find(({ name }) =>
    name === "Agent"
  );
  return { mirrors, paths, own, inner, call };
}

/** The facts that readers of a mirror rely on. */
function factsOf(stdout: string) {
  const { mirrors, paths: [path = "", innerPath = ""], inner, call } = mirroredIn(stdout);
  const notes = inner.filter(({ entries }) => entries.some(isNote));
  // Only the last note is certain: a note may be rewritten before it is read.
  const { toolUseId, requestNonInteractive: _, ...note } = notes.at(-1)?.entries[0] ?? {};
  return {
    keys: [...new Set(mirrors.map((mirror) => Object.keys(mirror).join()))],
    folder: path.replace(/[^/]*$/u, ""),
    inner: innerPath.replace(path.replace(/\.jsonl$/u, ""), "").replace(/-\w+\.jsonl/u, ""),
    isNotedFirst: inner[0] !== undefined && inner[0] === notes[0],
    noted: [...new Set(notes.map(({ entries }) => entries.length))],
    isOfCall: toolUseId !== undefined && toolUseId === call?.["id"],
    note,
  };
}

async function linesIn(path: string): Promise<readonly JsonObject[]> {
  const text = await Deno.readTextFile(path);
  return text.trimEnd().split("\n").map((line): JsonObject => JSON.parse(line));
}

forNewestVersion("--session-mirror prints the lines of the transcripts", async (real) => {
  const { code, stdout } = await real.printInProcess(ARGS);
  assertEquals(code, 0);
  const { paths, own, inner } = mirroredIn(stdout);
  const printed = [own, inner].map((mirrors) => mirrors.flatMap(({ entries }) => entries));
  const written = await Promise.all(paths.map(linesIn));
  assertEquals(printed.map((lines) => lines.filter((line) => !isNote(line))), written);
  const note = await Deno.readTextFile(paths[1]?.replace(/\.jsonl$/u, ".meta.json") ?? "");
  assertEquals(printed[1]?.findLast(isNote), { type: "agent_metadata", ...JSON.parse(note) });
  const theirs = await asRecorded(real, "session_mirror/run", async () => {
    const { stdout } = await real.claudeP(ARGS);
    return factsOf(stdout);
  });
  assertEquals(factsOf(stdout), theirs);
  // A fork has what was said before in its own transcript.
  const args = [...ARGS.slice(0, -1), "Two. [[say second]]"];
  const fork = await real.printInProcess(["--continue", "--fork-session", ...args]);
  const copied = mirroredIn(fork.stdout);
  const lines = copied.own.flatMap(({ entries }) => entries);
  assertEquals(lines, await linesIn(copied.paths[0] ?? ""));
  assertEquals(JSON.stringify(lines).includes("[[say inner]]"), true);
});
