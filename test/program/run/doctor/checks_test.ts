import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { OLDEST_VERSION } from "../../../../src/claude/versions/compare_versions.ts";
import { PROFILED_VERSIONS } from "../../../../src/claude/versions/profiles.ts";
import {
  apiCheck,
  claudeCheck,
  loginCheck,
  readUserSetup,
} from "../../../../src/run/doctor/claude_checks.ts";
import {
  fifoCheck,
  leftoversCheck,
  libcCheck,
  platformCheck,
  ptyCheck,
} from "../../../../src/run/doctor/system_checks.ts";
import type { Login } from "../../../../src/sandbox/user_config.ts";
import type { SweepVerdict } from "../../../../src/sandbox/folder/sweep.ts";
import { MISSING, NOWHERE } from "../../../nowhere.ts";
import { tempFolder } from "../../../temp_folder.ts";
import { saysVersion } from "../../claude/program/fake_npm.ts";
import { writeScript } from "../../../write_script.ts";

const NEVER = new AbortController().signal;

/** A server on loopback, and its requests. */
function serve(answer: () => Response | Promise<Response>) {
  const requests: { method: string; url: string; authorization: string | null }[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ method, url, headers }) => {
      requests.push({ method, url, authorization: headers.get("authorization") });
      return answer();
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { requests, url, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("an API that answers with any status is reachable", async () => {
  for (const status of [200, 302, 401, 404, 500]) {
    const headers = { location: "http://127.0.0.1:1/" };
    await using server = serve(() => new Response(null, { status, headers }));
    const { url } = server;
    const { ok, detail, data } = await apiCheck({ baseUrl: `${url}/prefix`, stop: NEVER });
    assertEquals([ok, data["url"], data["status"]], [true, url, status]);
    assertMatch(detail, new RegExp(`^${url} answers \\(${status}\\), \\d+ ms$`));
    assertEquals(server.requests, [{ method: "HEAD", url: `${url}/prefix`, authorization: null }]);
  }
});

Deno.test("an unreachable API is reported without secrets", async () => {
  // Port 2 is below those that systems give out.
  const unreachable = "http://user:secret@127.0.0.1:2/secret?key=secret";
  const rows = [
    [unreachable, "Cannot reach http://127.0.0.1:2: Connection refused"],
    ...["secret", "ftp://secret/", "secret:443"].map((none) =>
      [none, "ANTHROPIC_BASE_URL is no URL of the web"] as const
    ),
  ] as const;
  for (const [baseUrl, detail] of rows) {
    const check = await apiCheck({ baseUrl, stop: NEVER });
    assertEquals(check.ok, false);
    assertStringIncludes(check.detail, detail);
    assertEquals(JSON.stringify(check).includes("secret"), false);
    if (baseUrl === unreachable) assertStringIncludes(check.suggestion ?? "", "--offline");
  }
});

Deno.test("a stop ends the check of the API", async () => {
  const stop = new AbortController();
  const answered = Promise.withResolvers<Response>();
  await using server = serve(() => {
    stop.abort();
    return answered.promise;
  });
  const { ok, skipped, detail } = await apiCheck({ baseUrl: server.url, stop: stop.signal });
  answered.resolve(new Response());
  assertEquals([ok, skipped, detail], [true, true, "interrupted"]);
});

Deno.test("a version is supported, new, or too old", async () => {
  const newest = PROFILED_VERSIONS.at(-1) ?? "";
  const isNewer = `newer than the newest known version (${newest})`;
  const tooOld = `is too old: claude-print needs ${OLDEST_VERSION}`;
  const rows: readonly (readonly [string, boolean, string, string?])[] = [
    [OLDEST_VERSION, true, OLDEST_VERSION],
    ["2.1.299", true, "2.1.299 in "],
    [newest, true, newest],
    ...["97.0.0", "97.1.0-beta.1"].map((version) =>
      [version, true, isNewer, "claude-print learn"] as const
    ),
    ...["2.1.284", "2.0.999", "1.9.999", "2.1.99-beta.1"].map((version) =>
      [version, false, `${version} ${tooOld}`, "claude update"] as const
    ),
  ];
  using temp = tempFolder();
  const cwd = temp.path;
  for (const [index, [version, isOk, told, advice]] of rows.entries()) {
    const named = `${cwd}/claude-${index}`;
    await writeScript(named, saysVersion(version));
    const { ok, detail, suggestion } = await claudeCheck({ named, env: {}, cwd });
    assertEquals(ok, isOk, version);
    assertStringIncludes(detail, told);
    if (advice === undefined) assertEquals(suggestion, undefined, version);
    else assertStringIncludes(suggestion ?? "", advice);
  }
  const other = `${cwd}/other`;
  await writeScript(other, "#!/bin/sh\necho 2.1.330\n");
  const { ok, detail, suggestion } = await claudeCheck({ named: other, env: {}, cwd });
  assertEquals([ok, detail], [false, `Cannot use "${other}": it is not Claude Code`]);
  assertStringIncludes(suggestion ?? "", "--claude-binary");
});

Deno.test("a run needs a writable folder, which stays empty", async () => {
  using temp = tempFolder();
  const tmp = temp.path;
  const { ok, detail, data } = await fifoCheck(tmp);
  assertEquals(ok, true, detail);
  assertStringIncludes(detail, `works in ${tmp}, `);
  assertEquals(typeof data["free_bytes"], "number");
  assertEquals([...Deno.readDirSync(tmp)], []);
  for (const wrong of [NOWHERE, MISSING, "/dev/null", "/sys"]) {
    const { ok, suggestion } = await fifoCheck(wrong);
    assertEquals(ok, false, wrong);
    assertStringIncludes(suggestion ?? "", "Set TMPDIR");
  }
});

Deno.test("a shell runs in a pseudo-terminal", async () => {
  const { ok, detail } = await ptyCheck();
  assertEquals(ok, true, detail);
  assertMatch(detail, /^a shell ran in \/dev\/pts\/\d+, \d+ ms$/);
});

Deno.test("leftovers of dead runs are named", () => {
  const check = (...swept: readonly (readonly [string, SweepVerdict])[]) =>
    leftoversCheck({
      swept: swept.map(([path, verdict]) => ({ path, verdict, reason: "a reason", rescued: 0 })),
      places: ["/tmp", "/var/tmp"],
    });
  const others = check(["/tmp/a", "live"], ["/tmp/b", "foreign"]);
  assertEquals([others.ok, others.detail], [true, "none in /tmp, /var/tmp"]);
  assertEquals([others.data["live"], others.data["foreign"]], [["/tmp/a"], ["/tmp/b"]]);
  const one = check(["/tmp/a", "abandoned"], ["/tmp/b", "live"]);
  assertEquals([one.ok, one.detail, one.suggestion], [
    false,
    "A run left /tmp/a",
    "Bring transcripts home and remove what is left: claude-print sweep",
  ]);
  const three = check(["/a", "abandoned"], ["/b", "abandoned"], ["/c", "abandoned"]);
  assertEquals(three.detail, "A run left /a and 2 more");
  assertEquals(three.data["abandoned"], ["/a", "/b", "/c"]);
  const kept = check(["/tmp/a", "kept"]);
  assertEquals([kept.ok, kept.detail], [false, "Cannot sweep /tmp/a: a reason"]);
});

const NOW = Date.UTC(2026, 10, 22);
const HOUR = 3_600_000;

function stored(login: Partial<Extract<Login, { kind: "stored" }>>): Login {
  return {
    kind: "stored",
    subscription: "max",
    expiresAt: NOW + 3 * HOUR,
    refreshable: true,
    refreshableUntil: undefined,
    ...login,
  };
}

Deno.test("a login is valid, refreshable, expired or missing", () => {
  const refreshed = "max subscription, expired: Claude Code refreshes it in the next run";
  const expired = "Cannot log in to Claude: the login expired 2 days ago";
  const past = { expiresAt: NOW - 50 * HOUR };
  const rows: readonly (readonly [Login | undefined, boolean, string])[] = [
    [stored({}), true, "max subscription, expires in 3 h"],
    [stored({ expiresAt: NOW - 1 }), true, refreshed],
    [stored({ expiresAt: NOW - 1, refreshableUntil: NOW + 1 }), true, refreshed],
    [stored({ ...past, refreshable: false }), false, expired],
    [stored({ ...past, refreshableUntil: NOW - HOUR }), false, expired],
    [stored({ subscription: undefined, expiresAt: undefined }), true, "stored"],
    [undefined, false, "Cannot log in to Claude: there is no login in /login"],
  ];
  const userConfig = { dir: "/config", claudeJson: "/config/.claude.json", loginDir: "/login" };
  const verdict = (login: Login | undefined) => loginCheck({ login, userConfig }, NOW);
  for (const [login, isOk, told] of rows) {
    const { ok, detail, suggestion } = verdict(login);
    assertEquals([ok, detail], [isOk, told]);
    if (!ok) assertStringIncludes(suggestion ?? "", "claude /login");
  }
  assertEquals(verdict(stored({})).data, {
    source: "claude /login",
    subscription: "max",
    expires_at: "2026-11-22T03:00:00.000Z",
    refreshable: true,
    refreshable_until: null,
  });
  // No calendar has this date.
  assertEquals(verdict(stored({ expiresAt: Number.MAX_VALUE })).data["expires_at"], null);
  const sources: readonly (readonly [Login, string])[] = [
    [{ kind: "variable", name: "ANTHROPIC_API_KEY" }, "ANTHROPIC_API_KEY"],
    [{ kind: "helper" }, "apiKeyHelper"],
    [{ kind: "key" }, "stored key"],
  ];
  for (const [login, source] of sources) {
    const { ok, data } = verdict(login);
    assertEquals([ok, data], [true, { source }]);
  }
});

Deno.test("login and API are found where a run finds them", async () => {
  await using home = await makeThrowawayHome({ apiUrl: "http://127.0.0.1:1", expiresAt: 5 });
  const read = async () => await readUserSetup({ env: home.env, cwd: home.project });
  const { userConfig, login, baseUrl } = await read();
  assertEquals([userConfig.dir, login?.kind, baseUrl], [
    home.config,
    "stored",
    "http://127.0.0.1:1",
  ]);
  const env = { ANTHROPIC_BASE_URL: "http://127.0.0.1:2", ANTHROPIC_AUTH_TOKEN: "token" };
  await Deno.writeTextFile(`${home.config}/settings.json`, JSON.stringify({ env }));
  const set = await read();
  assertEquals([set.baseUrl, set.login], [
    "http://127.0.0.1:2",
    { kind: "variable", name: "ANTHROPIC_AUTH_TOKEN" },
  ]);
  await using empty = await makeThrowawayHome({ loggedIn: false });
  const none = await readUserSetup({ env: empty.env, cwd: empty.project });
  assertEquals([none.login, none.baseUrl], [undefined, undefined]);
});

Deno.test("only x86_64 Linux with a new glibc is supported", () => {
  const good = { os: "linux", arch: "x86_64", env: "gnu", ffiPermission: "granted", glibc: "2.36" };
  const { ok, detail, data } = platformCheck(good);
  assertEquals([ok, detail], [true, "x86_64 Linux, glibc 2.36"]);
  assertEquals(data, { os: "linux", arch: "x86_64", glibc: "2.36" });
  const wrong = [
    [{ os: "darwin" }, "darwin on x86_64"],
    [{ arch: "aarch64" }, "Linux on aarch64"],
    [{ glibc: "2.31" }, "glibc 2.31"],
    [{ ffiPermission: "denied" }, 'permission is "denied"'],
  ] as const;
  for (const [part, found] of wrong) {
    const check = platformCheck({ ...good, ...part });
    assertEquals([check.ok, typeof check.suggestion], [false, "string"]);
    assertStringIncludes(check.detail, found);
  }
  const libc = (...missing: readonly string[]) =>
    libcCheck({ platform: good, functions: 30, missing });
  assertEquals([libc().ok, libc().data], [true, { functions: 30, missing: [] }]);
  const lacking = libc("eventfd", "poll");
  assertEquals([lacking.ok, lacking.detail], [
    false,
    "2 of 30 functions are missing: eventfd, poll",
  ]);
});
