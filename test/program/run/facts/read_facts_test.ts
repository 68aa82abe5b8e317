import { OLDEST_VERSION } from "../../../../src/claude/versions/compare_versions.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { makeThrowawayHome, type ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { readFacts } from "../../../../src/run/facts/read_facts.ts";
import type { RunOrder } from "../../../../src/run/plan/run_order.ts";
import { parentOf } from "../../../../src/paths.ts";
import { writeScript } from "../../../write_script.ts";
import { PLAIN_ORDER } from "../../../run/plain_order.ts";
import { saysVersion } from "../../claude/program/fake_npm.ts";
import { writeFiles } from "../../../write_files.ts";

const VERSION = OLDEST_VERSION;
const NEWER = "2.1.332";
/** A path that tells the version. */
const INSTALLED = `versions/${NEWER}`;

/** An order in a home of its own, with a Claude Code that notes each request for its version. */
async function ordered(
  home: ThrowawayHome,
  more: Partial<RunOrder> = {},
  name = INSTALLED,
): Promise<RunOrder> {
  const claudeBinary = `${home.path}/${name}`;
  await Deno.mkdir(parentOf(claudeBinary), { recursive: true });
  const script = `#!/bin/sh\necho asked >> '${home.path}/asked'\necho '${VERSION} (Claude Code)'\n`;
  await writeScript(claudeBinary, script);
  return { ...PLAIN_ORDER, env: home.env, cwd: home.project, claudeBinary, ...more };
}

async function timesAsked(home: ThrowawayHome): Promise<number> {
  const text = await Deno.readTextFile(`${home.path}/asked`).catch(() => "");
  return text.split("\n").length - 1;
}

const naming = (defaultMode: string) => ({ permissions: { defaultMode } });

Deno.test("the version is asked once unless the path names it", async () => {
  for (const more of [{}, { prompt: "ümlaut" }, { altered: "a tab" }]) {
    for (const [name, version, times] of [["claude", VERSION, 1], [INSTALLED, NEWER, 0]] as const) {
      await using home = await makeThrowawayHome();
      const facts = await readFacts(await ordered(home, more, name));
      assertEquals([facts.version, await timesAsked(home)], [version, times]);
    }
  }
});

Deno.test("a version that is too old is refused first", async () => {
  await using home = await makeThrowawayHome({ loggedIn: false });
  const order = await ordered(home, { settings: "{" }, "claude");
  await writeScript(`${order.claudeBinary}`, saysVersion("2.1.197"));
  await assertRejects(() => readFacts(order), CliError, "Claude Code 2.1.197 is too old");
});

Deno.test("a flag that the version lacks is refused", async () => {
  await using home = await makeThrowawayHome();
  for (const flag of ["--fast-mode", "--include-unsupported-models"]) {
    const order = await ordered(home, { forwarded: ["--model=opus", flag] }, "claude");
    const refusal = `Cannot honour ${flag}: Claude Code ${VERSION} lacks it`;
    await assertRejects(() => readFacts(order), CliError, refusal);
    await readFacts(order, { version: NEWER });
  }
});

Deno.test("settings come from --setting-sources and the caller", async () => {
  await using home = await makeThrowawayHome();
  const { config, project } = home;
  await writeFiles(config, { "settings.json": naming("plan") });
  await writeFiles(project, { ".claude/settings.json": naming("acceptEdits") });
  await writeFiles(home.path, { "caller.json": { model: "opus" } });
  const sourcesOf = async (more: Partial<RunOrder>) => {
    const { settings, callerSettings } = await readFacts(await ordered(home, more));
    return [settings.map(({ source }) => source), callerSettings];
  };
  assertEquals(await sourcesOf({}), [["user", "project", "flags"], {}]);
  assertEquals(await sourcesOf({ settingSources: "user", settings: "../caller.json" }), [
    ["user", "flags"],
    { model: "opus" },
  ]);
});

Deno.test("folders are named without links", async () => {
  await using home = await makeThrowawayHome();
  const { path, project } = home;
  for (const dir of [`${project}/.git`, `${project}/inner`, `${path}/added`]) Deno.mkdirSync(dir);
  Deno.symlinkSync(`${path}/added`, `${path}/link`);
  const { root, folders, writable, mcpServers, scheduledTasks } = await readFacts(
    await ordered(home, { cwd: `${project}/inner`, addDirs: ["../../link", "missing"] }),
  );
  const added = [`${path}/added`, `${project}/inner/missing`];
  assertEquals(root, project);
  assertEquals(folders, [`${project}/inner`, project, ...added]);
  assertEquals(writable, [`${project}/inner`, ...added]);
  assertEquals([mcpServers, scheduledTasks], [[], false]);
});

Deno.test("files of --add-dir are named for text output", async () => {
  const named = async (more: Partial<RunOrder>) => {
    await using home = await makeThrowawayHome();
    await Deno.writeTextFile(`${home.project}/f.txt`, "");
    const { addedFiles } = await readFacts(await ordered(home, more));
    return addedFiles?.map(({ path, parent }) => [path, parent.replace(home.project, "here")]);
  };
  const files = ["f.txt", "../project/./f.txt", "/etc/hosts"];
  const told = files.map((file) => [file, file === "/etc/hosts" ? "/etc" : "here"]);
  const addDirs = [".", "missing", ...files, "f.txt/x"];
  assertEquals(await named({ addDirs: [".", "missing"], answerAlone: true }), undefined);
  assertEquals(await named({ addDirs, answerAlone: true }), told);
  assertEquals(await named({ addDirs }), undefined);
});

Deno.test("--project-config-root replaces the project's settings, servers and agents", async () => {
  await using home = await makeThrowawayHome();
  const { path, project } = home;
  const server = (name: string) => ({
    mcpServers: { [name]: { command: "x" }, both: { command: name } },
  });
  const dirs = { here: `${project}/sub`, conf: `${path}/up/conf`, up: `${path}/up` };
  for (const [name, dir] of Object.entries(dirs)) {
    await writeFiles(dir, {
      ".claude/settings.json": naming("plan"),
      ".claude/settings.local.json": {
        sandbox: { filesystem: { allowWrite: ["out"] } },
        permissions: { additionalDirectories: ["added"] },
      },
      ".claude/scheduled_tasks.json": {},
      ".claude/agents/a.md": `---\nname: ${name}\n---\n`,
      ".mcp.json": server(name),
      "AGENTS.md": name,
    });
  }
  for (const dir of [project, `${path}/up`]) Deno.mkdirSync(`${dir}/.git`);
  Deno.symlinkSync(`${path}/up`, `${path}/link`);
  const agent = { description: "d", prompt: "p" };
  const longAgents = { here: agent, conf: agent, up: agent };
  const order = await ordered(home, {
    cwd: `${project}/sub`,
    projectConfigRoot: `${path}/link/conf`,
    initialized: { id: "1", callbacks: [], servers: [], longAgents, skills: [] },
  });
  const facts = await readFacts(order);
  const { documents, mcpServers, callerAgents, writable, root, folders, scheduledTasks } = facts;
  const named = (paths: readonly string[]) => paths.map((each) => each.replace(`${path}/`, ""));
  assertEquals(named([facts.projectRoot, root, ...folders]), [
    ...["up/conf", "project", "project/sub", "project"],
  ]);
  assertEquals(named(documents.map(({ name }) => name)), [
    ...["up/conf/.claude/settings.json", "up/conf/.claude/settings.local.json", "--settings"],
  ]);
  assertEquals(mcpServers.map(({ name, config }) => [name, config]), [
    ["up", { command: "x" }],
    ["both", { command: "conf" }],
    ["conf", { command: "x" }],
  ]);
  // Those of the same names as agents in files stay on the command line.
  assertEquals(callerAgents?.agents.args, [
    `--agents=${JSON.stringify({ conf: agent, up: agent })}`,
  ]);
  assertEquals(named(writable), [
    ...["project/sub", "project/sub/added", "project/sub/out", "up/conf/out"],
  ]);
  assertEquals([scheduledTasks, facts.instructions.agents], [false, true]);
});

Deno.test("sandbox paths are relative to their settings file", async () => {
  await using home = await makeThrowawayHome();
  const { path, project } = home;
  const opening = (...allowWrite: readonly string[]) => ({
    sandbox: { filesystem: { allowWrite } },
  });
  await writeFiles(home.config, { "settings.json": opening("..", "../../u") });
  await writeFiles(path, { "given/s.json": opening("../f") });
  const opened = async (more: Partial<RunOrder>) => {
    const { callerSettings, settings, writable } = await readFacts(await ordered(home, more));
    const user = settings.find(({ source }) => source === "user")?.values;
    return [user, callerSettings, writable];
  };
  const above = path.slice(0, path.lastIndexOf("/"));
  const user = opening(path, `${above}/u`);
  assertEquals(await opened({ settings: `${path}/given/s.json` }), [
    ...[user, opening(`${path}/f`), [project, path, `${above}/u`, `${path}/f`]],
  ]);
  for (const where of [{ settings: JSON.stringify(opening("../i")) }, {}]) {
    const flagSettings = "settings" in where ? undefined : opening("../i");
    const more = { ...where, ...(flagSettings === undefined ? {} : { flagSettings }) };
    assertEquals(await opened(more), [
      ...[user, opening(`${path}/i`), [project, path, `${above}/u`, `${path}/i`]],
    ]);
  }
});

Deno.test("an invalid --project-config-root is refused", async () => {
  await using home = await makeThrowawayHome();
  await Deno.writeTextFile(`${home.path}/file`, "");
  const wrong = {
    "project": "is not an absolute local path",
    "": "is not an absolute local path",
    "//machine/share": "is not an absolute local path",
    [`${home.path}/file`]: "is not a folder that you can list",
    [`${home.path}/missing`]: "is not a folder that you can list",
  };
  for (const [projectConfigRoot, why] of Object.entries(wrong)) {
    const order = await ordered(home, { projectConfigRoot });
    await assertRejects(() => readFacts(order), CliError, why);
  }
});

Deno.test("the time left counts from the run's start", async () => {
  await using home = await makeThrowawayHome();
  const leftOf = async (more: Partial<RunOrder>) =>
    (await readFacts(await ordered(home, more))).timeLeftMs;
  assertEquals(await leftOf({ startedAt: performance.now() - 100_000 }), 0);
  const startedAt = performance.now() + 1e9;
  assertEquals(await leftOf({ startedAt }) > 9e8, true);
});

Deno.test("of several mistakes the first to mend is reported", async () => {
  await using home = await makeThrowawayHome({ loggedIn: false });
  const claude = `${home.path}/claude`;
  const silenced = JSON.stringify({ enabledPlugins: { p: true } });
  await writeFiles(home.project, { ".claude/settings.json": { disableAllHooks: true } });
  const wrong = { settings: silenced, prompt: "/insights", claudeBinary: `${home.path}/none` };
  const refusal = async (more: Partial<RunOrder>) => {
    const order = await ordered(home, { ...wrong, ...more }, "claude");
    return (await assertRejects(() => readFacts(order), Error)).message;
  };
  const begins = async (more: Partial<RunOrder>, text: string) =>
    assertEquals((await refusal(more)).slice(0, text.length), text);
  await begins({}, "Cannot start claude");
  await begins({ claudeBinary: claude, settings: "{" }, "Cannot parse --settings");
  await begins({ claudeBinary: claude }, 'Cannot honour "disableAllHooks" together with plugins');
  await begins({ claudeBinary: claude, settings: "{}" }, "Cannot log in to Claude");
  const env = { ...home.env, ANTHROPIC_API_KEY: "key" };
  await begins({ claudeBinary: claude, settings: "{}", env }, 'Cannot send "/insights"');
});

Deno.test("--enable-auth-status is refused where settings renew a login", async () => {
  await using home = await makeThrowawayHome();
  const order = await ordered(home, { authStatus: true });
  await readFacts(order);
  const settings = { awsAuthRefresh: "aws sso login" };
  await writeFiles(home.project, { ".claude/settings.json": settings });
  await readFacts({ ...order, authStatus: false });
  await assertRejects(
    async () => await readFacts(order),
    CliError,
    'Cannot honour --enable-auth-status with "awsAuthRefresh" in settings: ',
  );
});

Deno.test("invalid agents and schemas are refused", async () => {
  await using home = await makeThrowawayHome();
  const no = async (more: Partial<RunOrder>) => {
    const read = readFacts(await ordered(home, more));
    return await read.then(({ output }) => output, ({ message }: Error) => message);
  };
  for (const agents of ["[]", "agents.json", ' "{"']) {
    const forwarded = ["--agents={}", `--agents=${agents}`];
    const refusal = "Cannot honour --agents: ";
    assertEquals(`${await no({ forwarded })}`.slice(0, refusal.length), refusal);
  }
  for (const agents of [' {"a":1}', "", "{"]) {
    assertEquals(await no({ forwarded: [`--agents=${agents}`] }), undefined);
  }
  assertEquals(
    `${await no({ jsonSchema: '{"type":"nonesuch"}' })}`.split(": ")[1],
    "--json-schema is not a valid JSON Schema",
  );
  assertEquals(await no({ jsonSchema: "[]" }), "Error: --json-schema must be a JSON object");
});
