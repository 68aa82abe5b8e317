import { assertEquals, assertRejects } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { judgeFor } from "../../../src/settings/judged_settings.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  parseCallerSettings,
  readingRules,
  runSettings,
} from "../../../src/sandbox/child/run_settings.ts";
import { NOWHERE } from "../../nowhere.ts";

const HERE = { cwd: "/" };

const OURS = {
  hooks: {},
  memoryPath: "/m/",
  outOfReach: ["/t/own", "/v"],
  readOnly: ["/t/cfg"],
  hidden: { folders: [], but: [] },
  asksCaller: true,
};

Deno.test("parseCallerSettings() reads JSON and files, comments allowed", async () => {
  const values = async (value: string) => (await parseCallerSettings(value, HERE)).values;
  assertEquals(judgeFor(await parseCallerSettings('{"model":"opus"}', HERE), "2.1.332"), {
    source: "flags",
    name: "--settings (inline JSON)",
    values: { model: "opus" },
    faults: [],
  });
  assertEquals(await values(' { /* why */ "model": "opus", }'), { model: "opus" });
  const file = await Deno.makeTempFile({ suffix: ".json" });
  assertEquals((await parseCallerSettings(file, HERE)).faults, []);
  await Deno.writeTextFile(file, '{"env":{"A":"1"}}');
  assertEquals(await values(file), { env: { A: "1" } });
  assertEquals(await values(file.slice(1)), { env: { A: "1" } });
  await Deno.remove(file);
});

Deno.test("parseCallerSettings() says what is wrong", async () => {
  await assertRejects(
    () => parseCallerSettings("{nonsense", HERE),
    CliError,
    "Cannot parse --settings",
  );
  await assertRejects(
    () => parseCallerSettings(NOWHERE, HERE),
    CliError,
    `Error: Settings file not found: ${NOWHERE}`,
  );
  const file = await Deno.makeTempFile();
  const said = async (value: string) =>
    judgeFor(await parseCallerSettings(value, HERE), "2.1.332").faults.map(({ path, message }) =>
      `${path}: ${message}`
    );
  await Deno.writeTextFile(file, "[1]");
  assertEquals(await said(file), [": Expected object, but received array"]);
  await Deno.writeTextFile(file, "{nonsense");
  assertEquals(await said(file), [": Invalid or malformed JSON"]);
  await Deno.remove(file);
  makeFifo(file);
  await assertRejects(
    () => parseCallerSettings(file, HERE),
    CliError,
    `Cannot read the settings file "${file}": it is no regular file`,
  );
  await Deno.remove(file);
  assertEquals(await said('{"permissions":null}'), [
    "permissions: Expected object, but received null",
  ]);
  for (const defaultMode of [null, "Plan"]) {
    assertEquals(
      await said(JSON.stringify({ disableAllHooks: true, permissions: { defaultMode } })),
      [
        'permissions.defaultMode: Invalid value. Expected one of: "acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"',
      ],
    );
  }
});

Deno.test("runSettings() adds our hooks to the caller's", () => {
  const ours = { Stop: [{ hooks: ["ours"] }], StopFailure: [{ hooks: ["ours"] }] };
  const caller = { model: "opus", hooks: { Stop: [{ hooks: ["theirs"] }], PreToolUse: ["p"] } };
  const merged = runSettings(caller, { ...OURS, hooks: ours });
  assertEquals(merged["model"], "opus");
  assertEquals(merged["hooks"], {
    Stop: [{ hooks: ["ours"] }, { hooks: ["theirs"] }],
    PreToolUse: ["p"],
    StopFailure: [{ hooks: ["ours"] }],
  });
  assertEquals(merged["disableAllHooks"], false);
});

Deno.test("runSettings() has no tips looked for, whatever the caller says", () => {
  for (const caller of [{}, { spinnerTipsOverride: { tips: [] }, spinnerTipsEnabled: true }]) {
    const { spinnerTipsEnabled, spinnerTipsOverride } = runSettings(caller, OURS);
    assertEquals(spinnerTipsEnabled, false);
    assertEquals(spinnerTipsOverride, { excludeDefault: true, tips: ["-"] });
  }
});

Deno.test("runSettings() starts the project's MCP servers as claude -p does, whatever the caller says", () => {
  for (const caller of [{}, { enableAllProjectMcpServers: false }]) {
    assertEquals(runSettings(caller, OURS)["enableAllProjectMcpServers"], true);
  }
});

Deno.test("runSettings() denies what only a person may allow unless the caller answers", () => {
  const denies = (asksCaller: boolean) => {
    const caller = { permissions: { denyInsteadOfPrompting: false, deny: ["Bash"] } };
    const { permissions } = runSettings(caller, { ...OURS, asksCaller });
    return (permissions as Record<string, unknown>)["denyInsteadOfPrompting"];
  };
  assertEquals(denies(false), true);
  assertEquals(denies(true), false);
});

Deno.test("runSettings() keeps memory in its place unless the caller names another", () => {
  assertEquals(runSettings({}, OURS)["autoMemoryDirectory"], "/m/");
  assertEquals(runSettings({ autoMemoryDirectory: "~/x" }, OURS)["autoMemoryDirectory"], "~/x");
});

Deno.test("runSettings() closes folders to every tool, whatever the caller's settings say", () => {
  const deny = ["Edit(//t/own/**)", "Edit(//v/**)", "Read(//t/own/**)", "Read(//v/**)"];
  for (const odd of [undefined, "odd", { deny: "odd" }]) {
    const { permissions, sandbox } = runSettings({ permissions: odd, sandbox: odd }, OURS);
    assertEquals(permissions, { deny });
    assertEquals((sandbox as Record<string, unknown>)["filesystem"], { denyWrite: ["/t/cfg"] });
  }
  const caller = {
    permissions: { allow: ["Edit"], deny: ["Bash"] },
    sandbox: { enabled: true, filesystem: { denyWrite: ["/theirs"], allowWrite: ["/t"] } },
  };
  const merged = runSettings(caller, OURS);
  assertEquals(merged["permissions"], { allow: ["Edit"], deny: [...deny, "Bash"] });
  assertEquals(merged["sandbox"], {
    enabled: true,
    filesystem: { denyWrite: ["/t/cfg", "/theirs"], allowWrite: ["/t"] },
  });
});

Deno.test("runSettings() names any folder by a pattern that fits it", () => {
  const outOfReach = ["/a b/(c)/x*[y]?\\z/{q},'\"#!$^.|+é"];
  const { permissions } = runSettings({}, { ...OURS, outOfReach });
  assertEquals(
    (permissions as { readonly deny: readonly string[] }).deny[0],
    "Edit(//a b/\\(c\\)/x??y???z/{q},'\"#!$^.|+é/**)",
  );
});

Deno.test("readingRules() opens the outputs of one session, and nothing where a path is more than a path", () => {
  const session = "3b241101-e2bb-4255-8caf-4136c566a960";
  const of = (userConfigDir: string, id = session) => readingRules({ userConfigDir, session: id });
  assertEquals(of("/home/u/.claude"), [
    `Read(//home/u/.claude/projects/*/${session}/tool-results/**)`,
  ]);
  for (
    const odd of ["/home/*", "/home/u)", "/home/[u]", "/home/u,Bash(", "/home/a b", "/h/\\", ""]
  ) {
    assertEquals(of(odd), [], odd);
  }
  for (const odd of ["*", "../..", "a/b", ""]) assertEquals(of("/home/u", odd), [], odd);
});
