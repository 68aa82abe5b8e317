import { assertEquals, assertMatch } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { concurrently } from "../../concurrently.ts";
import { forNewestVersion } from "../../real/for_each_version.ts";
import { StandIn } from "../../program/stand_in.ts";
import { writeFiles } from "../../write_files.ts";

/** Files that block a reader or have no end. */
const TRAPS: Readonly<Record<string, (path: string) => void>> = {
  "a FIFO": makeFifo,
  "a link to /dev/zero": (path) => Deno.symlinkSync("/dev/zero", path),
  "a link to a terminal": (path) => Deno.symlinkSync("/dev/ptmx", path),
  "a file without end": (path) => {
    Deno.writeTextFileSync(path, "{}");
    Deno.truncateSync(path, 2 ** 42);
  },
};

/** A run that waits in a system call heeds no signal but this. */
const mortal = (command: readonly string[]) => ["timeout", "--signal=KILL", "600", ...command];

Deno.test("no FIFO, device or endless file makes a run wait", () =>
  concurrently(Object.entries(TRAPS), { limit: 4, each: ([kind, set]) => printAmong(kind, set) }));

/** Runs a prompt below folders in which all that a run may read is a trap. */
async function printAmong(kind: string, set: (path: string) => void): Promise<void> {
  await using claude = await StandIn.set();
  const { project, tmp } = claude.home;
  const work = `${project}/work`;
  const left = `${tmp}/claude-print-${Deno.uid()}/4194305-1-0123abcd/own`;
  for (const folder of [`${project}/.claude`, `${work}/.claude`, left]) {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  }
  for (const folder of [project, work]) {
    for (const name of [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"]) {
      set(`${folder}/${name}`);
    }
  }
  set(`${left}/owner.json`);
  const run = await claude.print(["hello"], { cwd: work, wrap: mortal, warns: true });
  assertEquals([run.stdout, run.code], ["Hello from the stand-in.\n", 0], kind);
  // As for any settings that Claude Code cannot read.
  const said =
    /^claude-print: Warning: These settings did not load, .*\n(.*settings(?:\.local)?\.json: .*\n){2}Fix .*\n$/u;
  assertMatch(run.stderr, said, kind);
}

Deno.test("a FIFO in the user's config is refused", async () => {
  await using claude = await StandIn.set();
  const folder = `${claude.home.path}/other`;
  await Deno.mkdir(folder);
  const cases = [
    [".claude.json", { CLAUDE_CONFIG_DIR: folder }],
    [".credentials.json", { CLAUDE_SECURESTORAGE_CONFIG_DIR: folder, ANTHROPIC_API_KEY: "x" }],
  ] as const;
  for (const [name, env] of cases) {
    makeFifo(`${folder}/${name}`);
    const run = await claude.print(["--output-format", "json", "hello"], { env, wrap: mortal });
    assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
    assertMatch(
      run.stderr,
      /^claude-print: Cannot read ".*": it is not a regular file\n {2}Put a /u,
    );
    await Deno.remove(`${folder}/${name}`);
  }
  assertEquals(await claude.journal("start"), []);
});

forNewestVersion("FIFOs in a project do not stop Claude Code", async (real) => {
  const { path, project } = real.home;
  const work = `${project}/work`;
  await Deno.mkdir(`${work}/.claude/rules`, { recursive: true });
  await writeFiles(path, { "outside.md": "SECRET-OUTSIDE" });
  await writeFiles(work, { "CLAUDE.md": "RULES @/dev/zero @trap.md @../../outside.md" });
  for (const folder of [project, work]) makeFifo(`${folder}/.mcp.json`);
  for (const name of ["trap.md", ".claude/settings.json", ".claude/rules/more.md"]) {
    makeFifo(`${work}/${name}`);
  }
  makeFifo(`${project}/CLAUDE.md`);
  const run = await real.printInProcess(["--", "Hi [[say done]]"], { cwd: work });
  assertEquals([run.code, run.stdout], [0, "done\n"], run.stderr);
  const sent = real.api.requests.map(({ text }) => text).join("");
  assertEquals(["RULES", "SECRET"].map((word) => sent.includes(word)), [true, false]);
});
