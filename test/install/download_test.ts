import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { processesOf } from "../leftovers.ts";
import { findTool, lackOf } from "../find_tool.ts";
import { heardLack } from "../heard_lack.ts";
import { fakeProgram, type Newcomer, type NewcomerOptions, sha256 } from "./newcomer.ts";
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

/** Signals during a download, and their exit codes. */
const INTERRUPTIONS = [
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["SIGHUP", 129],
  ["SIGQUIT", 131],
] as const;

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

const NOT_ENCRYPTED =
  /^install\.sh: Warning: http:\S+ is not encrypted: whoever is on the way can replace [^\n]*\n/u;

for (const { name, newcomer, lack } of DOWNLOADERS) {
  const needs = { newcomer, otherTools: true, lack };

  testUnderShells(`${name} gets the newest release, or one by version`, async (user) => {
    await using server = serveReleases({
      [LATEST]: { redirect: `/download/v0.3.0/${ASSET}` },
      [`${LATEST}.sha256`]: { redirect: `/download/v0.3.0/${ASSET}.sha256` },
      ...await release(`/download/v0.3.0/${ASSET}`),
    });
    const env = { CLAUDE_PRINT_RELEASES: `${server.url}/` };
    const { code, stdout, stderr } = await user.install([], { env });
    assertEquals(code, 0);
    assertStringIncludes(
      stdout,
      `Getting ${server.url}${LATEST}\nInstalled claude-print 0.3.0: ${user.target}\n`,
    );
    assertMatch(stderr, NOT_ENCRYPTED);
    assertEquals((await user.tree())[".local/bin/claude-print"], `755 ${PROGRAM}`);
    for (const version of ["0.3.0", "v0.3.0"]) {
      await user.install(["--uninstall"]);
      assertEquals((await user.install(["--version", version], { env })).code, 0);
    }
    const direct = await user.install(["--from", `${server.url}/download/v0.3.0/${ASSET}`]);
    assertStringIncludes(direct.stdout, "Installed claude-print 0.3.0 again");
  }, { ...needs, once: true });

  testUnderShells(`${name} leaves nothing of a failed download`, async (user) => {
    const control = /[^\n -~]/u;
    const cases: readonly (readonly [Answer, Answer, RegExp])[] = [
      [{ missing: "Not Found" }, { text: "" }, /\.sha256: .*404.*\n.* has a version 9\.9\.9\n$/u],
      [{ missing: "Evil \x1b[31m\x07 \x9b\r" }, { text: "" }, /\.sha256: .*\n.*\n$/u],
      [{ text: "a".repeat(1_000_000) }, { text: "" }, /\.sha256: .*\n.*\n$/u],
      [{ text: "<html>\x1b[31m" }, { text: "" }, /\.sha256 does not hold a checksum .*\n.*\n$/u],
      [
        { text: `${await sha256(PROGRAM)}  ../../${ASSET}\n` },
        { breaksIn: PROGRAM },
        /Cannot (?:get|verify) .*\n.*\n$/u,
      ],
    ];
    for (const [sum, program, expected] of cases) {
      const path = `/download/v9.9.9/${ASSET}`;
      await using server = serveReleases({ [path]: program, [`${path}.sha256`]: sum });
      const env = { CLAUDE_PRINT_RELEASES: server.url };
      const { code, stderr } = await user.install(["--version", "9.9.9"], { env });
      assertEquals(code, 1);
      assertMatch(stderr.replace(NOT_ENCRYPTED, ""), expected);
      assert(!control.test(stderr), stderr);
      await assertNothingDone(user);
    }
  }, { ...needs, once: true });

  const interruptions = name === "curl" ? INTERRUPTIONS : INTERRUPTIONS.slice(0, 1);
  for (const [signal, expected] of interruptions) {
    testUnderShells(
      `${name} leaves nothing after ${signal}`,
      async (user) => {
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
      },
      { ...needs, lack: lack ?? heardLack(signal), once: name !== "curl" },
    );
  }
}

/** Makes a certificate for loopback, and lets curl and wget trust it. */
async function makeIdentity(folder: string) {
  const [cert, key] = [`${folder}/cert.pem`, `${folder}/key.pem`];
  const { success } = await new Deno.Command("openssl", {
    args: [
      ..."req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2".split(" "),
      ..."-subj /CN=loopback -addext subjectAltName=IP:127.0.0.1".split(" "),
      ...["-keyout", key, "-out", cert],
    ],
    stderr: "null",
  }).output();
  assert(success);
  await Deno.writeTextFile(`${folder}/wgetrc`, `ca_certificate = ${cert}\n`);
  return {
    identity: { cert: await Deno.readTextFile(cert), key: await Deno.readTextFile(key) },
    env: { CURL_CA_BUNDLE: cert, WGETRC: `${folder}/wgetrc` },
  };
}

for (const tool of ["curl", "wget"]) {
  testUnderShells(`${tool} follows no redirect from https to http`, async (user) => {
    const { identity, env } = await makeIdentity(user.path);
    await using plain = serveReleases(await release(`/${ASSET}`));
    const path = `/download/v0.3.0/${ASSET}`;
    await using server = serveReleases({
      [LATEST]: { redirect: path },
      [`${LATEST}.sha256`]: { redirect: `${path}.sha256` },
      ...await release(path),
      "/plain": { redirect: `${plain.url}/${ASSET}` },
      "/plain.sha256": { redirect: `${plain.url}/${ASSET}.sha256` },
      ...await release("/half", { redirect: `${plain.url}/${ASSET}` }),
    }, identity);
    for (const name of ["plain", "half"]) {
      const { code, stderr } = await user.install(["--from", `${server.url}/${name}`], { env });
      assertEquals(code, 1, stderr);
      assertMatch(
        stderr,
        /^install\.sh: Cannot get https:.*(?:not encrypted|[Pp]rotocol .*http.*)\n.*\n$/u,
      );
      await assertNothingDone(user);
    }
    const all = { ...env, CLAUDE_PRINT_RELEASES: server.url };
    const { code, stdout, stderr } = await user.install([], { env: all });
    assertEquals([code, stderr.includes("not encrypted")], [0, false], stderr);
    assertStringIncludes(stdout, "Installed claude-print 0.3.0: ");
    const ftp = await user.install(["--from", "ftp://127.0.0.1/claude-print"]);
    assertMatch(ftp.stderr, /^install\.sh: Cannot get ftp:.*: it is neither https:\/\/ nor http/u);
  }, {
    newcomer: { tools: [tool] },
    otherTools: true,
    lack: lackOf(tool) ?? lackOf("openssl"),
    once: true,
  });
}

testUnderShells("a wget without certificate checks is not used", async (user) => {
  const { code, stderr } = await user.install([]);
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /^install\.sh: Cannot download: this wget, .* does not check who it talks to\n.*--from <file>\n$/u,
  );
  await assertNothingDone(user);
}, { newcomer: { scripts: { wget: "echo BusyBox; exit 9" } }, otherTools: true, once: true });

testUnderShells("without curl and wget --from is advised", async (user) => {
  const { code, stderr } = await user.install([]);
  assertEquals(code, 1);
  assertMatch(stderr, /there is neither curl nor wget on PATH\n.*and use --from <file>\n$/);
  await assertNothingDone(user);
}, { otherTools: true, once: true });
