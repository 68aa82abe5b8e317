import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { findTool, missingTool } from "../../missing_tool.ts";
import { MOUNT_LACK } from "../../program/mount_lack.ts";
import { fakeProgram, type InstallOptions, type Newcomer, sha256 } from "./newcomer.ts";
import { serveReleases } from "./release_server.ts";
import { testUnderShells } from "./test_under_shells.ts";

const OLD = fakeProgram({ version: "0.1.0" });
const NEW = fakeProgram({ version: "0.2.0" });

/** Makes an installer the leader of a process group, which the test can kill. */
const SETSID = findTool("setsid") ?? "";

/** Temporary folders of installers. */
async function underWay(user: Newcomer): Promise<readonly string[]> {
  return Object.keys(await user.tree()).filter((path) =>
    /\.claude-print-install\.[^/]+\/?$/.test(path)
  );
}

/** Whether what is on record is what is there. */
async function assertOnRecord(user: Newcomer, text: string): Promise<void> {
  const tree = await user.tree();
  assertEquals(tree[".local/bin/claude-print"], `755 ${text}`);
  const record = tree[".local/share/claude-print/installed"] ?? "";
  assertStringIncludes(record, `${await sha256(text)} ${user.target}\n`);
}

/** A tool that kills the installer, and all it started, before it would do its work for the nth time. */
function deadly(tool: string): string {
  return `echo >>"$JOURNAL"
    [ "$(/usr/bin/wc -l <"$JOURNAL")" -ne "$KILL_AT" ] || kill -9 0
    exec ${findTool(tool)} "$@"`;
}

testUnderShells(
  "a killed upgrade can be repeated or undone",
  async (user) => {
    const [old, fresh] = [await user.release(OLD, "old"), await user.release(NEW, "new")];
    const env = { JOURNAL: `${user.path}/journal`, KILL_AT: "0" };
    const before = await user.tree();
    let moment = 1;
    for (let killed = true; killed; moment++) {
      await Deno.writeTextFile(env.JOURNAL, "");
      assertEquals((await user.install(["--from", old], { env })).code, 0);
      await Deno.writeTextFile(env.JOURNAL, "");
      const { code } = await user.install(["--from", fresh], {
        env: { ...env, KILL_AT: `${moment}` },
        wrap: [SETSID],
      });
      killed = code !== 0;
      const { [".local/bin/claude-print"]: now } = await user.tree();
      await assertOnRecord(user, now === `755 ${OLD}` && killed ? OLD : NEW);
      // Every other time without a second try.
      if (moment % 2 === 0) {
        assertEquals((await user.install(["--from", fresh], { env })).code, 0);
        assertEquals(await underWay(user), []);
        await assertOnRecord(user, NEW);
      }
      assertEquals((await user.install(["--uninstall"], { env })).code, 0);
      assertEquals(await user.tree(), before, `${moment}`);
    }
    assert(moment > 10, `${moment}`);
  },
  {
    newcomer: {
      folders: [".local/bin", ".local/share/claude-print", ".zfunc"],
      scripts: { cp: deadly("cp"), mv: deadly("mv") },
    },
    lack: missingTool("setsid"),
    otherTools: true,
    once: true,
  },
);

/** Runs the installer where there is no /proc. */
const WITHOUT_PROC: InstallOptions = {
  wrap: ["unshare", "-rm", "/bin/sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"],
  env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
};

const PLACES: readonly (readonly [string, InstallOptions])[] = [
  ["", {}],
  [" where there is no /proc", WITHOUT_PROC],
];

for (const [where, options] of PLACES) {
  testUnderShells(
    `files of a running installer stay until it is killed${where}`,
    async (user) => {
      const file = await user.release(OLD);
      const strange = ["4194999.7.elsewhere-1", "4194999.7", "x.7.here"]
        .map((name) => `.local/bin/.claude-print-install.${name}/`);
      for (const name of strange) await Deno.mkdir(`${user.home}/${name}`, { recursive: true });
      await using server = serveReleases({
        "/claude-print": { stallsIn: NEW },
        "/claude-print.sha256": { text: `${await sha256(NEW)}\n` },
      });
      const wrap = [SETSID, ...options.wrap ?? []];
      const first = user.start(["--from", `${server.url}/claude-print`], { ...options, wrap });
      await Promise.race([server.stalled, first.ended]);
      const live = await underWay(user);
      assertEquals(live.length, strange.length + 1);
      assertEquals((await user.install(["--from", file], options)).code, 0);
      assertEquals(await underWay(user), live);
      // With what it started, which would hold its stderr open.
      Deno.kill(-first.child.pid, "SIGKILL");
      assertEquals((await first.ended).code, 137);
      assertEquals((await user.install(["--uninstall"], options)).code, 0);
      assertEquals((await underWay(user)).toSorted(), strange.toSorted());
    },
    {
      newcomer: { tools: ["curl"] },
      lack: missingTool("curl") ??
        (where === "" ? undefined : MOUNT_LACK),
    },
  );
}

testUnderShells("two installers at once leave one program and record", async (user) => {
  const before = await user.tree();
  const runs = [
    user.install(["--from", await user.release(OLD, "old"), "--version", "0.1.0"]),
    user.install(["--from", await user.release(NEW, "new"), "--version", "0.2.0"]),
  ];
  for (const { code, stderr } of await Promise.all(runs)) assertEquals(code, 0, stderr);
  assertEquals(await underWay(user), []);
  const { [".local/bin/claude-print"]: now = "" } = await user.tree();
  await assertOnRecord(user, now === `755 ${OLD}` ? OLD : NEW);
  assertEquals((await user.install(["--uninstall"])).code, 0);
  assertEquals(await user.tree(), before);
}, { newcomer: { folders: [".zfunc", ".local/bin", ".local/share"] }, once: true });
