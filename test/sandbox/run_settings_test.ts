import { assertEquals, assertRejects } from "@std/assert";
import { makeFifo } from "../../ffi/fifo.ts";
import { parseCallerSettings, runSettings } from "../../src/sandbox/run_settings.ts";
import { SandboxError } from "../../src/sandbox/sandbox_error.ts";
import { NOWHERE } from "../nowhere.ts";

const HERE = { cwd: "/" };

Deno.test("parseCallerSettings() reads JSON and files, comments allowed", async () => {
  assertEquals(await parseCallerSettings('{"model":"opus"}', HERE), { model: "opus" });
  assertEquals(await parseCallerSettings(' { /* why */ "model": "opus", }', HERE), {
    model: "opus",
  });
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, '{"env":{"A":"1"}}');
  assertEquals(await parseCallerSettings(file, HERE), { env: { A: "1" } });
  assertEquals(await parseCallerSettings(file.slice(1), HERE), { env: { A: "1" } });
  await Deno.remove(file);
});

Deno.test("parseCallerSettings() says what is wrong", async () => {
  await assertRejects(
    () => parseCallerSettings("{nonsense", HERE),
    SandboxError,
    "Cannot parse --settings",
  );
  await assertRejects(
    () => parseCallerSettings(NOWHERE, HERE),
    SandboxError,
    `Cannot read the settings file "${NOWHERE}"`,
  );
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "[1]");
  await assertRejects(
    () => parseCallerSettings(file, HERE),
    SandboxError,
    "it holds no JSON object",
  );
  await Deno.remove(file);
  makeFifo(file);
  await assertRejects(
    () => parseCallerSettings(file, HERE),
    SandboxError,
    `Cannot read the settings file "${file}": it is no regular file`,
  );
  await Deno.remove(file);
  for (const permissions of [null, { defaultMode: null }, { defaultMode: "Plan" }]) {
    await assertRejects(
      () => parseCallerSettings(JSON.stringify({ permissions }), HERE),
      SandboxError,
      'Cannot use --settings: its "permissions" name no permission mode',
    );
  }
  await assertRejects(
    () => parseCallerSettings('{"disableAllHooks":true}', HERE),
    SandboxError,
    '"disableAllHooks"',
  );
});

Deno.test("runSettings() adds our hooks to the caller's", () => {
  const ours = { Stop: [{ hooks: ["ours"] }], StopFailure: [{ hooks: ["ours"] }] };
  const caller = { model: "opus", hooks: { Stop: [{ hooks: ["theirs"] }], PreToolUse: ["p"] } };
  const merged = runSettings(caller, { hooks: ours, memoryPath: "/m/" });
  assertEquals(merged["model"], "opus");
  assertEquals(merged["hooks"], {
    Stop: [{ hooks: ["ours"] }, { hooks: ["theirs"] }],
    PreToolUse: ["p"],
    StopFailure: [{ hooks: ["ours"] }],
  });
  assertEquals(merged["disableAllHooks"], false);
});

Deno.test("runSettings() starts the project's MCP servers as claude -p does, whatever the caller says", () => {
  const ours = { hooks: {}, memoryPath: "/m/" };
  for (const caller of [{}, { enableAllProjectMcpServers: false }]) {
    assertEquals(runSettings(caller, ours)["enableAllProjectMcpServers"], true);
  }
});

Deno.test("runSettings() keeps memory in its place unless the caller names another", () => {
  const ours = { hooks: {}, memoryPath: "/m/" };
  assertEquals(runSettings({}, ours)["autoMemoryDirectory"], "/m/");
  assertEquals(runSettings({ autoMemoryDirectory: "~/x" }, ours)["autoMemoryDirectory"], "~/x");
});
