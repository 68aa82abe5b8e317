import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { projectSlug } from "../../../../src/claude/transcript/session_files.ts";
import { asRecorded } from "../../../real/as_recorded.ts";
import { filesBelow } from "../../../real/files_below.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { performInProcess } from "../../../real/perform_in_process.ts";
import { factsOfResult, parseObject } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { writeFiles } from "../../../write_files.ts";
import { JSON_FORMAT } from "../../../caller_lines.ts";

/** A command hook for an event of Claude Code's settings. */
function hook(command: string) {
  return [{ hooks: [{ type: "command", command }] }];
}

/** Path of a session's transcript below the config dir. */
function transcriptPath(real: RealClaude, session: unknown): string {
  return `projects/${projectSlug(real.home.project)}/${session}.jsonl`;
}

forNewestVersion("a run reads the user's files and changes none", async (real) => {
  const { config, path, project } = real.home;
  const fired = `${path}/fired`;
  const events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"];
  const hooks = events.map((event) => [event, hook(`echo ${event} >> ${fired}`)]);
  // An editor that the interactive Claude Code would connect to, and claude -p does not.
  using editor = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let isEditorAsked = false;
  const asked = editor.accept().then((connection) => {
    connection.close();
    isEditorAsked = true;
  }, () => {});
  await writeFiles(config, {
    "settings.json": {
      hooks: Object.fromEntries(hooks),
      env: { FROM_USER_SETTINGS: "seen by tools" },
      permissions: { allow: ["Bash(printenv:*)"] },
    },
    "CLAUDE.md": "The user always says moin.\n",
    "history.jsonl": '{"display":"before"}\n',
    [`ide/${editor.addr.port}.lock`]: {
      ...{ pid: Deno.pid, workspaceFolders: [project], transport: "ws" },
    },
    "sessions/1.json": { pid: 1 },
  });
  const other = `${path}/other`;
  await writeFiles(other, { "note.txt": "written elsewhere\n" });
  const before = filesBelow(path);

  const read = toolCall("Read", { file_path: `${other}/note.txt` });
  const prompt = `Hi [[bash printenv FROM_USER_SETTINGS]] ${read} [[say moin]]`;
  // The directory is trusted without a question.
  const run = await real.printInProcess([
    ...[...JSON_FORMAT, "--ide", "--add-dir", other, "--", prompt],
  ]);
  assertEquals([run.code, run.stderr], [0, ""]);
  assertEquals(isEditorAsked, false);
  const { session_id, result } = parseObject(run.stdout);
  assertEquals(result, "moin");
  const [first, second, third] = real.api.turns;
  assertStringIncludes(first?.text ?? "", "The user always says moin.");
  assertStringIncludes(second?.text ?? "", "seen by tools");
  assertStringIncludes(third?.text ?? "", "written elsewhere");

  const after = new Map(filesBelow(path));
  const transcript = `.claude/${transcriptPath(real, session_id)}`;
  assert(after.delete(transcript), "the transcript is there");
  assertEquals(after, before, "nothing else is new or changed");
  assertEquals([...Deno.readDirSync(project)], []);
  editor.close();
  await asked;
});

forNewestVersion("system prompt, tools, memory and transcript are stable", async (real) => {
  const session = await printForwarded(real);
  assertStringIncludes(await Deno.readTextFile(session), "döne ❤️");
  assertEquals(((await Deno.stat(session)).mode ?? 0) & 0o777, 0o600);
  const memory = `${real.home.config}/projects/${projectSlug(real.home.project)}/memory`;
  const before = real.api.turns.length;
  const write = toolCall("Write", { file_path: `${memory}/note.md`, content: "remember" });
  const run = await real.printInProcess([`Learn ${write} [[say done]]`]);
  assertEquals([run.code, run.stdout, run.stderr], [0, "done\n", ""]);
  assertEquals(await Deno.readTextFile(`${memory}/note.md`), "remember");
  const [first, second] = [0, before].map((turn) =>
    real.api.turns[turn]?.body as Record<string, unknown>
  );
  // The attribution block names each request's own version suffix and is not part of what is cached.
  const system = (body: Record<string, unknown> | undefined) =>
    JSON.stringify(body?.["system"]).replace(/cc_version=[^;]*;/u, "");
  assertEquals(system(first), system(second));
  assertEquals(first?.["tools"], second?.["tools"]);
  assertStringIncludes(system(first), `${memory}/`);
});

/** Runs a prompt, compares the forwarded transcript, and returns its path. */
async function printForwarded(real: RealClaude): Promise<string> {
  const prompt = "Work. [[think hm]] [[bash echo hi]] [[say döne ❤️]]";
  const { report } = await performInProcess(real, {
    prompt,
    args: ["--allowedTools=Bash"],
    after: ({ sandbox }) => {
      const kept = filesBelow(`${sandbox.configDir}/projects`);
      assertEquals([...kept.keys()].length, 1);
      assertEquals(sandbox.forward(), { files: 1, left: 0, failures: [] });
      assertEquals(filesBelow(`${real.home.config}/projects`), kept);
    },
  });
  assertEquals(report.exitCode, 0);
  return `${real.home.config}/${transcriptPath(real, report.result.session_id)}`;
}

forNewestVersion("rules of an untrusted project are ignored with a warning", async (real) => {
  const { project } = real.home;
  const permissions = { allow: ["Bash(touch:*)", "Edit"], additionalDirectories: ["/srv"] };
  await writeFiles(project, { ".claude/settings.json": { permissions } });
  const args = ["Work. [[bash touch x]] [[say done]]"];
  const ours = await real.printInProcess(args);
  const theirs = await real.claudeP(args, { recorded: "sandbox/untrusted-rules" });
  assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout]);
  assertEquals(ours.stderr.replaceAll("claude-print: Warning: ", ""), theirs.stderr);
  assertEquals([...Deno.readDirSync(project)].map(({ name }) => name), [".claude"]);
});

forNewestVersion("--inherit-hooks runs the user's hooks", async (real) => {
  const log = `${real.home.path}/hooks.log`;
  // The hook at the end makes the assistant go on, once.
  const goOn = `if grep -q stopped ${log}; then exit 0; fi; echo stopped >> ${log}; ` +
    `echo '{"decision":"block","reason":"Go on"}'`;
  const hooks = { UserPromptSubmit: hook(`echo asked >> ${log}`), Stop: hook(goOn) };
  await writeFiles(real.home.config, { "settings.json": { hooks } });
  const args = ["--output-format", "json", "--", "Hi [[say done]] [[next]] [[say really done]]"];
  const facts = async (run: RealClaude["print"]) => {
    await Deno.writeTextFile(log, "");
    const { code, stdout, stderr } = await run(args);
    assertEquals([code, stderr], [0, ""]);
    const result = factsOfResult(parseObject(stdout));
    return { result, traces: await Deno.readTextFile(log) };
  };
  const ours = await facts((args) => real.printInProcess(["--inherit-hooks", ...args]));
  assertStringIncludes(real.api.turns.at(-1)?.text ?? "", "Go on");
  const theirs = await asRecorded(
    real,
    "inherit_hooks/run",
    () => facts((args) => real.claudeP(args)),
  );
  assertEquals(ours, theirs);
  assertEquals([ours.result["result"], ours.traces], ["really done", "asked\nstopped\n"]);
});

forNewestVersion("--debug-to-stderr prints the debug log", async (real) => {
  const log = `${real.home.project}/log`;
  const ours = await real.print(["--debug-file", log, "--debug-to-stderr", "--", "Hi"]);
  assertEquals([ours.code, ours.stdout], [0, "Hello from the scripted API\n"]);
  assertStringIncludes(ours.stderr, "/v1/messages");
  // The log of the end is printed too.
  const last = (await Deno.readTextFile(log)).trimEnd().split("\n").at(-1) ?? "";
  assertStringIncludes(last, "[DEBUG]");
  assertStringIncludes(ours.stderr, last);
  await Deno.remove(log);
});

/** Names of the spans in a request of an OTLP exporter. */
function spansIn(body: {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string }[] }[];
  }[];
}): readonly string[] {
  return (body.resourceSpans ?? []).flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name))
  );
}

forNewestVersion("telemetry exports the spans of the turn", async (real) => {
  const names: string[] = [];
  await using collector = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    names.push(...spansIn(await request.json()));
    return Response.json({});
  });
  const { code } = await real.print(["--", "Hi"], {
    env: {
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "1",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
    },
  });
  assertEquals(code, 0);
  assertEquals(names.toSorted(), ["claude_code.interaction", "claude_code.llm_request"]);
});

/** Instructions for the model, by path. */
const TOLD: Readonly<Record<string, string>> = {
  "AGENTS.md": "Count to one.",
  ".claude/AGENTS.md": "Count to two.",
  "src/AGENTS.md": "Count to three.",
};

forNewestVersion("the model is told of each AGENTS.md", async (real) => {
  await writeFiles(real.home.project, { "src/main.ts": "1;\n", ...TOLD });
  const read = toolCall("Read", { file_path: `${real.home.project}/src/main.ts` });
  const prompt = `Look ${read} [[say read]]`;
  const told = async (run: RealClaude["print"]) => {
    assertEquals((await run([prompt])).stdout, "read\n");
    const body = JSON.stringify(real.api.turns.at(-1)?.body);
    return Object.entries(TOLD).filter(([, text]) => body.includes(text)).map(([path]) => path);
  };
  const ours = await told((args) => real.printInProcess(args));
  const theirs = await asRecorded(real, "plugins/all", () => told((args) => real.claudeP(args)));
  assertEquals(ours, theirs);
  assertEquals(ours, Object.keys(TOLD));
});
