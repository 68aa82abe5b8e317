import { assertEquals, assertRejects } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  parseCallerSettings,
  readingRules,
  resolvePaths,
  runSettings,
} from "../../../src/sandbox/child/run_settings.ts";
import { checkSettings } from "../../../src/claude/settings/settings_faults.ts";
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

Deno.test("parseCallerSettings() reads JSON and files with comments", async () => {
  const values = async (value: string) => (await parseCallerSettings(value, HERE)).values;
  assertEquals(checkSettings(await parseCallerSettings('{"model":"opus"}', HERE), "2.1.332"), {
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

Deno.test("parseCallerSettings() reports invalid settings", async () => {
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
    checkSettings(await parseCallerSettings(value, HERE), "2.1.332").faults.map((
      { path, message },
    ) => `${path}: ${message}`);
  await Deno.writeTextFile(file, "[1]");
  assertEquals(await said(file), [": Expected object, but received array"]);
  await Deno.writeTextFile(file, "{nonsense");
  assertEquals(await said(file), [": Invalid or malformed JSON"]);
  await Deno.remove(file);
  makeFifo(file);
  await assertRejects(
    () => parseCallerSettings(file, HERE),
    CliError,
    `Cannot read the settings file "${file}": it is not a regular file`,
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

Deno.test("runSettings() overrides settings that claude -p does not use", () => {
  const rows = [
    [{}, true, undefined],
    [
      {
        enableAllProjectMcpServers: false,
        spinnerTipsEnabled: true,
        spinnerTipsOverride: { tips: [] },
        permissions: { denyInsteadOfPrompting: false },
      },
      true,
      false,
    ],
    [{ permissions: { denyInsteadOfPrompting: false } }, false, true],
  ] as const;
  for (const [caller, asksCaller, denies] of rows) {
    const settings = runSettings(caller, { ...OURS, asksCaller });
    assertEquals(settings["enableAllProjectMcpServers"], true);
    assertEquals(settings["spinnerTipsEnabled"], false);
    assertEquals(settings["spinnerTipsOverride"], { excludeDefault: true, tips: ["-"] });
    const permissions = settings["permissions"] as Record<string, unknown>;
    assertEquals(permissions["denyInsteadOfPrompting"], denies);
  }
});

Deno.test("runSettings() keeps the memory folder that the caller names", () => {
  assertEquals(runSettings({}, OURS)["autoMemoryDirectory"], "/m/");
  assertEquals(runSettings({ autoMemoryDirectory: "~/x" }, OURS)["autoMemoryDirectory"], "~/x");
});

Deno.test("runSettings() denies tools the run's own folders", () => {
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

Deno.test("runSettings() escapes special characters of folders", () => {
  const outOfReach = ["/a b/(c)/x*[y]?\\z/{q},'\"#!$^.|+é"];
  const { permissions } = runSettings({}, { ...OURS, outOfReach });
  assertEquals(
    (permissions as { readonly deny: readonly string[] }).deny[0],
    "Edit(//a b/\\(c\\)/x??y???z/{q},'\"#!$^.|+é/**)",
  );
});

Deno.test("readingRules() allows the tool results of one session", () => {
  const session = "3b241101-e2bb-4255-8caf-4136c566a960";
  const of = (userConfigDir: string, id = session) => readingRules({ userConfigDir, session: id });
  assertEquals(of("/home/u/.claude"), [
    `Read(//home/u/.claude/projects/*/${session}/tool-results/**)`,
  ]);
  const others = ["/home/*", "/home/u)", "/home/[u]", "/home/u,Bash(", "/home/a b", "/h/\\", ""];
  for (const odd of others) assertEquals(of(odd), [], odd);
  for (const odd of ["*", "../..", "a/b", ""]) assertEquals(of("/home/u", odd), [], odd);
});

Deno.test("resolvePaths() resolves paths of the Bash sandbox", () => {
  const filesystem = {
    allowWrite: ["..", "../../x/**", ".", "a", " ..", "", 1],
    denyRead: ["/b/../c", "//d", "~", "~/e", "~f", " /g"],
    disabled: false,
  };
  const more = { model: "opus", permissions: { additionalDirectories: [".."] } };
  assertEquals(
    resolvePaths({ ...more, sandbox: { enabled: true, filesystem } }, "/home/u/.claude"),
    {
      ...more,
      sandbox: {
        enabled: true,
        filesystem: {
          allowWrite: [
            ...["/home/u", "/home/x/**", "/home/u/.claude", "/home/u/.claude/a", "/home/u"],
            ...["/home/u/.claude", 1],
          ],
          denyRead: ["/b/../c", "//d", "~", "~/e", "/home/u/.claude/~f", "/g"],
          disabled: false,
        },
      },
    },
  );
  const others = [{}, { permissions: ["Edit(/x)"] }, { permissions: { allow: "Edit(/x)" } }, {
    sandbox: 7,
  }, { sandbox: { filesystem: ["x"] } }];
  for (const odd of others) assertEquals(resolvePaths(odd, "/h"), odd);
});

Deno.test("resolvePaths() resolves rules that start at the settings", () => {
  const rules = [
    ...[
      "Edit(/**)",
      "Read(/x)",
      " Write(/a/../b/) ",
      "Edit(/../../s/**)",
      "Edit(/)",
      "Edit(/a(b))",
    ],
    ...["Edit(//t/**)", "Edit(~/x)", "Edit(x)", "Edit", "Bash(/bin/x)", "Edit(/x", 7],
  ];
  const whole = (permissions: unknown, rulesFrom?: string) =>
    resolvePaths({ permissions }, "/w", rulesFrom === undefined ? {} : { rulesFrom });
  const others = rules.slice(6);
  assertEquals(whole({ allow: rules, ask: ["Edit(/x)"], defaultMode: "plan" }, "/u/.c(l)*"), {
    permissions: {
      allow: [
        ...["Edit(//u/.c\\(l\\)?/**)", "Read(//u/.c\\(l\\)?/x)", " Write(//u/.c\\(l\\)?/b/) "],
        ...["Edit(//s/**)", "Edit(//u/.c\\(l\\)?)", "Edit(//u/.c\\(l\\)?/a(b))", ...others],
      ],
      ask: ["Edit(//u/.c\\(l\\)?/x)"],
      defaultMode: "plan",
    },
  });
  // Settings on the command line have no folder.
  assertEquals(whole({ allow: rules, deny: rules }), {
    permissions: { allow: others, deny: rules },
  });
});
