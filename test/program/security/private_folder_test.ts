import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StandIn } from "../stand_in.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { asAnotherUser, OTHER_USER_LACK } from "../../other_user.ts";
import { inShell } from "../../in_shell.ts";

/** Not the words of any other program on the machine. */
const PROMPT = `the prompt ${crypto.randomUUID()}, which is nobody else's business`;

/** A run in a TMPDIR that everybody can enter, held while its prompt is being answered. */
async function heldRun(claude: StandIn, args: readonly string[] = []) {
  const { path, tmp, config } = claude.home;
  await Deno.chmod(path, 0o755);
  await Deno.chmod(tmp, 0o1777);
  await Deno.writeTextFile(`${config}/settings.json`, "{}");
  const run = claude.start(args, {
    stdin: PROMPT,
    // A umask hides nothing here, so every mode has to be asked for.
    wrap: inShell('umask 000; exec "$@"'),
  });
  await claude.untilNoted("prompt");
  const [start] = await claude.journal("start");
  const folder = (start?.env["CLAUDE_CONFIG_DIR"] ?? "").replace(/\/\.claude$/u, "");
  const end = async () => {
    run.kill("SIGTERM");
    assertEquals((await run.ended).code, 143);
  };
  return { folder, end, pid: run.pid, childPid: start?.pid ?? 0 };
}

const mode = (path: string) => ((Deno.lstatSync(path).mode ?? 0) & 0o7777).toString(8);

Deno.test("files of a run are private, whatever the umask", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const { folder, end } = await heldRun(claude);
  const modesIn = (path: string) =>
    Object.fromEntries(
      [...Deno.readDirSync(path)].map(({ name }) => [name, mode(`${path}/${name}`)]),
    );
  assertEquals([mode(`${folder}/..`), mode(folder)], ["700", "700"]);
  assertEquals(modesIn(folder), { ".claude": "700", "own": "700", "tmp": "700" });
  assertEquals(modesIn(`${folder}/own`), {
    "hook": "600",
    "hooks.fifo": "600",
    "owner.json": "600",
    "payloads": "700",
    "prompt": "600",
    "settings.json": "600",
  });
  for (const name of [".claude.json", "settings.json"]) {
    assertEquals(mode(`${folder}/.claude/${name}`), "600", name);
  }
  await end();
  const { config } = claude.home;
  for (const path of [...claude.transcripts().keys()]) {
    assertEquals(mode(`${config}/projects/${path}`), "600");
    assertEquals(mode(`${config}/projects/${path.split("/")[0]}`), "700");
  }
});

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "another user cannot reach the private folder",
  fn: async () => {
    await using claude = await StandIn.set({ hang: "prompt" });
    const { folder, end, pid, childPid } = await heldRun(claude);
    const shell = (script: string) =>
      asAnotherUser(["/bin/sh", "-c", script, "sh", folder, claude.home.tmp]);
    assertEquals((await shell(': > "$2/x" && rm "$2/x"')).code, 0, "TMPDIR is theirs too");
    const attempts = [
      ...['ls "$1"', 'cat "$1/own/hook"', 'cat "$1/own/prompt"', 'cat "$1/.claude/.claude.json"'],
      ...[
        'cat "$1/own/settings.json"',
        'echo x 1<> "$1/own/hooks.fifo"',
        ': > "$1/own/payloads/1"',
      ],
      ...['ln -s / "$1/.claude/projects"', 'rm -rf "$1"', 'mv "$1" "$1.x"', 'chmod 777 "$1"'],
      ...[`cat /proc/${pid}/environ`, `cat /proc/${childPid}/environ`, `ls /proc/${pid}/fd`],
      ...[`cat < /proc/${childPid}/fd/0`, `kill ${pid}`, `kill ${childPid}`],
    ];
    for (const attempt of attempts) {
      const { code, output } = await shell(attempt);
      assert(code !== 0, `${attempt}: ${output}`);
    }
    const secret = /'([0-9a-f-]{36})'/u.exec(await Deno.readTextFile(`${folder}/own/hook`))?.[1] ??
      "?";
    const { output } = await shell("cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm | tr '\\0' ' '");
    assertStringIncludes(output, folder);
    assert(!output.includes(secret), "the secret is on a command line");
    assert(!output.includes(PROMPT), "the prompt is on a command line");
    await end();
  },
}));

Deno.test("the child's command line has no caller texts", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const [system, append, servers, settings] = ["system", "append", "servers", "settings"]
    .map((name) => `${name} ${crypto.randomUUID()}`);
  const { end, pid, childPid } = await heldRun(claude, [
    ...["--system-prompt", `${system}`, "--append-system-prompt", `${append}`],
    ...["--mcp-config", JSON.stringify({ mcpServers: {}, servers })],
    ...["--settings", JSON.stringify({ env: { settings } })],
  ]);
  const seen = (pid: number) => {
    const line = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
    return [system, append, servers, settings].map((text) => line.includes(`${text}`));
  };
  assertEquals(seen(pid), [true, true, true, true]);
  assertEquals(seen(childPid), [false, false, false, false]);
  await end();
});

Deno.test("TMPDIR may be a link", async () => {
  await using claude = await StandIn.set();
  const { path, tmp } = claude.home;
  await Deno.symlink(tmp, `${path}/link`);
  const run = await claude.printInProcess(["hello"], { env: { TMPDIR: `${path}/link` } });
  assertEquals([run.stderr, run.code], ["", 0]);
  const [start] = await claude.journal("start");
  assert(start?.env["CLAUDE_CONFIG_DIR"]?.startsWith(`${tmp}/claude-print-`));
});

Deno.test({
  name: "TMPDIR may be relative",
  // The runtime of an executable refuses it: "Could not convert path to URL".
  ignore: (Deno.env.get("CLAUDE_PRINT") ?? "") !== "",
  fn: async () => {
    await using claude = await StandIn.set();
    const run = await claude.print(["hello"], { env: { TMPDIR: "../tmp" } });
    assertEquals([run.stderr, run.code], ["", 0]);
  },
});

Deno.test("a TMPDIR without sticky bit is refused", async () => {
  await using claude = await StandIn.set();
  const { path, tmp } = claude.home;
  await Deno.chmod(path, 0o755);
  await Deno.chmod(tmp, 0o777);
  const run = await claude.printInProcess(["hello"]);
  assertEquals(run.code, 2);
  assertStringIncludes(run.stderr, `every user can rename what is in ${tmp}\n`);
  assertStringIncludes(run.stderr, `chmod +t ${tmp}`);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("planted links in TMPDIR are not followed", async () => {
  await using claude = await StandIn.set();
  const { path, tmp } = claude.home;
  const precious = `${path}/precious`;
  await Deno.mkdir(precious);
  await Deno.writeTextFile(`${precious}/file`, "mine");
  const runs = `${tmp}/claude-print-${Deno.uid()}`;
  await Deno.mkdir(runs, { mode: 0o700 });
  const planted = `${runs}/4000000-1-0123abcd`;
  await Deno.symlink(precious, planted);
  const run = claude.start(["hello"], { killed: true });
  assertEquals((await run.ended).code, 0);
  assertEquals(await Deno.readLink(planted), precious);
  assertEquals(await Deno.readTextFile(`${precious}/file`), "mine");
});
