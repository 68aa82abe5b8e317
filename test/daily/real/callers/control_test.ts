import { join } from "node:path";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { LoggedRequest } from "../../../../src/recording/learn/messages_api.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { asRecorded, type RecordedName } from "../../../real/as_recorded.ts";
import { type Caller, hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import { type JsonObject, outlineOfFrames, parseFrames } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import type { ProgramOutput } from "../../../start_program.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { writeFiles } from "../../../write_files.ts";
import { callerLines, STREAM_FORMAT, userMessage } from "../../../caller_lines.ts";

const MCP_SERVER = [
  ...["run", "--no-config", "--no-lock"],
  join(import.meta.dirname ?? ".", "..", "..", "..", "..", "fixtures", "mcp_server.ts"),
];

const RESULT = '"type":"result"';
const ASKS_CALLER = ["--permission-prompt-tool", "stdio"];

/** Fields that hooks do not have, and fields that differ between two runs. */
const UNTOLD = [
  ...["blocked_path", "decision_reason", "decision_reason_type", "permission_suggestions"],
  ...["decision_reason_hook_event", "decision_reason_hook_source"],
  ...["tool_use_id", "session_id", "transcript_path", "prompt_id", "duration_ms"],
];

const request = (id: string, body: JsonObject) => ({
  type: "control_request",
  request_id: id,
  request: body,
});

const writeTo = (path: string) => toolCall("Write", { file_path: path, content: "x" });

/** What a control caller hears, without what differs between two runs. */
async function heardBy(
  holding: typeof hold,
  { real, script, args }: {
    readonly real: RealClaude;
    readonly script: (caller: Caller) => Promise<void>;
    readonly args: readonly string[];
  },
) {
  const { code, stdout } = await holding(real, script, args);
  const frames = parseFrames(stdout);
  const questions = frames.filter(({ type }) => type === "control_request")
    .map(({ request }) => masked(request));
  const results = frames.filter(({ type }) => type === "result")
    .map(({ subtype, result, num_turns, terminal_reason, permission_denials }) => ({
      ...{ subtype, result, num_turns, terminal_reason },
      denied: (permission_denials as readonly JsonObject[]).map(({ tool_input }) => tool_input),
    }));
  const decisions = frames.map(({ tool_result_meta: meta }) => masked(meta))
    .filter((meta) => meta !== undefined);
  // Notifications are for a screen, and a question may come before or after other frames.
  const outline = outlineOfFrames(frames).filter((frame) =>
    frame !== "system/notification" && frame !== "control_request"
  );
  return { outline, questions, results, decisions, code };
}

function masked(value: unknown): unknown {
  const text = JSON.stringify(value, (name, each) => UNTOLD.includes(name) ? undefined : each);
  return text === undefined
    ? undefined
    : sorted(JSON.parse(text.replaceAll(/toolu_\w+/gu, "toolu")));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
      .map(([name, each]) => [name, sorted(each)]),
  );
}

/** Compares both programs for a caller, and returns the requests of claude-print. */
async function assertSame(
  real: RealClaude,
  { recorded, ...call }: {
    readonly recorded: RecordedName;
    readonly script: (caller: Caller) => Promise<void>;
    readonly args: readonly string[];
  },
): Promise<readonly LoggedRequest[]> {
  const ours = JSON.parse(JSON.stringify(await heardBy(hold, { real, ...call })));
  const requests = [...real.api.turns];
  const theirs = await asRecorded(
    real,
    recorded,
    () => heardBy(holdWithClaude, { real, ...call }),
  );
  assertEquals(ours, theirs);
  return requests;
}

/** Agents that are too long for a command line. */
const LARGE_AGENTS = {
  looker: {
    description: 'Looks: "well" --- C:/new # really\nand again',
    prompt: `You look.\n---\n${"Look once more. ".repeat(9000)}That is all.`,
    tools: ["Read", "Glob"],
    model: "haiku",
  },
  "not/a file": { description: "Another", prompt: "Another prompt" },
  "of:many": { description: "In C:\\new", prompt: "\n On the command line. \n" },
};

/** Model, prompt and tools in the first request of an agent. */
function givenTo(agent: keyof typeof LARGE_AGENTS, requests: readonly LoggedRequest[]) {
  const { body } = requests.find(({ prompt }) => prompt?.startsWith(`Be ${agent}.`)) ?? {};
  const { model, system, tools = [] } = (body ?? {}) as {
    readonly model?: string;
    readonly system?: readonly { readonly text: string }[];
    readonly tools?: readonly { readonly name: string }[];
  };
  const isTold = system?.some(({ text }) => text.startsWith(LARGE_AGENTS[agent].prompt));
  return { model, isTold, tools: tools.map(({ name }) => name).toSorted() };
}

forNewestVersion("requests about Claude Code have the same answers", async (real) => {
  const asked = [
    ...["initialize", "get_context_usage", "get_settings", "list_models", "get_binary_version"],
    ...["list_permission_rules", "file_suggestions", "read_file", "reload_skills", "get_usage"],
    "get_hooks_listing",
  ];
  const changes = [
    { source: "localSettings", settings: { outputStyle: "Explanatory" } },
    { source: "localSettings", settings: { model: "haiku" } },
    { source: "localSettings", settings: { outputStyle: 5 } },
    { source: "nowhere", settings: {} },
    {},
  ].map((body, place) => request(`change ${place}`, { subtype: "update_settings", ...body }));
  // Claude Code reports both as errors.
  const amiss = { mcpServers: { amiss: { type: "nonsense", command: "false" } } };
  const args = [`--mcp-config=${JSON.stringify(amiss)}`, "--plugin-dir=/nonexistent"];
  await writeFiles(real.home.project, {
    ".claude/agents/mine.md": "---\nname: mine\ndescription: Of the project's own\n---\nHelp.",
    ".claude/settings.json": {
      hooks: { Stop: [{ hooks: [{ type: "command", command: "true of ours" }] }] },
    },
    "note.txt": "a note",
  });
  const names = ["looker", "not/a file", "of:many"] as const;
  const calls = names.map((name) =>
    toolCall("Agent", {
      description: "look",
      prompt: `Be ${name}. [[say seen]]`,
      subagent_type: name,
      run_in_background: false,
    })
  );
  const told = async (holding: typeof hold) => {
    const begun = real.api.turns.length;
    const { code, stdout } = await holding(real, async ({ say, send, heard }) => {
      await send(
        request("initialize", { subtype: "initialize", hooks: null, agents: LARGE_AGENTS }),
      );
      await heard('"request_id":"initialize"');
      await say("One. [[say first]]");
      await heard(RESULT, 1);
      const others = asked.slice(1).map((subtype) =>
        request(subtype, { subtype, path: `${real.home.project}/note.txt` })
      );
      await send(callerLines(others));
      await heard('"type":"control_response"', asked.length);
      await send(callerLines(changes));
      await heard('"type":"control_response"', asked.length + changes.length);
      await say(`Two. ${calls.join(" ")} [[say second]]`);
      await heard(RESULT, 2);
      await say("/goal");
      await heard(RESULT, 3);
    }, args);
    await Deno.remove(`${real.home.project}/.claude/settings.local.json`);
    const frames = parseFrames(stdout);
    const inits = frames.filter(({ subtype }) => subtype === "init");
    const answers = frames.filter(({ type }) => type === "control_response")
      .map(({ response }) => response as JsonObject);
    return {
      code,
      told: [...asked, ...changes.map(({ request_id: id }) => id)]
        .map((id) => aboutClaude(answers.find(({ request_id }) => request_id === id))),
      init: aboutClaude(inits[0]),
      styles: inits.map(({ output_style: style }) => style),
      agents: names.map((name) => givenTo(name, real.api.turns.slice(begun))),
      results: frames.filter(({ type }) => type === "result").map(({ result }) => result),
    };
  };
  const ours = JSON.parse(JSON.stringify(await told(hold)));
  const theirs = await asRecorded(real, "control/asked", () => told(holdWithClaude));
  assertEquals(ours, theirs);
  assertStringIncludes(JSON.stringify(ours), "Of the project's own");
  assertStringIncludes(JSON.stringify(ours), "a note");
  assertStringIncludes(JSON.stringify(ours), "true of ours");
  assertEquals(ours.agents.map(({ isTold }: { isTold: unknown }) => isTold), [true, true, true]);
});

forNewestVersion("MCP servers of a conversation are listed, switched and set", async (real) => {
  const works = { type: "stdio", command: Deno.execPath(), args: MCP_SERVER };
  const config = { mcpServers: { works, broken: { command: "/nonexistent" } } };
  const steps: readonly (readonly [string, JsonObject])[] = [
    ["status", { subtype: "mcp_status" }],
    ["off", { subtype: "mcp_toggle", serverName: "works", enabled: false }],
    ["seen-off", { subtype: "mcp_status" }],
    ["reconnect-off", { subtype: "mcp_reconnect", serverName: "works" }],
    ["on", { subtype: "mcp_toggle", serverName: "works", enabled: true }],
    ["reconnect", { subtype: "mcp_reconnect", serverName: "works" }],
    ["reconnect-broken", { subtype: "mcp_reconnect", serverName: "broken" }],
    ["reconnect-own", { subtype: "mcp_reconnect", serverName: "calc" }],
    ["none", { subtype: "mcp_toggle", serverName: "none", enabled: true }],
    ["neither", { subtype: "mcp_toggle", serverName: "works" }],
    ["nonsense", { subtype: "mcp_reconnect", serverName: 7 }],
    ["set", {
      subtype: "mcp_set_servers",
      servers: { more: works, gone: { command: "/nonexistent", args: [] } },
    }],
    ["set-nonsense", { subtype: "mcp_set_servers", servers: 7 }],
    ["apply", { subtype: "apply_flag_settings", settings: { permissions: { allow: ["Bash"] } } }],
    ["apply-nonsense", { subtype: "apply_flag_settings" }],
    ["cancel", { subtype: "cancel_async_message", message_uuid: "nobody's" }],
  ];
  const told = async (holding: typeof hold) => {
    const { code, stdout } = await holding(
      real,
      async ({ say, send, heard, answer }) => {
        answer(({ message }) => ({
          mcp_response: {
            jsonrpc: "2.0",
            id: (message as JsonObject).id ?? 0,
            result: calc(message),
          },
        }));
        const init = { subtype: "initialize", hooks: {}, sdkMcpServers: ["calc"] };
        await send(request("init", init));
        await say('One. [[tool mcp__works__shout {"text":"one"}]] [[say first]]');
        await heard(RESULT, 1);
        // claude -p carries out at the same time what it is asked at once: there each has to wait for the one before.
        const isAtOnce = holding === hold;
        if (isAtOnce) await send(callerLines(steps.map(([id, body]) => request(id, body))));
        for (const [id, body] of steps) {
          if (!isAtOnce) await send(request(id, body));
          await heard(`"request_id":"${id}"`);
        }
        // The settings and servers of the last requests hold now.
        await say(
          'Two. [[bash touch x]] [[tool mcp__more__shout {"text":"hello"}]] [[say second]]',
        );
        await heard(RESULT, 2);
        // With the message comes another child, which takes over what the one before it was asked last.
        const text = "Three. [[say third]]";
        const lines = [
          request("model", { subtype: "set_model", model: "claude-opus-4-6" }),
          userMessage([{ type: "text", text }]),
          request("handed-over", { subtype: "mcp_status" }),
        ];
        await send(callerLines(lines));
        await heard('"request_id":"handed-over"');
        await heard(RESULT, 3);
        await send(request("end", { subtype: "end_session" }));
        await heard('"request_id":"end"');
        await say("Four. [[say never]]");
      },
      [
        "--mcp-config",
        JSON.stringify(config),
        "--allowedTools=mcp__works__shout,mcp__more__shout",
      ],
    );
    const frames = parseFrames(stdout);
    const answers = frames.filter(({ type }) => type === "control_response")
      .map(({ response }) => sorted(response) as JsonObject);
    for (const { response } of answers) {
      // Those that were set stand first here, and last there.
      const { mcpServers = [] } = (response ?? {}) as { readonly mcpServers?: JsonObject[] };
      mcpServers.sort((one, other) => `${one["name"]}` < `${other["name"]}` ? -1 : 1);
    }
    return {
      code,
      told: [...steps.map(([id]) => id), "model", "handed-over"]
        .map((id) => answers.filter((each) => each.request_id === id)),
      results: frames.filter(({ type }) => type === "result").map(({ result }) => result),
      returned: JSON.parse(
        JSON.stringify(frames.filter(({ type }) => type === "user").map(({ message }) => message))
          .replaceAll(/toolu_\w+/gu, "toolu"),
      ),
    };
  };
  const ours = await told(hold);
  const [first, second] = real.api.turns;
  assertStringIncludes(first?.text.replace("[[tool mcp__", "") ?? "", "mcp__works__shout");
  assertStringIncludes(second?.text ?? "", '"ONE"');
  assertStringIncludes(JSON.stringify(real.api.turns.at(-1)?.body), "claude-opus-4-6");
  assertEquals(JSON.stringify(ours.told).includes('"shout"'), true);
  assertEquals(ours.code, 0);
  assertEquals(
    JSON.parse(JSON.stringify(ours)),
    await asRecorded(real, "control/servers", () => told(holdWithClaude)),
  );
});

forNewestVersion("files are rewound to a message", async (real) => {
  const { project } = real.home;
  const [kept, made] = [`${project}/kept.txt`, `${project}/made.txt`];
  const edit = (old: string, text: string) =>
    toolCall("Edit", { file_path: kept, old_string: old, new_string: text });
  const idOf = (turn: number) => `3b241101-e2bb-4255-8caf-4136c566a96${turn}`;
  const isMade = async () => await Deno.lstat(made).then(() => true, () => false);
  /** The output of `--rewind-files`, and the files after it. */
  const seenByFlag = async (
    session: unknown,
    run: (args: readonly string[]) => Promise<ProgramOutput>,
  ) => {
    const seen: unknown[] = [];
    for (
      const args of [
        [idOf(2)],
        [idOf(2), ...STREAM_FORMAT],
        [idOf(7)],
      ]
    ) {
      const { code, stdout, stderr } = await run([
        `--resume=${session}`,
        "--rewind-files",
        ...args,
      ]);
      // claude-print adds its name and a remedy.
      const [told = ""] = stderr.replace("claude-print: ", "Error: ").split("\n");
      seen.push([code, stdout, told, await Deno.readTextFile(kept), await isMade()]);
    }
    return seen;
  };
  const seen = async (
    holding: typeof hold,
    run: (args: readonly string[]) => Promise<ProgramOutput>,
  ) => {
    await Deno.writeTextFile(kept, "before");
    if (await isMade()) await Deno.remove(made);
    const files: unknown[] = [];
    const { stdout } = await holding(real, async ({ say, send, heard }) => {
      await send(request("init", { subtype: "initialize", hooks: {} }));
      const first = `${toolCall("Read", { file_path: kept })} ${edit("before", "after")}`;
      const write = toolCall("Write", { file_path: made, content: "made" });
      await say(`One. ${first} ${write} [[say first]]`, { uuid: idOf(1) });
      await heard(RESULT, 1);
      await say(`Two. ${edit("after", "later")} [[say second]]`, { uuid: idOf(2) });
      await heard(RESULT, 2);
      const rewind = async (asked: Readonly<Record<string, JsonObject>>) => {
        const ids = Object.keys(asked);
        const rewinding = { subtype: "rewind_files" };
        await send(callerLines(ids.map((id) => request(id, { ...rewinding, ...asked[id] }))));
        for (const id of ids) await heard(`"request_id":"${id}"`);
        files.push([...ids, await Deno.readTextFile(kept), await isMade()]);
      };
      await rewind({
        second: { user_message_id: idOf(2) },
        dry: { user_message_id: idOf(1), dry_run: true },
        unknown: { user_message_id: idOf(7) },
      });
      await rewind({ first: { user_message_id: idOf(1) } });
    }, ["--allowedTools", "Write,Edit"]);
    const frames = parseFrames(stdout);
    const session = frames.find(({ type }) => type === "result")?.session_id;
    const again = await holding(real, async ({ say, heard }) => {
      await say("Two again. [[say twice]]", { uuid: idOf(2) });
      await say("Three. [[say third]]", { uuid: idOf(3) });
      await heard(RESULT);
    }, ["--resume", `${session}`, "--replay-user-messages"]);
    const answers = frames.filter(({ type }) => type === "control_response")
      .map(({ response }) => sorted(response)).slice(1);
    return {
      files,
      answers,
      again: outlineOfFrames(parseFrames(again.stdout)),
      byFlag: await seenByFlag(session, run),
    };
  };
  const theirs = await asRecorded(
    real,
    "control/files",
    () => seen(holdWithClaude, (args) => real.claudeP(args)),
  );
  const ours = await seen(hold, (args) => real.printInProcess(args));
  assertEquals(ours, theirs);
  assertEquals(ours.files.at(-1), ["first", "before", false]);
  assertEquals(ours.byFlag.map((row) => (row as readonly unknown[]).slice(-2)), [
    ["after", true],
    ["after", true],
    ["after", true],
  ]);
}, { home: { env: { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "1" } } });

/** The response of the caller's MCP server. */
function calc(message: unknown): JsonObject {
  const { method, params } = message as JsonObject;
  switch (method) {
    case "initialize": {
      const { protocolVersion } = params as JsonObject;
      const serverInfo = { name: "calc", version: "1" };
      return { protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    case "tools/call": {
      const { arguments: { a, b } } = params as {
        readonly arguments: { readonly a: number; readonly b: number };
      };
      return { content: [{ type: "text", text: `sum ${a + b}` }] };
    }
    default: {
      const annotations = { readOnlyHint: true };
      return {
        tools: [{ name: "add", description: "Adds", inputSchema: { type: "object" }, annotations }],
      };
    }
  }
}

/** Fields that differ between two processes. */
const OF_ONE_PROCESS = [
  ...["pid", "launchEnvLeftOwnFilesInPlace", "rules", "session_id", "uuid"],
  // Only a headless Claude Code has this socket and these capabilities.
  ...["messaging_socket_path", "capabilities"],
  // Times, and other sessions of the machine.
  ...["total_duration_ms", "total_api_duration_ms", "behaviors"],
];
const OF_THE_CONTEXT = ["tokens", "totalTokens", "gridRows", "messageBreakdown", "percentage"];

function aboutClaude(answer: unknown): unknown {
  const skipped = [...OF_ONE_PROCESS, ...OF_THE_CONTEXT];
  return sorted(
    JSON.parse(JSON.stringify(answer, (name, each) => skipped.includes(name) ? undefined : each)),
  );
}

for (const mode of ["acceptEdits", "bypassPermissions"]) {
  forNewestVersion(
    `a stricter mode than ${mode} holds for the next call`,
    async (real) => {
      const [first, second, go] = ["first", "second", "go"]
        .map((name) => `${real.home.project}/${name}`) as [string, string, string];
      await assertSame(real, {
        recorded: `control/stricter-${mode}`,
        args: [...ASKS_CALLER, "--permission-mode", mode],
        script: async ({ say, send, heard, answer }) => {
          for (const path of [first, go]) await Deno.remove(path).catch(() => {});
          answer(() => ({ behavior: "deny", message: "no" }));
          await say(`Go. ${writeTo(first)} [[until ${go}]] ${writeTo(second)} [[say done]]`);
          await heard("tool_result");
          await send(request("mode", { subtype: "set_permission_mode", mode: "default" }));
          await heard('"request_id":"mode"');
          await Deno.writeTextFile(go, "");
          await heard(RESULT, 1);
          assertEquals(await Deno.stat(second).catch(() => "not there"), "not there");
        },
      });
    },
    { home: { env: { IS_SANDBOX: "1" } } },
  );
}

forNewestVersion(
  "a caller interrupts, sets model and mode, and leaves",
  async (real) => {
    let isSilent = true;
    const planned = `${real.home.project}/planned`;
    const requests = await assertSame(real, {
      recorded: "control/settings",
      args: [...ASKS_CALLER, "--allow-dangerously-skip-permissions"],
      script: async ({ say, send, heard, answer }) => {
        answer(({ input }) => {
          if (isSilent) return undefined;
          return (input as JsonObject)["file_path"] === planned
            ? { behavior: "deny", message: "no" }
            : { behavior: "allow", updatedInput: input };
        });
        await say("One. [[bash touch never]] [[say first]]");
        await heard("can_use_tool", 1);
        await send(request("stop", { subtype: "interrupt" }));
        await heard(RESULT, 1);
        isSilent = false;
        await send(request("wild", { subtype: "set_permission_mode", mode: "wild" }));
        await say("Two. [[say second]]");
        await heard(RESULT, 2);
        await send(request("model", { subtype: "set_model", model: "claude-haiku-4-5" }));
        await heard('"request_id":"model"');
        await send(request("mode", { subtype: "set_permission_mode", mode: "acceptEdits" }));
        await send(
          request("think", { subtype: "set_max_thinking_tokens", max_thinking_tokens: 2000 }),
        );
        await heard('"request_id":"think"');
        await Deno.remove(`${real.home.project}/a.txt`).catch(() => {});
        await say(`Three. ${writeTo(`${real.home.project}/a.txt`)} [[say third]]`);
        await heard(RESULT, 3);
        await say(`Plan. [[tool EnterPlanMode {}]] ${writeTo(planned)} [[say planned]]`);
        await heard(RESULT, 4);
        assertEquals(await Deno.stat(planned).catch(() => "not there"), "not there");
        isSilent = true;
        await send(request("back", { subtype: "set_permission_mode", mode: "default" }));
        await heard('"request_id":"back"');
        await say("Four. [[bash touch never]] [[say fourth]]");
        await heard("can_use_tool", 3);
      },
    });
    assertEquals(
      requests.filter(({ text }) =>
        text.includes('"model":"claude-haiku-4-5"') && !text.includes("Four.")
      ).length,
      5,
    );
  },
  { home: { env: { IS_SANDBOX: "1" } } },
);

forNewestVersion(
  "a caller names the session and initializes again",
  async (real) => {
    const script = async ({ say, send, heard }: Caller) => {
      /** Asks all at once: one headless Claude Code answers what is no command. */
      const ask = async (asked: Readonly<Record<string, JsonObject>>) => {
        await send(callerLines(Object.entries(asked).map(([id, body]) => request(id, body))));
        for (const id of Object.keys(asked)) await heard(`"request_id":"${id}"`);
      };
      const rename = { subtype: "rename_session" };
      const initialize = { subtype: "initialize" };
      await ask({
        first: initialize,
        again: { ...initialize, appendSystemPrompt: "Not this." },
        early: { ...rename, title: "Early" },
      });
      await say("One. [[say first]]");
      await heard(RESULT, 1);
      const named = { later: { ...rename, title: " Later " }, none: rename };
      // The headless Claude Code answers these requests.
      await ask({
        ...named,
        late: { ...initialize, systemPrompt: "Nor this.", agents: { a: {} } },
        empty: { ...rename, title: "" },
        styles: { subtype: "reload_output_styles" },
        page: { subtype: "mcp_read_resource", serverName: "none", uri: "ui://x" },
      });
    };
    const run = async (holding: typeof hold) => {
      const { code, stdout, stderr } = await holding(real, script);
      const frames = parseFrames(stdout);
      const told = frames.flatMap(({ subtype, title, response }): readonly unknown[] => {
        if (subtype === "session_title_changed") return [title];
        const { request_id: id, response: said, ...rest } = (response ?? {}) as JsonObject;
        if (id === undefined) return [];
        return [{
          id,
          ...rest,
          ...(rest["subtype"] === "success" && id !== "styles" ? {} : { said }),
        }];
      });
      const { session_id: session } = frames.find(({ type }) => type === "result") ?? {};
      const lines = await transcriptOf(real, `${session}`);
      const titles = lines.flatMap(({ customTitle }) => customTitle ?? []);
      return { code, stderr, told, title: titles.at(-1) };
    };
    const ours = JSON.parse(JSON.stringify(await run(hold)));
    assertEquals(ours.title, "Later");
    assertEquals(JSON.stringify(real.api.turns.at(-1)?.body).includes("this."), false);
    assertEquals(ours, await asRecorded(real, "control/names", () => run(holdWithClaude)));
  },
);

/** The lines of a session's transcript in the user's config dir. */
async function transcriptOf(real: RealClaude, session: string) {
  const projects = `${real.home.path}/.claude/projects`;
  for await (const { name: slug } of Deno.readDir(projects)) {
    const text = await Deno.readTextFile(`${projects}/${slug}/${session}.jsonl`).catch(() => "");
    if (text !== "") return parseFrames(text);
  }
  return [];
}

forNewestVersion("calls are put into the background, read and stopped", async (real) => {
  const called = (tool: string, input: JsonObject) =>
    toolCall(tool, { ...input, run_in_background: true });
  const shell = (seconds: number) =>
    called("Bash", { command: `sleep ${seconds}`, description: `Wait ${seconds}` });
  const subagent = (description: string) =>
    called("Agent", { description, prompt: "Wait. [[hang]]", subagent_type: "general-purpose" });
  const script = async ({ say, send, heard, frames, folder }: Caller) => {
    const read = async (id: string, task: unknown) => {
      await send(request(id, { subtype: "get_task_output", task_id: task }));
      await heard(`"request_id":"${id}"`);
    };
    await say("Go. [[bash printf €out; until [ -e over ]; do sleep 0.05; done]] [[say done]]");
    await heard('"subtype":"task_started"');
    await send(request("b", { subtype: "background_tasks" }));
    await heard(RESULT, 1);
    const { task_id: task } = frames().find(({ subtype }) => subtype === "task_started") ?? {};
    await read("running", task);
    await Deno.writeTextFile(`${folder}/over`, "");
    // The ends of a command and a subagent start turns.
    await heard(RESULT, 2);
    await read("ended", task);
    await read("unknown-output", "nobody");
    await read("silent", "b12345678");
    await read("nameless-output", undefined);
    await Deno.remove(`${folder}/over`);
    await say(`One. ${shell(300)} ${shell(301)} ${subagent("Look around")} [[say first]]`);
    await heard(RESULT, 3);
    const stop = async (id: string, body: JsonObject) => {
      await send(request(id, { subtype: "stop_task", ...body }));
      await heard(`"request_id":"${id}"`);
    };
    const started = (text: string) =>
      frames().find(({ subtype, description }) =>
        subtype === "task_started" && description === text
      )?.["task_id"];
    await stop("shell", { task_id: started("Wait 300") });
    await stop("again", { task_id: started("Wait 300") });
    await stop("unknown", { task_id: "nobody" });
    await stop("nameless", {});
    await stop("subagent", { task_id: started("Look around") });
    await heard(RESULT, 4);
    await say(`Three. ${subagent("Look again")} [[say third]]`);
    await heard(RESULT, 5);
    await stop("last", { task_id: started("Look again") });
    await heard(RESULT, 6);
    await stop("alone", { task_id: started("Wait 301") });
  };
  /** The frames of a call that is put into the background. */
  const moved = (frames: readonly JsonObject[]) => [
    // The answer comes as soon as the key is pressed here, and where the output goes is another folder.
    outlineOfFrames(frames).filter((frame) => frame !== "control_response")
      .map((frame) => frame.replace(/ with ID: .*/u, "")),
    frames.map(({ patch }) => (patch as JsonObject | undefined)?.["is_backgrounded"])
      .filter((each) => each !== undefined),
  ];
  const run = async (holding: typeof hold) => {
    const { code, stdout, stderr } = await holding(real, script, ["--allowedTools=Bash"]);
    const frames = parseFrames(stdout);
    const [, second = 0] = frames.flatMap(({ type }, at) => type === "result" ? [at + 1] : []);
    const told = frames.slice(second).filter(({ type, subtype }) =>
      type === "control_response" || type === "result" || `${subtype}`.startsWith("task_")
    ).map(({ response, subtype, status, patch, summary, result }) => {
      const { status: patched } = (patch ?? {}) as JsonObject;
      return { response, subtype, status, patched, summary, result };
    });
    const answers = frames.flatMap(({ response }) => response === undefined ? [] : [response]);
    return {
      ...{ code, stderr, answers },
      moved: moved(frames.slice(0, second)),
      // Frames from screen and transcript come in any order.
      told: told.map((each) => JSON.stringify(each)).toSorted(),
    };
  };
  const ours = JSON.parse(JSON.stringify(await run(hold)));
  assertEquals(ours, await asRecorded(real, "control/tasks", () => run(holdWithClaude)));
});
