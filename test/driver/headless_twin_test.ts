import { assertEquals, assertStringIncludes } from "@std/assert";
import { HeadlessTwin } from "../../src/driver/hands/headless_twin.ts";
import { COMMAND } from "../../src/session/control/requests/asked_command.ts";
import type { ChildChanges } from "../../src/session/effect.ts";
import type { Consulted } from "../../src/session/input.ts";
import type { JsonObject } from "../../src/json_object.ts";

/** A name in the child's config dir; below a path that is long enough it cannot be looked at, as if it were gone by then. */
const UNSEEN = "x".repeat(250);

/** What is asked of a program in the place of Claude Code, and what becomes of it. */
async function asked(
  script: string,
  { subtypes = ["get_settings"], written = false, body = { detail: true }, ...others }: {
    readonly subtypes?: readonly string[];
    readonly written?: boolean;
    /** The session that the child has resumed. */
    readonly resumed?: string;
    /** Those of the session's transcript, if there is one. */
    readonly lines?: readonly object[];
    readonly body?: JsonObject;
    readonly notes?: true;
    readonly agents?: JsonObject;
    /** The child's config dir below the folder. */
    readonly below?: string;
    /** What happens to the transcript before notes are brought. */
    readonly meanwhile?: (transcript: string) => void;
    readonly serversMs?: number;
    /** What is noted of the conversation's cost. */
    readonly costNote?: JsonObject;
    /** What is otherwise by then, for each of what is asked. */
    readonly changes?: readonly ChildChanges[];
    /** What is asked once all that has been answered, one after the other, and what happens to the transcript before that. */
    readonly later?: readonly {
      readonly subtype: string;
      readonly changes?: ChildChanges;
      readonly meanwhile?: (transcript: string) => void;
    }[];
  } = {},
) {
  const { agents, lines, below = "config", meanwhile = () => {}, resumed, serversMs } = others;
  const { changes = [], notes, later = [], costNote } = others;
  const folder = Deno.realPathSync(Deno.makeTempDirSync());
  const configDir = `${folder}/${below}`;
  Deno.mkdirSync(`${configDir}/projects`, { recursive: true });
  Deno.writeTextFileSync(`${configDir}/.claude.json`, '{"seeded":true}');
  Deno.writeTextFileSync(`${configDir}/other.json`, "{}");
  Deno.symlinkSync(folder, `${configDir}/skills`);
  const touch = ["-c", 'cd "$1" && : > "$2"', "sh", configDir, UNSEEN];
  await new Deno.Command("/bin/sh", { args: touch }).output();
  if (agents !== undefined) {
    Deno.mkdirSync(`${configDir}/agents`);
    Deno.writeTextFileSync(`${configDir}/agents/0.md`, "the child's");
    Deno.symlinkSync(folder, `${configDir}/agents/user`);
  }
  const transcript = lines === undefined
    ? undefined
    : `${configDir}/projects/-w/11111111-1111-4111-8111-111111111111.jsonl`;
  if (transcript !== undefined && lines !== undefined) {
    Deno.mkdirSync(`${configDir}/projects/-w/memory`, { recursive: true });
    Deno.writeTextFileSync(transcript, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
  const program = `${folder}/claude`;
  Deno.writeTextFileSync(program, script);
  const said = new Map<string, Consulted>();
  let all = Promise.withResolvers<void>();
  let asked = subtypes.length;
  const twin = new HeadlessTwin({
    plan: {
      // A program that has just been written cannot always be started, while others are.
      args: [program, "-p"],
      serverArgs: ["--mcp-config=mine"],
      ...(resumed === undefined ? {} : { resumed }),
      env: { PATH: "/usr/bin:/bin", FOLDER: folder },
      configDir: `${folder}/twin`,
      userConfigDir: "/home/me/.claude",
      settings: { path: `${folder}/twin.json`, values: {} },
      ...(agents === undefined ? {} : { agents }),
    },
    binary: "/bin/sh",
    cwd: folder,
    configDir,
    sessionId: "11111111-1111-4111-8111-111111111111",
    isResumed: written,
    transcript: () => transcript,
    model: () => "model[1m]",
    costNote: () => costNote,
    ...(serversMs === undefined ? {} : { serversMs }),
    onArrival: () => {
      for (const { id, said: one } of twin.take()) {
        if (!("isUndescribed" in one)) said.set(id, one);
      }
      if (said.size === asked) all.resolve();
    },
  });
  for (const [place, subtype] of subtypes.entries()) {
    const noting = notes === undefined ? {} : { notes };
    twin.ask({ id: `id-${place}`, subtype, body, ...noting }, changes[place]);
  }
  await all.promise;
  for (const { subtype, changes, meanwhile } of later) {
    meanwhile?.(transcript ?? configDir);
    all = Promise.withResolvers();
    twin.ask({ id: `id-${asked++}`, subtype, body: {} }, changes);
    await all.promise;
  }
  meanwhile(transcript ?? configDir);
  twin.bringNotes();
  const brought = transcript === undefined
    ? []
    : Deno.readTextFileSync(transcript).trim().split("\n");
  await twin[Symbol.asyncDispose]();
  const seen = [...Deno.readDirSync(`${folder}/twin`)].map(({ name }) => name).toSorted();
  const heard = Deno.readTextFileSync(`${folder}/heard`).trim().split("\n");
  Deno.removeSync(folder, { recursive: true });
  return { said: [...said.values()], seen, heard, brought };
}

const SUCCESS = (response: unknown, id = "0") =>
  JSON.stringify({
    type: "control_response",
    response: { subtype: "success", request_id: id, response },
  });

Deno.test("HeadlessTwin heeds nothing in the child's config dir that is gone once it is looked at", async () => {
  const below = Array(20).fill("d".repeat(195)).join("/");
  const { said } = await asked(
    `read line; echo "$line" > $FOLDER/heard; echo '${SUCCESS({ a: 1 })}'; exec sleep 60`,
    { below },
  );
  assertEquals(said, [{ response: { a: 1 } }]);
});

Deno.test("HeadlessTwin asks about MCP servers in time that Claude Code waits for", async () => {
  const told = { mcpServers: [{ name: "mute", status: "pending" }] };
  const { said, heard } = await asked(
    `read line; read line; echo "$line" > $FOLDER/heard; echo '${SUCCESS(told)}'; exec sleep 60`,
    { subtypes: ["mcp_status"], serversMs: 0 },
  );
  assertEquals(said, [{ response: told }]);
  assertStringIncludes(heard.join(), "mcp_status");
});

Deno.test("HeadlessTwin goes on with what a fork is of until the fork has a transcript", async () => {
  const script = `echo "$@" > $FOLDER/heard; read line; echo '${SUCCESS({})}'; exec sleep 60`;
  const resumed = "22222222-2222-4222-8222-222222222222";
  const before = await asked(script, { written: true, resumed });
  assertStringIncludes(before.heard[0] ?? "", `--resume=${resumed} `);
  const after = await asked(script, { written: true, resumed, lines: [{ type: "x" }] });
  assertStringIncludes(after.heard[0] ?? "", "--resume=11111111-1111-4111-8111-111111111111 ");
});

Deno.test("HeadlessTwin asks a Claude Code that is started like the child", async () => {
  const { said, seen, heard } = await asked(
    `echo "$@" >> $FOLDER/heard; read line; echo "$line" >> $FOLDER/heard
echo 'no JSON "control_response"'; echo '${
      SUCCESS({ pid: 1, effective: { disableAllHooks: true, model: "m" } }, "9")
    }'
echo '${
      SUCCESS({
        pid: 1,
        effective: { disableAllHooks: true, model: "m" },
        sources: [
          { source: "userSettings", settings: { model: "m" } },
          { source: "flagSettings", settings: { disableAllHooks: true } },
        ],
      })
    }' | sed "s#userSettings#$FOLDER/twin/x#"; exec sleep 60`,
    { written: true },
  );
  assertEquals(said, [{
    response: {
      pid: Deno.pid,
      effective: { model: "m" },
      sources: [{ source: "/home/me/.claude/x", settings: { model: "m" } }],
    },
  }]);
  assertEquals(seen, [".claude.json", "projects", "skills"]);
  const [args = "", request = ""] = heard;
  assertEquals(
    args,
    "-p --strict-mcp-config --no-session-persistence " +
      "--resume=11111111-1111-4111-8111-111111111111 --model=model[1m]",
  );
  assertEquals(JSON.parse(request), {
    type: "control_request",
    request_id: "0",
    request: { detail: true, subtype: "get_settings" },
  });
});

Deno.test("HeadlessTwin reads a transcript in order that 2.1.197 has not written so", async () => {
  const script = `ls $FOLDER/twin/projects/-w >> $FOLDER/heard
cat $FOLDER/twin/projects/-w/*.jsonl >> $FOLDER/heard; read line
echo '${SUCCESS({})}'`;
  const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
  const end = { type: "system", uuid: "2", parentUuid: "1", subtype: "turn_duration" };
  const id = "11111111-1111-4111-8111-111111111111.jsonl";
  const heardOf = async (lines: readonly object[]) => {
    const { heard, seen } = await asked(script, { lines });
    assertEquals(seen, [".claude.json", "projects", "skills"]);
    return heard;
  };
  const told = [id, "memory", JSON.stringify(prompt), JSON.stringify(end)];
  assertEquals(await heardOf([end, prompt]), told);
  assertEquals(await heardOf([prompt, end]), told);
});

Deno.test("HeadlessTwin asks at once what is asked at once, an initialization first", async () => {
  const { said, heard } = await asked(
    `echo started >> $FOLDER/heard
while read line; do
  echo "$line" >> $FOLDER/heard
  case "$line" in *shouldQuery*) echo '{"type":"system","subtype":"init","tools":["A"]}'; continue;; esac
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"error","request_id":"'"$id"'","error":"no"}}'
done`,
    { subtypes: ["first", "get_settings", "initialize"] },
  );
  assertEquals(said, [
    { error: "no" },
    { error: "no" },
    { error: "no", init: { type: "system", subtype: "init", tools: ["A"] } },
  ]);
  const order = heard.map((line) => {
    const { request, shouldQuery } = line.startsWith("{") ? JSON.parse(line) : {};
    return request?.subtype ?? shouldQuery ?? line;
  });
  // What asks the model for nothing makes Claude Code say what the session is like.
  assertEquals(order, ["started", "initialize", "first", "get_settings", false]);
});

Deno.test("HeadlessTwin answers each of several initializations that are asked for at once", async () => {
  const { said } = await asked(
    `while read line; do
  echo "$line" >> $FOLDER/heard
  case "$line" in *shouldQuery*) echo '{"type":"system","subtype":"init"}'; continue;; esac
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{"n":'"$id"'}}}'
done`,
    { subtypes: ["first", "initialize", "initialize"] },
  );
  const init = { type: "system", subtype: "init" };
  assertEquals(said.slice(1), [{ response: { n: 1 }, init }, { response: { n: 2 }, init }]);
});

Deno.test("HeadlessTwin asks the one that lives as long as it can answer", async () => {
  const script = `echo started >> $FOLDER/heard; n=0; while read line; do
  case "$line" in *shouldQuery*) echo '{"type":"system","subtype":"init"}'; continue;; esac
  echo "$line" >> $FOLDER/heard; n=$((n + 1))
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{"n":'$n'}}}'
done`;
  const grow = (transcript: string) =>
    Deno.writeTextFileSync(transcript, '{"type":"x"}\n', { append: true });
  const { heard } = await asked(script, {
    subtypes: ["initialize"],
    lines: [{ type: "x" }],
    later: [
      { subtype: "get_settings" },
      { subtype: "set_model", changes: { permissionMode: "plan" } },
      { subtype: "generate_session_title" },
      // What it was told at its start, or has been asked before, would be in its answers.
      { subtype: "get_context_usage" },
      { subtype: "get_settings", changes: { model: "opus" } },
      { subtype: "list_models", changes: { model: "opus" } },
      { subtype: "list_models", changes: { model: "opus" }, meanwhile: grow },
    ],
  });
  const order = heard.map((line) => line.startsWith("{") ? JSON.parse(line).request.subtype : line);
  assertEquals(order, [
    ...["started", "initialize", "get_settings"],
    ...["get_settings", "set_model", "get_settings", "generate_session_title"],
    ...["started", "get_context_usage"],
    ...["started", "get_settings", "list_models"],
    ...["started", "list_models"],
  ]);
});

Deno.test("HeadlessTwin is told of agents as claude -p is, whatever it is asked", async () => {
  const agents = { a: { description: "d", prompt: "p" } };
  const script = `while read line; do
  echo "$line" >> $FOLDER/heard
  ls "$FOLDER/twin/agents" | grep -c 0.md >> $FOLDER/heard
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'"}}'
  echo '{"type":"system","subtype":"init"}'
done`;
  const requestsOf = (heard: readonly string[]) =>
    heard.filter((line) => line.includes("control_request"))
      .map((line) => JSON.parse(line).request);
  const { seen, heard } = await asked(script, { agents });
  assertEquals(requestsOf(heard), [
    { subtype: "initialize", agents },
    { subtype: "get_settings", detail: true },
  ]);
  // The user's own alone are in files.
  assertEquals(seen, [".claude.json", "agents", "projects", "skills"]);
  assertEquals([...new Set(heard.filter((line) => !line.startsWith("{")))], ["0"]);
  const first = await asked(script, { agents, subtypes: ["initialize"] });
  assertEquals(requestsOf(first.heard), [{ subtype: "initialize", agents }]);
});

Deno.test("HeadlessTwin asks about MCP servers once they had time to connect", async () => {
  const { said, heard } = await asked(
    `echo "$@" >> $FOLDER/heard
while read line; do
  echo "$line" >> $FOLDER/heard
  case "$line" in
    *shouldQuery*) echo '{"type":"system","subtype":"init"}';;
    *mcp_status*) echo '${SUCCESS({ mcpServers: [] })}';;
  esac
done`,
    { subtypes: ["mcp_status"] },
  );
  assertEquals(said, [{ response: { mcpServers: [] } }]);
  const [args, ...lines] = heard;
  assertEquals(args, "-p --mcp-config=mine --no-session-persistence");
  assertEquals(lines.map((line) => JSON.parse(line).type), ["user", "control_request"]);
});

Deno.test("HeadlessTwin has a session begun that is kept, and says so once its transcript is whole", async () => {
  const begun = "22222222-2222-4222-8222-222222222222";
  const resultOf = (session_id: string) =>
    JSON.stringify({
      type: "result",
      result: "",
      num_turns: 0,
      is_error: false,
      session_id,
      local_command: "clear",
    });
  const clearing = { subtypes: [COMMAND], written: true, body: { prompt: "/clear", clears: true } };
  const { said, heard } = await asked(
    `echo "$@" >> $FOLDER/heard; read line; echo "$line" >> $FOLDER/heard
echo '${resultOf(begun)}'; read line; echo whole >> $FOLDER/heard`,
    clearing,
  );
  assertEquals(said, [{ response: { text: "", name: "clear", begun } }]);
  const [args, message = "", last] = heard;
  assertEquals([args, last], ["-p --mcp-config=mine", "whole"]);
  assertEquals(JSON.parse(message).message.content, "/clear");
  // It becomes a part of paths.
  const { said: [hostile] } = await asked(
    `echo x > $FOLDER/heard; echo '${resultOf("../../x")}'`,
    clearing,
  );
  assertStringIncludes(JSON.stringify(hostile), "has not said which session");
});

Deno.test("HeadlessTwin brings home what a command notes, where the session has not gone on meanwhile", async () => {
  const result = { type: "result", result: "Set", num_turns: 0, is_error: false, session_id: "s" };
  const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
  const note = { type: "user", uuid: "2", parentUuid: "1", message: { content: "/model x" } };
  const left = [
    { type: "queue-operation" },
    note,
    { type: "custom-title", customTitle: "T" },
    { type: "last-prompt", leafUuid: "2" },
    { type: "cost-state" },
  ];
  const title = { type: "system", subtype: "session_title_changed", title: "T" };
  const script = `echo "$@" >> $FOLDER/heard
read line; echo "$line" >> $FOLDER/heard; echo '${SUCCESS({ applied: { model: "a" } }, "before")}'
read line; echo "$line" >> $FOLDER/heard
echo '${JSON.stringify(title)}'; echo '${JSON.stringify(result)}'
read line; echo "$line" >> $FOLDER/heard; echo '${SUCCESS({ applied: { model: "b" } }, "after")}'
read line
echo '${
    left.map((line) => JSON.stringify(line)).join("\n")
  }' | tee -a $FOLDER/twin/projects/-w/*.jsonl > /dev/null`;
  const noting = {
    subtypes: [COMMAND],
    lines: [prompt],
    body: { prompt: "/model x" },
    notes: true as const,
    written: true,
  };
  const { said, heard, brought } = await asked(script, noting);
  const applied = { before: { model: "a" }, after: { model: "b" } };
  assertEquals(said, [{ response: { text: "Set", title: "T", ...applied } }]);
  const [args = "", ...words] = heard;
  assertEquals(args.includes("--no-session-persistence"), false);
  assertStringIncludes(args, "--resume=11111111");
  assertEquals(words.map((word) => JSON.parse(word).type), [
    ...["control_request", "user", "control_request"],
  ]);
  const lines = (entries: readonly object[]) => entries.map((entry) => JSON.stringify(entry));
  assertEquals(brought, lines([prompt, note, ...left.slice(2, 4)]));
  // The model would not hear of what was said meanwhile.
  const answer = { type: "assistant", uuid: "3", parentUuid: "1", message: {} };
  const late = { ...prompt, uuid: "3", parentUuid: "1" };
  const goneOn = await asked(script, {
    ...noting,
    meanwhile: (path) =>
      Deno.writeTextFileSync(path, lines([answer, late]).map((line) => `${line}\n`).join(""), {
        append: true,
      }),
  });
  assertEquals(goneOn.brought, lines([prompt, answer, late, ...left.slice(2, 3)]));
  // What is noted of the end of the turn meanwhile is nothing that is said.
  const end = { type: "system", uuid: "4", parentUuid: "1", subtype: "turn_duration" };
  const ended = await asked(script, {
    ...noting,
    meanwhile: (path) => Deno.writeTextFileSync(path, `${lines([end])}\n`, { append: true }),
  });
  assertEquals(
    ended.brought,
    lines([prompt, end, { ...note, parentUuid: "4" }, ...left.slice(2, 4)]),
  );
});

Deno.test("HeadlessTwin carries a command out with what those before it have changed and noted", async () => {
  const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
  const first = { type: "user", uuid: "2", parentUuid: "1", message: { content: "/model x" } };
  const second = { type: "user", uuid: "3", parentUuid: "2", message: { content: "/rename T" } };
  const result = { type: "result", result: "Set", num_turns: 0, is_error: false };
  const script = `echo "$@" >> $FOLDER/heard
cat $FOLDER/twin/projects/-w/*.jsonl > $FOLDER/seen
cat $FOLDER/twin.json >> $FOLDER/heard; echo >> $FOLDER/heard
read line; echo '${SUCCESS({ applied: {} }, "before")}'
read line; echo '${JSON.stringify(result)}'
read line; echo '${SUCCESS({ applied: {} }, "after")}'
read line
if grep -q /model $FOLDER/seen; then echo '${JSON.stringify(second)}'
else echo '${JSON.stringify(first)}'; fi | tee -a $FOLDER/twin/projects/-w/*.jsonl > /dev/null`;
  const { said, heard, brought } = await asked(script, {
    subtypes: [COMMAND, COMMAND],
    lines: [prompt],
    written: true,
    body: { prompt: "/model x" },
    notes: true,
    changes: [{}, { model: "sonnet", flagSettings: { ultracode: true } }],
  });
  assertEquals(said.length, 2);
  const [args = "", settings, otherArgs = "", otherSettings] = heard;
  assertEquals([settings, otherSettings].map((text) => JSON.parse(text ?? "")), [
    { disableAllHooks: true },
    { ultracode: true, disableAllHooks: true },
  ]);
  assertStringIncludes(args, "--model=model[1m]");
  assertStringIncludes(otherArgs, "--model=sonnet");
  assertEquals(brought, [prompt, first, second].map((line) => JSON.stringify(line)));
});

Deno.test("HeadlessTwin notes that a model was chosen, and nothing of the message that has it written down", async () => {
  const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
  const said = (uuid: number, content: string) => ({
    ...{ type: "user", uuid: `${uuid}`, parentUuid: `${uuid - 1}`, message: { content } },
  });
  const told = [
    said(2, "<local-command-caveat>Not said to you</local-command-caveat>"),
    said(3, "<command-name>/model</command-name>"),
    said(4, "<local-command-stdout>Set model</local-command-stdout>"),
  ];
  const written = [...told, said(5, "-"), { type: "last-prompt", leafUuid: "5" }];
  const script = `while read line; do
  echo "$line" >> $FOLDER/heard
  case "$line" in *shouldQuery*)
    echo '${written.map((line) => JSON.stringify(line)).join("\n")}' |
      tee -a $FOLDER/twin/projects/-w/*.jsonl > /dev/null
    echo '{"type":"result"}'; continue;;
  esac
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"$id"'","response":{"applied":{"model":"m"}}}}'
done`;
  const { heard, brought, said: answers } = await asked(script, {
    subtypes: ["set_model"],
    lines: [prompt],
    written: true,
    body: { model: "m" },
    notes: true,
  });
  const { response } = answers[0] as { readonly response: JsonObject };
  assertEquals([response.before, response.after], [{ model: "m" }, { model: "m" }]);
  assertEquals(heard.map((line) => JSON.parse(line)).map(({ request }) => request ?? "message"), [
    { subtype: "get_settings" },
    { model: "m", subtype: "set_model" },
    { subtype: "get_settings" },
    "message",
  ]);
  assertEquals(brought, [prompt, ...told].map((line) => JSON.stringify(line)));
});

const TITLED = [
  { subtype: "rename_session", body: { title: "T" }, title: { type: "custom-title" } },
  { subtype: "generate_session_title", body: { persist: true }, title: { type: "ai-title" } },
];

for (const { subtype, body, title } of TITLED) {
  Deno.test(`HeadlessTwin answers ${subtype} once the title is written down`, async () => {
    const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
    const { said, heard, brought } = await asked(
      `echo "$@" >> $FOLDER/heard; read line; echo "$line" >> $FOLDER/heard
echo '${SUCCESS(undefined)}'; read line
echo '${JSON.stringify(title)}' | tee -a $FOLDER/twin/projects/-w/*.jsonl > /dev/null`,
      { subtypes: [subtype], lines: [prompt], written: true, body },
    );
    assertEquals(said, [{ response: {} }]);
    assertEquals(heard[0]?.includes("--no-session-persistence"), false);
    assertEquals(heard.length, 2);
    assertEquals(brought, [prompt, title].map((line) => JSON.stringify(line)));
  });
}

Deno.test("HeadlessTwin is told what the conversation has cost where a command needs that", async () => {
  const script = `cat $FOLDER/twin/projects/-w/*.jsonl > $FOLDER/heard; read line
echo '{"type":"result","result":"$1","num_turns":0}'; exec sleep 60`;
  const prompt = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
  const asking = { subtypes: [COMMAND], lines: [prompt], costNote: { type: "cost-state" } };
  const body = { prompt: "/cost", needsCost: true };
  const { said, heard, brought } = await asked(script, { ...asking, body });
  assertEquals(said, [{ response: { text: "$1", hasCost: true } }]);
  assertEquals(heard.map((line) => JSON.parse(line)), [prompt, { type: "cost-state" }]);
  assertEquals(brought, [JSON.stringify(prompt)]);
  const other = await asked(script, { ...asking, body: { prompt: "/context" } });
  assertEquals(other.said, [{ response: { text: "$1" } }]);
  assertEquals(other.heard.map((line) => JSON.parse(line)), [prompt]);
});

Deno.test("HeadlessTwin says why there is no answer", async () => {
  const { said: [crashed] } = await asked("echo x > $FOLDER/heard; echo broken >&2; exit 3");
  assertEquals(crashed, { failure: "a headless Claude Code could not be asked: broken" });
  const { said: [silent] } = await asked("echo x > $FOLDER/heard; exit 0");
  assertEquals(silent, {
    failure: "a headless Claude Code could not be asked: it ended before it answered",
  });
  // What it has started, and holds its pipes as long as this test's folder is there, is waited for no longer than a moment.
  const { said: [held] } = await asked(
    "echo x > $FOLDER/heard; (while [ -e $FOLDER ]; do sleep 0.1; done) & echo broken >&2; exit 3",
  );
  assertEquals(held, crashed);
  const deep = `${"[".repeat(2000)}${"]".repeat(2000)}`;
  const { said: [hostile] } = await asked(
    `echo x > $FOLDER/heard; echo '{"type":"control_response","response":${deep}}'`,
  );
  assertStringIncludes(JSON.stringify(hostile), "could not be asked");
});

Deno.test("what is carried out is over with its program, whoever holds its output", async () => {
  const folder = Deno.realPathSync(Deno.makeTempDirSync());
  Deno.mkdirSync(`${folder}/config/projects`, { recursive: true });
  Deno.writeTextFileSync(`${folder}/config/.claude.json`, "{}");
  const program = `${folder}/claude`;
  Deno.writeTextFileSync(
    program,
    'while [ -e "$FOLDER/config" ]; do sleep 0.1; done &\necho $! > "$FOLDER/pid"\necho Done in "$1"\nexit 3\n',
  );
  try {
    await using twin = new HeadlessTwin({
      plan: {
        args: [program, `${folder}/twin`],
        serverArgs: [],
        env: { PATH: "/usr/bin:/bin", FOLDER: folder },
        configDir: `${folder}/twin`,
        userConfigDir: "/home/me/.claude",
        settings: { path: `${folder}/twin.json`, values: {} },
      },
      binary: "/bin/sh",
      cwd: folder,
      configDir: `${folder}/config`,
      sessionId: "11111111-1111-4111-8111-111111111111",
      isResumed: false,
      transcript: () => undefined,
      model: () => undefined,
      costNote: () => undefined,
      onArrival: () => {},
    });
    const said = await twin.carryOut([]);
    assertEquals(said, { code: 3, stdout: "Done in /home/me/.claude\n", stderr: "" });
    // Nobody has killed it, so that nothing has waited for it.
    const pid = Deno.readTextFileSync(`${folder}/pid`).trim();
    assertStringIncludes(Deno.readTextFileSync(`/proc/${pid}/cmdline`), program);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
