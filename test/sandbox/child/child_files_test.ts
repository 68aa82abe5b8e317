import { assert, assertEquals } from "@std/assert";
import { childFiles, type ChildFilesOptions } from "../../../src/sandbox/child/child_files.ts";
import { folderParts } from "../../../src/sandbox/folder/folder_parts.ts";

const PARTS = folderParts("/runs/1-2-00000000");

/** The text of each file, by its path in the private folder. */
function filesOf(more: Partial<ChildFilesOptions> = {}): Readonly<Record<string, string>> {
  const files = childFiles(PARTS, {
    pid: 4711,
    secret: "s3cret",
    hooks: ["Stop"],
    held: [],
    asksCost: false,
    userClaudeJson: undefined,
    userSettings: undefined,
    callerSettings: {},
    memoryPath: "/m/",
    plugins: {},
    folders: ["/w"],
    exposed: [],
    hidden: [],
    apiKey: undefined,
    ...more,
  });
  return Object.fromEntries(
    files.map(({ path, text }) => [path.slice("/runs/1-2-00000000/".length), text]),
  );
}

Deno.test("childFiles() has a file for the prompt and the user's settings only where there are some", () => {
  const always = [".claude/.claude.json", "own/hook", "own/settings.json"];
  assertEquals(Object.keys(filesOf()).toSorted(), always);
  const files = filesOf({ stdin: "prompt\n", userSettings: {} });
  const more = [...always, ".claude/settings.json", "own/prompt"];
  assertEquals(Object.keys(files).toSorted(), more.toSorted());
  assertEquals(files["own/prompt"], "prompt\n");
  assert(files["own/hook"]?.includes("s3cret"));
});

Deno.test("childFiles() keeps the user's settings but not the user's hooks, nor programs for the screen", () => {
  const drawn = { statusLine: {}, subagentStatusLine: {}, fileSuggestion: {} };
  const userSettings = { model: "opus", hooks: { Stop: [] }, ...drawn, env: { A: "1" } };
  const kept = JSON.parse(filesOf({ userSettings })[".claude/settings.json"] ?? "");
  assertEquals(kept, { model: "opus", env: { A: "1" } });
});

Deno.test("childFiles() hides all runs from the Bash sandbox, but for what commands of this one need", () => {
  const callerSettings = { sandbox: { filesystem: { denyRead: ["/x"], allowWrite: ["/"] } } };
  const { sandbox } = JSON.parse(
    filesOf({ hidden: ["/runs"], callerSettings })["own/settings.json"] ?? "",
  );
  assertEquals(sandbox.filesystem, {
    denyWrite: [PARTS.configDir],
    denyRead: ["/runs", "/x"],
    allowRead: [PARTS.configDir],
    allowWrite: ["/"],
  });
});

Deno.test("childFiles() closes what is any run's own where settings open the folder of runs by its name", () => {
  const { permissions: { deny } } = JSON.parse(
    filesOf({ hidden: ["/runs"], reopened: ["/runs"] })["own/settings.json"] ?? "",
  );
  const closed = ["//runs/1-2-00000000/own/**", "//runs/*/own/**"];
  assertEquals(deny, ["Edit", "Read"].flatMap((tool) => closed.map((each) => `${tool}(${each})`)));
});

Deno.test("childFiles() closes what is the run's own, and other folders of runs, to every tool", () => {
  const { permissions: { deny }, sandbox } = JSON.parse(
    filesOf({ exposed: ["/tmp/claude-print-1"] })["own/settings.json"] ?? "",
  );
  const closed = ["//runs/1-2-00000000/own/**", "//tmp/claude-print-1/**"];
  assertEquals(deny, ["Edit", "Read"].flatMap((tool) => closed.map((each) => `${tool}(${each})`)));
  assertEquals(sandbox.filesystem, { denyWrite: [PARTS.configDir] });
});
