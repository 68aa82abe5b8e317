import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { pythonSdk, SDK_VERSIONS } from "../../../fixtures/programs/agent_sdk.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { findCassettes } from "../../../src/recording/cassette/read/find_cassettes.ts";
import { prepareSdks } from "../../../src/cli/drift/drift_command.ts";
import { examineRecordings } from "../../../src/recording/drift/examine_recordings.ts";
import { Findings } from "../../../src/recording/drift/findings.ts";
import { knownShapes } from "../../../src/recording/drift/known_shapes.ts";
import { findSdks, type InstalledSdk, sdkAt } from "../../../src/recording/drift/installed_sdks.ts";
import { pythonVerdict } from "../../../src/recording/drift/python_sdk.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { tempFolder } from "../../temp_folder.ts";

const python = usablePython();
const NO_PYTHON = python === undefined ? "python3 with venv, 3.10 or later" : undefined;

/** Returns the findings of an SDK about recordings. */
async function look(sdk: InstalledSdk, paths: readonly string[]) {
  const known = knownShapes();
  const findings = new Findings();
  const cassettes = findCassettes(paths);
  const sdks = prepareSdks([sdk], { known, findings });
  examineRecordings(cassettes, { known, findings, onFrame: sdks.onFrame });
  const names = await sdks.asked(cassettes);
  const found = findings.sorted().filter(({ by }) => names.includes(by));
  return {
    names,
    found: found.map(({ check, where, what, first }) =>
      `${check} | ${where} | ${what} | ${first.line}`
    ),
  };
}

/** Writes a tape and removes it after use. */
async function onTape(lines: readonly unknown[], use: (path: string) => Promise<void>) {
  using temp = tempFolder();
  const folder = temp.path;
  const path = `${folder}/tape.jsonl`;
  await Deno.writeTextFile(
    path,
    lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""),
  );
  await use(path);
}

const message = (...content: readonly unknown[]) => ({
  type: "assistant",
  session_id: "s",
  parent_tool_use_id: null,
  uuid: "u",
  message: { id: "m", model: "x", content },
});

Deno.test(skipIfLacking(NO_PYTHON, {
  name: "drift lists everything that the SDK for Python rejects",
  fn: async () => {
    if (python === undefined) return;
    const sdk = sdkAt(await pythonSdk(python));
    assertEquals(sdk, sdkAt(dirname(dirname(await pythonSdk(python)))));
    await onTape([
      { dir: "read", frame: { type: "news", subtype: "good" } },
      "nonsense",
      { dir: "write", data: "x" },
      message({ type: "text", text: "a" }, { type: "poem" }, { type: "poem" }),
      { type: "result", subtype: "success" },
      { dir: "read", frame: { ...message(), message: { model: "x", content: "text" } } },
      { type: "control_request", request_id: "1", request: { subtype: "x" } },
      { type: "system", subtype: "init", session_id: "s" },
    ], async (path) => {
      const { names, found } = await look(sdk, [path]);
      assertEquals(names, [`claude-agent-sdk ${SDK_VERSIONS.python} (Python)`]);
      assertEquals(found, [
        "frame rejected | frame assistant | Invalid assistant content (expected list, got str) | 6",
        "type unknown | frame | news/good | 1",
        "block dropped | block | poem | 4",
        "field gone | frame result/success | duration_ms | 5",
      ]);
    });
  },
}));

Deno.test(skipIfLacking(NO_PYTHON, {
  name: "the SDK's interpreter loads no module beside a tape",
  fn: async () => {
    if (python === undefined) return;
    await onTape([], async (path) => {
      const trap = `${dirname(path)}/claude_agent_sdk.py`;
      await Deno.writeTextFile(trap, `open(${JSON.stringify(`${path}.trapped`)}, "w")\n`);
      const verdict = await pythonVerdict(python.path, { tapes: [path] });
      assertEquals(verdict, undefined);
      const names = [...Deno.readDirSync(dirname(path))].map(({ name }) => name);
      assert(!names.includes("tape.jsonl.trapped"));
    });
  },
}));

Deno.test("SDKs are found in node_modules and the virtual environment", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const own = `${folder}/node_modules/@anthropic-ai/claude-agent-sdk`;
  await Deno.mkdir(own, { recursive: true });
  await Deno.mkdir(`${folder}/a/b`, { recursive: true });
  await Deno.mkdir(`${folder}/venv/bin`, { recursive: true });
  await Deno.writeTextFile(`${own}/sdk.d.ts`, "export {};");
  await Deno.writeTextFile(`${own}/package.json`, '{"version":"1.2.3"}');
  await Deno.writeTextFile(`${folder}/venv/bin/python3`, "");
  const env = { VIRTUAL_ENV: `${folder}/venv`, PATH: `bin:${folder}/bin` };
  assertEquals(findSdks({ env, cwd: `${folder}/a/b` }), [
    { kind: "python", python: `${folder}/venv/bin/python3`, isNamed: false },
    {
      kind: "typescript",
      name: "@anthropic-ai/claude-agent-sdk 1.2.3",
      declarations: "export {};",
    },
  ]);
  assertEquals(findSdks({ env: { PATH: "." }, cwd: "/" }), []);
  await Deno.remove(`${own}/package.json`);
  const unnamed = sdkAt(own);
  assert(unnamed.kind === "typescript");
  assertEquals(unnamed.name, "@anthropic-ai/claude-agent-sdk of an unknown version");
});
