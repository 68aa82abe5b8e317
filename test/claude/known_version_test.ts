import { assertEquals, assertRejects } from "@std/assert";
import { knownVersion } from "../../src/claude/known_version.ts";
import { supportedVersionIn } from "../../src/claude/refuse_old.ts";
import { CliError } from "../../src/cli_error.ts";

Deno.test("a program is asked for its version once, as long as it is the same and no script", async () => {
  const cwd = await Deno.makeTempDir();
  const binary = `${cwd}/claude`;
  let asked = 0;
  const ask = () => Promise.resolve(`9.1.${++asked}`);
  const envs = [{ A: "a", B: "b" }, { B: "b", A: "a" }];
  const version = (options = {}) =>
    knownVersion(binary, envs[asked % 2] ?? {}, { cwd, ask, ...options });
  try {
    await Deno.writeTextFile(binary, "one");
    assertEquals([await version(), await version()], ["9.1.1", "9.1.1"]);
    await Deno.writeTextFile(`${cwd}/next`, "two and more");
    await Deno.rename(`${cwd}/next`, binary);
    assertEquals([await version(), await version()], ["9.1.2", "9.1.2"]);
    assertEquals(
      await knownVersion(binary, { A: "c" }, { cwd, ask }),
      "9.1.3",
      "another environment",
    );
    await Deno.writeTextFile(binary, "#!/bin/sh");
    assertEquals([await version(), await version()], ["9.1.4", "9.1.5"]);
    const trusting = { trustsScripts: true };
    assertEquals([await version(trusting), await version(trusting)], ["9.1.6", "9.1.6"]);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});

Deno.test("a program older than the support window is refused, as a script too", async () => {
  const cwd = await Deno.makeTempDir();
  const binary = `${cwd}/claude`;
  const ask = () => Promise.resolve("2.1.284");
  try {
    for (const content of ["one", "#!/bin/sh"]) {
      await Deno.writeTextFile(binary, content);
      await assertRejects(
        () => knownVersion(binary, {}, { cwd, ask }),
        CliError,
        "Claude Code 2.1.284 is too old: claude-print needs 2.1.285 or newer",
      );
    }
    assertEquals(
      await knownVersion(binary, {}, { cwd, ask: () => Promise.resolve(undefined) }),
      undefined,
    );
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});

Deno.test("a path names the version of a supported Claude Code", () => {
  const named = [
    "versions/2.1.285",
    "2.1.332/claude",
    "2.1.332/other",
    "versions/2.1.284",
    "claude",
  ];
  assertEquals(named.map((path) => supportedVersionIn(`/x/${path}`)), [
    ...["2.1.285", "2.1.332", undefined, undefined, undefined],
  ]);
});
