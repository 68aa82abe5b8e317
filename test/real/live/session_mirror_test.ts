import { assertEquals } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forEachVersion } from "../for_each_version.ts";
import { type JsonObject, parseFrames } from "../print_mode_facts.ts";

forEachVersion("--session-mirror prints the lines that the transcript will hold", async (real) => {
  const args = ["--output-format", "stream-json", "--verbose", "--session-mirror", "--"];
  const { code, stdout } = await real.print([...args, "Hi [[bash echo one]] [[say done]]"]);
  assertEquals(code, 0);
  const mirrors = parseFrames(stdout).filter(({ type }) => type === "transcript_mirror");
  const [path] = new Set(mirrors.map(({ filePath }) => `${filePath}`));
  const written = (await Deno.readTextFile(path ?? "")).trimEnd().split("\n")
    .map((line): JsonObject => JSON.parse(line));
  const printed = mirrors.flatMap(({ entries }) => entries as readonly JsonObject[]);
  assertEquals(printed, written);
  const ours = { keys: Object.keys(mirrors[0] ?? {}), folder: path?.replace(/[^/]*$/u, "") };
  const theirs = await asRecorded(real, "session_mirror/run", async () => {
    const { stdout } = await real.claudeP([...args, "Hi [[say done]]"]);
    const [mirror] = parseFrames(stdout).filter(({ type }) => type === "transcript_mirror");
    const { filePath } = mirror ?? {};
    return { keys: Object.keys(mirror ?? {}), folder: `${filePath}`.replace(/[^/]*$/u, "") };
  });
  assertEquals(ours, theirs);
});
