import { assertEquals } from "@std/assert";
import { knownVersion } from "../../src/claude/known_version.ts";

Deno.test("a program is asked for its version once, as long as it is the same and no script", async () => {
  const cwd = await Deno.makeTempDir();
  const binary = `${cwd}/claude`;
  let asked = 0;
  const ask = () => Promise.resolve(`2.1.${++asked}`);
  const envs = [{ A: "a", B: "b" }, { B: "b", A: "a" }];
  const version = (options = {}) =>
    knownVersion(binary, envs[asked % 2] ?? {}, { cwd, ask, ...options });
  try {
    await Deno.writeTextFile(binary, "one");
    assertEquals([await version(), await version()], ["2.1.1", "2.1.1"]);
    await Deno.writeTextFile(`${cwd}/next`, "two and more");
    await Deno.rename(`${cwd}/next`, binary);
    assertEquals([await version(), await version()], ["2.1.2", "2.1.2"]);
    assertEquals(
      await knownVersion(binary, { A: "c" }, { cwd, ask }),
      "2.1.3",
      "another environment",
    );
    await Deno.writeTextFile(binary, "#!/bin/sh");
    assertEquals([await version(), await version()], ["2.1.4", "2.1.5"]);
    const trusting = { trustsScripts: true };
    assertEquals([await version(trusting), await version(trusting)], ["2.1.6", "2.1.6"]);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
