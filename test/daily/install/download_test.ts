import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { findTool, missingTool } from "../../missing_tool.ts";
import { ignoredSignalLack } from "../../ignored_signal_lack.ts";
import { processesOf } from "../../leftovers.ts";
import { fakeProgram, type Newcomer, sha256 } from "./newcomer.ts";
import { type Answer, serveReleases } from "./release_server.ts";
import { testUnderShells } from "./test_under_shells.ts";

const ASSET = "claude-print-x86_64-linux";
const LATEST = `/latest/download/${ASSET}`;
const PROGRAM = fakeProgram({ version: "0.3.0" });

/** Machines with a single program for downloads. */
const DOWNLOADERS = [
  { name: "curl", newcomer: { tools: ["curl"] } },
  { name: "wget", newcomer: { tools: ["wget"] } },
  {
    name: "busybox",
    newcomer: { scripts: { wget: `exec ${findTool("busybox") ?? "busybox"} wget "$@"` } },
  },
].map((each) => ({ ...each, otherTools: true, lack: missingTool(each.name) }));

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

/** The newest release is a redirect. */
const redirect = (path: string): Readonly<Record<string, Answer>> => ({
  [LATEST]: { redirect: path },
  [`${LATEST}.sha256`]: { redirect: `${path}.sha256` },
});

async function assertNothingDone(user: Newcomer): Promise<void> {
  assertEquals(await user.tree(), {});
  assertEquals(processesOf(user.home), []);
}

const NOT_ENCRYPTED =
  /^install\.sh: Warning: http:\S+ is not encrypted: whoever is on the way can replace [^\n]*\n/u;

for (const { name, ...needs } of DOWNLOADERS) {
  testUnderShells(`${name} gets the newest release, or one by version`, async (user) => {
    const path = `/download/v0.3.0/${ASSET}`;
    await using server = serveReleases({ ...redirect(path), ...await release(path) });
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
    const direct = await user.install(["--from", `${server.url}${path}`]);
    assertStringIncludes(direct.stdout, "Installed claude-print 0.3.0 again");
  }, { ...needs, once: true });

  testUnderShells(`${name} leaves nothing of a failed download`, async (user) => {
    const control = /[^\n -~]/u;
    const cases: readonly (readonly [sum: Answer, program: Answer, RegExp])[] = [
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

  // The shell's part depends on the signal, the downloader's does not.
  for (const [signal, expected] of name === "curl" ? INTERRUPTIONS : INTERRUPTIONS.slice(0, 1)) {
    testUnderShells(`${name} leaves nothing after ${signal}`, async (user) => {
      await using server = serveReleases(await release(LATEST, { stallsIn: PROGRAM }));
      const { child, ended } = user.start([], { env: { CLAUDE_PRINT_RELEASES: server.url } });
      await Promise.race([server.stalled, ended]);
      child.kill(signal);
      const { code, stderr } = await ended;
      assertEquals(code, expected);
      assertStringIncludes(stderr, "install.sh: Interrupted: nothing was changed\n");
      await assertNothingDone(user);
    }, { ...needs, lack: needs.lack ?? ignoredSignalLack(signal), once: name !== "curl" });
  }
}

/** Makes a certificate for loopback that curl and wget trust. */
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
      ...redirect(path),
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
    lack: missingTool(tool) ?? missingTool("openssl"),
    once: true,
  });
}

testUnderShells("without a safe downloader --from is advised", async (user) => {
  const none = await user.install([]);
  assertEquals(none.code, 1);
  assertMatch(none.stderr, /there is neither curl nor wget on PATH\n.*and use --from <file>\n$/);
  await Deno.writeTextFile(`${user.tools}/wget`, "#!/bin/sh\necho BusyBox; exit 9\n", {
    mode: 0o755,
  });
  const { code, stderr } = await user.install([]);
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /^install\.sh: Cannot download: this wget, .* does not check who it talks to\n.*--from <file>\n$/u,
  );
  await assertNothingDone(user);
}, { otherTools: true, once: true });
