import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { processesOf } from "../leftovers.ts";
import { fakeProgram } from "./fake_program.ts";
import { findTool, lackOf } from "../find_tool.ts";
import { type Newcomer, type NewcomerOptions, sha256 } from "./newcomer.ts";
import { type Answer, serveReleases } from "./release_server.ts";
import { testUnderShells } from "./test_under_shells.ts";

const ASSET = "claude-print-x86_64-linux";
const LATEST = `/latest/download/${ASSET}`;
const PROGRAM = fakeProgram({ version: "0.3.0" });

/** Each program that can download, as the only one of a machine. */
const DOWNLOADERS: readonly {
  readonly name: string;
  readonly newcomer: NewcomerOptions;
  readonly lack: string | undefined;
}[] = [
  downloader("curl", "curl"),
  downloader("wget", "wget"),
  {
    ...downloader("busybox", "the wget of busybox"),
    newcomer: { scripts: { wget: `exec ${findTool("busybox") ?? "busybox"} wget "$@"` } },
  },
];

function downloader(tool: string, name: string) {
  return {
    name,
    newcomer: { tools: [tool] },
    lack: lackOf(tool),
  };
}

async function release(path: string, program: Answer = { text: PROGRAM }) {
  return {
    [path]: program,
    [`${path}.sha256`]: { text: `${await sha256(PROGRAM)}  ${ASSET}\n` },
  };
}

async function assertNothingDone(user: Newcomer): Promise<void> {
  assertEquals(await user.tree(), {});
  assertEquals(processesOf(user.home), []);
}

for (const { name, newcomer, lack } of DOWNLOADERS) {
  const needs = { newcomer, otherTools: true, lack };

  testUnderShells(`${name} brings the newest release, and another by its version`, async (user) => {
    await using server = serveReleases({
      [LATEST]: { redirect: `/download/v0.3.0/${ASSET}` },
      [`${LATEST}.sha256`]: { redirect: `/download/v0.3.0/${ASSET}.sha256` },
      ...await release(`/download/v0.3.0/${ASSET}`),
    });
    const env = { CLAUDE_PRINT_RELEASES: `${server.url}/` };
    const { code, stdout } = await user.install([], { env });
    assertEquals(code, 0);
    assertStringIncludes(
      stdout,
      `Getting ${server.url}${LATEST}\nInstalled claude-print 0.3.0: ${user.target}\n`,
    );
    assertEquals((await user.tree())[".local/bin/claude-print"], `755 ${PROGRAM}`);
    for (const version of ["0.3.0", "v0.3.0"]) {
      await user.install(["--uninstall"]);
      assertEquals((await user.install(["--version", version], { env })).code, 0);
    }
    const direct = await user.install(["--from", `${server.url}/download/v0.3.0/${ASSET}`]);
    assertStringIncludes(direct.stdout, "Installed claude-print 0.3.0 again");
  }, needs);

  testUnderShells(`${name} does not bring what is not there`, async (user) => {
    await using server = serveReleases({});
    const env = { CLAUDE_PRINT_RELEASES: server.url };
    const { code, stderr } = await user.install(["--version", "9.9.9"], { env });
    assertEquals(code, 1);
    assertMatch(stderr, /^install\.sh: Cannot get http.*\.sha256: .*404.*\n/s);
    assertStringIncludes(stderr, `whether ${server.url} has a version 9.9.9`);
    await assertNothingDone(user);
  }, needs);

  testUnderShells(`${name} that is cut off leaves nothing`, async (user) => {
    await using server = serveReleases(
      await release(LATEST, { breaksIn: PROGRAM }),
    );
    const env = { CLAUDE_PRINT_RELEASES: server.url };
    const { code, stderr } = await user.install([], { env });
    assertEquals(code, 1);
    assertMatch(stderr, /^install\.sh: Cannot (?:get|verify) http/);
    await assertNothingDone(user);
  }, needs);

  testUnderShells(`${name} that is interrupted leaves nothing, not even itself`, async (user) => {
    for (
      const [signal, expected] of [["SIGTERM", 143], ["SIGINT", 130], ["SIGHUP", 129]] as const
    ) {
      await using server = serveReleases(
        await release(LATEST, { stallsIn: PROGRAM }),
      );
      const { child, ended } = user.start([], { env: { CLAUDE_PRINT_RELEASES: server.url } });
      await Promise.race([server.stalled, ended]);
      child.kill(signal);
      const { code, stderr } = await ended;
      assertEquals(code, expected);
      assertStringIncludes(stderr, "install.sh: Interrupted: nothing was changed\n");
      await assertNothingDone(user);
    }
  }, needs);
}

testUnderShells("with neither curl nor wget it says how to go on", async (user) => {
  const { code, stderr } = await user.install([]);
  assertEquals(code, 1);
  assertMatch(stderr, /there is neither curl nor wget on PATH\n.*and use --from <file>\n$/);
  await assertNothingDone(user);
}, { otherTools: true });

testUnderShells("what a killed installer left goes with the next", async (user) => {
  const stale = `${user.home}/.local/bin/.claude-print-install.4194999`;
  await Deno.mkdir(stale, { recursive: true });
  await Deno.writeTextFile(`${stale}/claude-print`, "half");
  assertEquals((await user.install(["--from", await user.release(PROGRAM)])).code, 0);
  const tree = await user.tree();
  assertEquals(Object.keys(tree).filter((path) => path.startsWith(".local/bin/.")), []);
});
