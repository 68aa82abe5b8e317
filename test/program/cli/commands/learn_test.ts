import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import {
  learn,
  learnAndCompare,
  type Measure,
} from "../../../../src/cli/commands/learn_command.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { someProfile } from "../../../claude/versions/some_profile.ts";
import { until } from "../../stand_in.ts";
import { startProgram } from "../../../start_program.ts";
import { saysVersion } from "../../claude/program/fake_npm.ts";
import { writeScript } from "../../../write_script.ts";

const QUIET = { say: () => {}, warn: () => {} };
const NEEDED = [
  ...["exactSocket", "hooks", "socket", "statusFile", "statusLine", "statusLineOnRequest"],
];

/** A folder with a Claude Code of a version, and a cache. */
async function installed(version: string) {
  const folder = await Deno.makeTempDir();
  const binary = `${folder}/claude`;
  await writeScript(binary, saysVersion(version));
  const env = {
    ...Deno.env.toObject(),
    DENO_DIR: await denoDir(),
    XDG_CACHE_HOME: `${folder}/cache`,
    TMPDIR: folder,
  };
  const start = (...args: string[]) => {
    const command = [...CLAUDE_PRINT, "learn", "--claude-binary", binary, ...args];
    return startProgram(command, { env, cwd: folder });
  };
  const run = (...args: string[]) => start(...args).ended;
  return {
    ...{ folder, binary, env, start, run },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Everything below a folder. */
function namesBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? namesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

Deno.test("learn --check knows shipped versions and no newer one", async () => {
  const told = {
    "2.1.300": { code: 0, stdout: "Claude Code 2.1.300: known to this claude-print\n" },
    "95.0.0": { code: 1, stdout: "Claude Code 95.0.0: not known; run claude-print learn\n" },
  };
  for (const [version, expected] of Object.entries(told)) {
    await using claude = await installed(version);
    assertEquals(await claude.run("--check"), { ...expected, stderr: "" });
  }
});

Deno.test("learn keeps what it has measured for later runs", async () => {
  await using claude = await installed("95.0.0");
  const { env, binary } = claude;
  const profile = someProfile("95.0.0", { capabilities: NEEDED });
  const steps: string[] = [];
  const measure: Measure = (path, { onProgress }) => {
    steps.push(path);
    onProgress?.("frames", 0, 1);
    return Promise.resolve(profile);
  };
  const { signal } = new AbortController();
  assertEquals(await learnAndCompare(binary, { env, signal, measure, ...QUIET }), 0);
  assertEquals(steps, [binary]);
  const path = `${env.XDG_CACHE_HOME}/claude-print/versions/95.0.0.json`;
  assertEquals(JSON.parse(await Deno.readTextFile(path)), profile);
  assertEquals(namesBelow(env.XDG_CACHE_HOME), [path]);
  assertEquals((await claude.run("--check")).stdout, "Claude Code 95.0.0: learnt\n");
});

Deno.test("learn reports a version that lacks a capability", async () => {
  await using claude = await installed("95.0.0");
  const { env, binary } = claude;
  const said: string[] = [];
  const code = await learnAndCompare(binary, {
    env,
    signal: new AbortController().signal,
    measure: () => Promise.resolve(someProfile("95.0.0", { capabilities: NEEDED.slice(1) })),
    ...QUIET,
    warn: (text) => said.push(text),
  });
  assertEquals(code, 2);
  assertStringIncludes(said.join(""), "lacks what claude-print needs: exactSocket\n");
});

Deno.test("a failed or stopped measurement keeps nothing", async () => {
  await using claude = await installed("95.0.0");
  const { env, binary } = claude;
  const failing: Measure = () => Promise.reject(new Error("a run has not ended"));
  const { signal } = new AbortController();
  const options = { env, signal, ...QUIET };
  const error = await assertRejects(
    () => learnAndCompare(binary, { ...options, measure: failing }),
    CliError,
    "a run has not ended",
  );
  assertStringIncludes(error.suggestion ?? "", "try again");
  const stop = new AbortController();
  const stopping: Measure = () => {
    stop.abort(new Error("Stopped"));
    return Promise.resolve(someProfile("95.0.0"));
  };
  await assertRejects(
    () => learnAndCompare(binary, { ...options, signal: stop.signal, measure: stopping }),
    Error,
    "Stopped",
  );
  assertEquals(namesBelow(claude.folder), [binary]);
});

Deno.test("SIGINT ends a measurement and leaves nothing", async () => {
  await using claude = await installed("95.0.0");
  const { folder, binary, env } = claude;
  const noted = `${folder}/pid`;
  await Deno.writeTextFile(
    binary,
    `#!/bin/sh\n[ "$1" != --version ] || { echo "95.0.0 (Claude Code)"; exit; }\n` +
      `echo $$ > ${noted}.new; mv ${noted}.new ${noted}; exec sleep 100\n`,
  );
  const { child, ended } = claude.start();
  await until(() => fileAt(noted) !== undefined, "it measures");
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  assertEquals([code, stdout], [130, ""]);
  assertMatch(stderr, /^(?:claude-print: Measuring .+ \(\d+ of \d+\)\n)*$/u);
  assertEquals(fileAt(`/proc/${(await Deno.readTextFile(noted)).trim()}`), undefined);
  const left = [...Deno.readDirSync("/tmp"), ...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.startsWith(`cp-learn-${child.pid}-`));
  assertEquals([left, fileAt(env.XDG_CACHE_HOME)], [[], undefined]);
});

Deno.test("an unwritable cache is named with a remedy", async () => {
  await using claude = await installed("95.0.0");
  const measure: Measure = () => Promise.resolve(someProfile("95.0.0"));
  const { signal } = new AbortController();
  // No file can be made in /proc.
  const caches = { "/dev/null/cache": "Not a directory", "/proc/self": "claude-print" };
  for (const [cache, why] of Object.entries(caches)) {
    const env = { XDG_CACHE_HOME: cache };
    const error = await assertRejects(
      () => learnAndCompare(claude.binary, { env, signal, measure, ...QUIET }),
      CliError,
      why,
    );
    assertStringIncludes(error.message, "Cannot keep the profile of Claude Code 95.0.0: ");
    assertStringIncludes(error.suggestion ?? "", "XDG_CACHE_HOME");
  }
});

Deno.test("learn refuses other programs and old versions", async () => {
  for (
    const [version, check, why] of [
      ["2.1.197", false, "Claude Code 2.1.197 is too old"],
      ["nonsense", true, "it is no Claude Code"],
    ] as const
  ) {
    await using claude = await installed(version);
    const { binary: claudeBinary, env } = claude;
    await assertRejects(() => learn({ check, claudeBinary }, { env }), CliError, why);
  }
});
