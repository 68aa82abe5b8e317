import { assertEquals, assertMatch } from "@std/assert";
import { SLOW_FOLDERS } from "../layers.ts";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import { startProgram } from "../start_program.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** A checkout with nothing in its `.cache`, and one test file. */
async function freshCheckout(test: string) {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "checkout-" }));
  const tests = ["main.ts", "layers.ts", "limit_tests.ts", "skip_if_lacking.ts"];
  // Without the recordings.
  const fixtures = ["programs", "std", "throwaway_home.ts"];
  for (const folder of SLOW_FOLDERS) {
    await Deno.mkdir(`${path}/${folder}`, { recursive: true });
  }
  await Deno.mkdir(`${path}/fixtures`);
  await Deno.mkdir(`${path}/src/recording/learn`, { recursive: true });
  for (
    const name of [
      ...["deno.json", "deno.lock", "src/recording/learn/throwaway_home.ts"],
      ...fixtures.map((name) => `fixtures/${name}`),
      ...tests.map((name) => `test/${name}`),
    ]
  ) {
    const { success } = await new Deno.Command("cp", {
      args: ["-r", `${ROOT}${name}`, `${path}/${name}`],
    }).output();
    assertEquals(success, true, name);
  }
  await Deno.writeTextFile(`${path}/test/real/a_test.ts`, test);
  // What npx says of its own configuration would come before a file's.
  const own = Object.entries(Deno.env.toObject()).filter(([name]) => !/^npm_/iu.test(name));
  const env = { ...Object.fromEntries(own), DENO_DIR: await denoDir(), NO_COLOR: "1" };
  return {
    path,
    test: async (args: readonly string[], added: Readonly<Record<string, string>>) =>
      await startProgram([Deno.execPath(), "task", "--quiet", "test", ...args], {
        env: { ...env, ...added },
        cwd: path,
      }).ended,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

Deno.test("deno task test reports a failed download and runs nothing", async () => {
  await using checkout = await freshCheckout("throw new Error('ran')");
  // Deno's own packages are there.
  const npmrc = "@anthropic-ai:registry=http://127.0.0.1:1/\n";
  await Deno.writeTextFile(`${checkout.path}/.npmrc`, npmrc);
  const run = await checkout.test([], { HOME: checkout.path });
  assertEquals([run.code, run.stdout], [1, ""]);
  assertMatch(
    run.stderr,
    /^Downloading Claude Code 2\.1\.\d+ from npm \(\d+ MB, once\) …\nCannot download @anthropic-ai\/\S+ from npm: .*Connection refused.*\n$/u,
  );
});

Deno.test("deno task test lists what the machine lacks", async () => {
  await using checkout = await freshCheckout(`
    import { skipIfLacking } from "../skip_if_lacking.ts";
    for (const [lack, name] of [["busybox", "a"], ["fish", "b"], ["busybox", "c"], [, "d"]]) {
      Deno.test(skipIfLacking(lack, { name, fn: () => {} }));
    }
    Deno.test("e", async (t) => void await t.step(skipIfLacking("jq", { name: "f", fn() {} })));
  `);
  const run = await checkout.test(["test/real/a_test.ts"], { TEST_NEEDS_ALL: "" });
  assertEquals(run.code, 0, run.stderr);
  assertMatch(
    run.stdout,
    /^ok \| 2 passed .*\n\n2 tests left out, lacking busybox\n1 test left out, lacking fish\n1 test left out, lacking jq\n$/mu,
  );
});

Deno.test("a test that hangs fails by its name and place", async () => {
  await using checkout = await freshCheckout(`
    Deno.test("a", { timeout: 1 }, () => new Promise((end) => setTimeout(end, 100)));
    Deno.test("b", () => {});
  `);
  const { code, stdout } = await checkout.test(["test/real/a_test.ts"], {});
  assertEquals(code, 1);
  assertMatch(
    stdout,
    /^a => \.\/test\/real\/a_test\.ts:2:10\nerror: Test timed out after 1ms\.$/mu,
  );
  assertMatch(stdout, /=> b \.\.\. ok/u);
});
