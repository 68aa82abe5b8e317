/**
 * The headless helper, with a shell script in the place of Claude Code: each test starts processes.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { HeadlessHelper } from "../../../src/driver/effects/headless_helper.ts";
import { SLASH_COMMAND } from "../../../src/conversation/protocol/requests/slash_commands.ts";
import type { ChildChanges } from "../../../src/conversation/control/effect.ts";
import type { HelperReply } from "../../../src/conversation/control/input.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { tempFolder } from "../../temp_folder.ts";

/** A name in the child's config dir. Below a long enough path it cannot be read, as if it were removed. */
const UNSEEN = "x".repeat(250);

/**
 * Functions of each script: `next` reads a line and writes it to `heard`; `reply` answers the request of that line;
 * `write` appends lines to the transcript.
 */
const PRELUDE = `
note() { printf '%s\\n' "$*" >> "$FOLDER/heard"; }
next() { read -r line && note "$line"; }
reply() {
  id=\${line#*'"request_id":"'}; id=\${id%%'"'*}
  echo '{"type":"control_response","response":{"subtype":"'"\${2:-success}"'","request_id":"'"$id"'",'"$1"'}}'
}
write() { tee -a "$FOLDER"/helper/projects/-w/*.jsonl > /dev/null; }
`;

const INIT = { type: "system", subtype: "init" };
const PROMPT = { type: "user", uuid: "1", parentUuid: null, message: { content: "Hi" } };
const textsOf = (lines: readonly unknown[]) => lines.map((line) => JSON.stringify(line));

type HelperOptions = ConstructorParameters<typeof HeadlessHelper>[0];

/** Makes a helper that runs the script `claude` of a folder. */
function helperIn(
  folder: string,
  { plan, ...options }: Partial<Omit<HelperOptions, "plan">> & {
    readonly plan?: Partial<HelperOptions["plan"]>;
  } = {},
): HeadlessHelper {
  return new HeadlessHelper({
    plan: {
      args: [`${folder}/claude`, "-p"],
      serverArgs: [],
      env: { PATH: "/usr/bin:/bin", FOLDER: folder },
      configDir: `${folder}/helper`,
      userConfigDir: "/home/me/.claude",
      settings: { path: `${folder}/helper.json`, values: {} },
      ...plan,
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
    ...options,
  });
}

/** Asks a shell script in the place of Claude Code; returns the answers, and what the script wrote down. */
async function ask(
  script: string,
  { subtypes = ["get_settings"], written = false, body = { detail: true }, ...others }: {
    readonly subtypes?: readonly string[];
    readonly written?: boolean;
    /** The session that the child resumed. */
    readonly resumed?: string;
    /** The lines of the transcript, if there is one. */
    readonly lines?: readonly object[];
    readonly body?: JsonObject;
    readonly notes?: true;
    readonly agents?: JsonObject;
    /** The child's config dir below the folder. */
    readonly below?: string;
    /** Changes the transcript before notes are copied. */
    readonly meanwhile?: (transcript: string) => void;
    readonly serversMs?: number;
    /** The note of the conversation's cost. */
    readonly costNote?: JsonObject;
    /** The changes of the child before each request. */
    readonly changes?: readonly ChildChanges[];
    /** Requests that follow one by one, after changes of the child and the transcript. */
    readonly later?: readonly {
      readonly subtype: string;
      readonly changes?: ChildChanges;
      readonly meanwhile?: (transcript: string) => void;
    }[];
  } = {},
) {
  const { agents, lines, below = "config", meanwhile = () => {}, resumed, serversMs } = others;
  const { changes = [], notes, later = [], costNote } = others;
  using temp = tempFolder({ "claude": PRELUDE + script });
  const folder = temp.path;
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
  const said = new Map<string, HelperReply>();
  let all = Promise.withResolvers<void>();
  let count = subtypes.length;
  const helper = helperIn(folder, {
    plan: {
      serverArgs: ["--mcp-config=mine"],
      ...(resumed === undefined ? {} : { resumed }),
      ...(agents === undefined ? {} : { agents }),
    },
    configDir,
    isResumed: written,
    transcript: () => transcript,
    model: () => "model[1m]",
    costNote: () => costNote,
    ...(serversMs === undefined ? {} : { serversMs }),
    onArrival: () => {
      for (const { id, said: one } of helper.takeAnswers()) {
        if (!("isUndescribed" in one)) said.set(id, one);
      }
      if (said.size === count) all.resolve();
    },
  });
  for (const [place, subtype] of subtypes.entries()) {
    const noting = notes === undefined ? {} : { notes };
    helper.ask({ id: `id-${place}`, subtype, body, ...noting }, changes[place]);
  }
  await all.promise;
  for (const { subtype, changes, meanwhile } of later) {
    meanwhile?.(transcript ?? configDir);
    all = Promise.withResolvers();
    helper.ask({ id: `id-${count++}`, subtype, body: {} }, changes);
    await all.promise;
  }
  meanwhile(transcript ?? configDir);
  helper.writeNotes();
  const brought = transcript === undefined
    ? []
    : Deno.readTextFileSync(transcript).trim().split("\n");
  await helper[Symbol.asyncDispose]();
  const seen = [...Deno.readDirSync(`${folder}/helper`)].map(({ name }) => name).toSorted();
  const heard = Deno.readTextFileSync(`${folder}/heard`).trim().split("\n");
  return { said: [...said.values()], seen, heard, brought };
}

const SUCCESS = (response: unknown, id = "0") =>
  JSON.stringify({
    type: "control_response",
    response: { subtype: "success", request_id: id, response },
  });

Deno.test("the helper ignores files that disappear", async () => {
  const below = Array(20).fill("d".repeat(195)).join("/");
  const { said } = await ask(`next; echo '${SUCCESS({ a: 1 })}'; exec sleep 60`, { below });
  assertEquals(said, [{ response: { a: 1 } }]);
});

Deno.test("the helper asks about servers within their time", async () => {
  const told = { mcpServers: [{ name: "mute", status: "pending" }] };
  const { said, heard } = await ask(
    `read -r line; next; echo '${SUCCESS(told)}'; exec sleep 60`,
    { subtypes: ["mcp_status"], serversMs: 0 },
  );
  assertEquals(said, [{ response: told }]);
  assertStringIncludes(heard.join(), "mcp_status");
});

Deno.test("the helper resumes the origin of an unwritten fork", async () => {
  const script = `note "$@"; read -r line; echo '${SUCCESS({})}'; exec sleep 60`;
  const resumed = "22222222-2222-4222-8222-222222222222";
  const before = await ask(script, { written: true, resumed });
  assertStringIncludes(before.heard[0] ?? "", `--resume=${resumed} `);
  const after = await ask(script, { written: true, resumed, lines: [{ type: "x" }] });
  assertStringIncludes(after.heard[0] ?? "", "--resume=11111111-1111-4111-8111-111111111111 ");
});

Deno.test("the helper starts like the child and hides its settings", async () => {
  const { said, seen, heard } = await ask(
    `note "$@"; next
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
    }' | sed "s#userSettings#$FOLDER/helper/x#"; exec sleep 60`,
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

Deno.test("the helper reads the unordered transcript of 2.1.197", async () => {
  const script = `ls $FOLDER/helper/projects/-w >> $FOLDER/heard
cat $FOLDER/helper/projects/-w/*.jsonl >> $FOLDER/heard; read -r line
echo '${SUCCESS({})}'`;
  const end = { type: "system", uuid: "2", parentUuid: "1", subtype: "turn_duration" };
  const id = "11111111-1111-4111-8111-111111111111.jsonl";
  const heardOf = async (lines: readonly object[]) => {
    const { heard, seen } = await ask(script, { lines });
    assertEquals(seen, [".claude.json", "projects", "skills"]);
    return heard;
  };
  const told = [id, "memory", JSON.stringify(PROMPT), JSON.stringify(end)];
  assertEquals(await heardOf([end, PROMPT]), told);
  assertEquals(await heardOf([PROMPT, end]), told);
});

Deno.test("the helper sends requests together, initialize first", async () => {
  const { said, heard } = await ask(
    `note started
while next; do
  case "$line" in *shouldQuery*) echo '${JSON.stringify(INIT)}'; continue;; esac
  reply '"error":"no"' error
done`,
    { subtypes: ["first", "get_settings", "initialize", "initialize"] },
  );
  const failed = { error: "no", init: INIT };
  assertEquals(said, [{ error: "no" }, { error: "no" }, failed, failed]);
  const order = heard.map((line) => {
    const { request, shouldQuery } = line.startsWith("{") ? JSON.parse(line) : {};
    return request?.subtype ?? shouldQuery ?? line;
  });
  // A message that asks the model nothing makes Claude Code print system/init.
  assertEquals(order, ["started", "initialize", "initialize", "first", "get_settings", false]);
});

Deno.test("the helper lives as long as its answers are current", async () => {
  const script = `note started
while read -r line; do
  case "$line" in *shouldQuery*) echo '${JSON.stringify(INIT)}'; continue;; esac
  note "$line"; reply '"response":{}'
done`;
  const grow = (transcript: string) =>
    Deno.writeTextFileSync(transcript, '{"type":"x"}\n', { append: true });
  const { heard } = await ask(script, {
    subtypes: ["initialize"],
    lines: [{ type: "x" }],
    later: [
      { subtype: "get_settings" },
      { subtype: "set_model", changes: { permissionMode: "plan" } },
      { subtype: "generate_session_title" },
      // Its answer would contain earlier requests and changes.
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

Deno.test("the helper receives agents with initialize, not as files", async () => {
  const agents = { a: { description: "d", prompt: "p" } };
  const script = `while next; do
  ls "$FOLDER/helper/agents" | grep -c 0.md >> $FOLDER/heard
  reply '"response":{}'; echo '${JSON.stringify(INIT)}'
done`;
  const initialize = { subtype: "initialize", agents };
  for (
    const [subtype, requests] of [
      ["get_settings", [initialize, { subtype: "get_settings", detail: true }]],
      ["initialize", [initialize]],
    ] as const
  ) {
    const { seen, heard } = await ask(script, { agents, subtypes: [subtype] });
    const sent = heard.filter((line) => line.includes("control_request"));
    assertEquals(sent.map((line) => JSON.parse(line).request), [...requests]);
    // The user's own agents are files.
    assertEquals(seen, [".claude.json", "agents", "projects", "skills"]);
    assertEquals([...new Set(heard.filter((line) => !line.startsWith("{")))], ["0"]);
  }
});

Deno.test("the helper asks about servers once they could connect", async () => {
  const { said, heard } = await ask(
    `note "$@"
while next; do
  case "$line" in
    *shouldQuery*) echo '${JSON.stringify(INIT)}';;
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

Deno.test("the helper reports a new session once it is written", async () => {
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
  const clearing = {
    subtypes: [SLASH_COMMAND],
    written: true,
    body: { prompt: "/clear", clears: true },
  };
  const { said, heard } = await ask(
    `note "$@"; next
echo '${resultOf(begun)}'; read -r line; note whole`,
    clearing,
  );
  assertEquals(said, [{ response: { text: "", name: "clear", begun } }]);
  const [args, message = "", last] = heard;
  assertEquals([args, last], ["-p --mcp-config=mine", "whole"]);
  assertEquals(JSON.parse(message).message.content, "/clear");
  // The id becomes a part of paths.
  const { said: [hostile] } = await ask(`note x; echo '${resultOf("../../x")}'`, clearing);
  assertStringIncludes(JSON.stringify(hostile), "has not said which session");
});

Deno.test("the helper copies a command's notes into an unchanged session", async () => {
  const result = { type: "result", result: "Set", num_turns: 0, is_error: false, session_id: "s" };
  const note = { type: "user", uuid: "2", parentUuid: "1", message: { content: "/model x" } };
  const left = [
    { type: "queue-operation" },
    note,
    { type: "custom-title", customTitle: "T" },
    { type: "last-prompt", leafUuid: "2" },
    { type: "cost-state" },
  ];
  const title = { type: "system", subtype: "session_title_changed", title: "T" };
  const script = `note "$@"
next; echo '${SUCCESS({ applied: { model: "a" } }, "before")}'
next
echo '${JSON.stringify(title)}'; echo '${JSON.stringify(result)}'
next; echo '${SUCCESS({ applied: { model: "b" } }, "after")}'
read -r line
echo '${textsOf(left).join("\n")}' | write`;
  const noting = {
    subtypes: [SLASH_COMMAND],
    lines: [PROMPT],
    body: { prompt: "/model x" },
    notes: true as const,
    written: true,
  };
  const { said, heard, brought } = await ask(script, noting);
  const applied = { before: { model: "a" }, after: { model: "b" } };
  assertEquals(said, [{ response: { text: "Set", title: "T", ...applied } }]);
  const [args = "", ...words] = heard;
  assertEquals(args.includes("--no-session-persistence"), false);
  assertStringIncludes(args, "--resume=11111111");
  assertEquals(words.map((word) => JSON.parse(word).type), [
    ...["control_request", "user", "control_request"],
  ]);
  assertEquals(brought, textsOf([PROMPT, note, ...left.slice(2, 4)]));
  // A message in the meantime is not an ancestor of the note.
  const answer = { type: "assistant", uuid: "3", parentUuid: "1", message: {} };
  const late = { ...PROMPT, uuid: "3", parentUuid: "1" };
  const goneOn = await ask(script, {
    ...noting,
    meanwhile: (path) =>
      Deno.writeTextFileSync(path, textsOf([answer, late]).map((line) => `${line}\n`).join(""), {
        append: true,
      }),
  });
  assertEquals(goneOn.brought, textsOf([PROMPT, answer, late, ...left.slice(2, 3)]));
  // The end of a turn in the meantime is no message.
  const end = { type: "system", uuid: "4", parentUuid: "1", subtype: "turn_duration" };
  const ended = await ask(script, {
    ...noting,
    meanwhile: (path) => Deno.writeTextFileSync(path, `${textsOf([end])}\n`, { append: true }),
  });
  assertEquals(
    ended.brought,
    textsOf([PROMPT, end, { ...note, parentUuid: "4" }, ...left.slice(2, 4)]),
  );
});

Deno.test("the helper sees changes and notes of earlier commands", async () => {
  const first = { type: "user", uuid: "2", parentUuid: "1", message: { content: "/model x" } };
  const second = { type: "user", uuid: "3", parentUuid: "2", message: { content: "/rename T" } };
  const result = { type: "result", result: "Set", num_turns: 0, is_error: false };
  const script = `note "$@"
cat $FOLDER/helper/projects/-w/*.jsonl > $FOLDER/seen
cat $FOLDER/helper.json >> $FOLDER/heard; echo >> $FOLDER/heard
read line; echo '${SUCCESS({ applied: {} }, "before")}'
read line; echo '${JSON.stringify(result)}'
read line; echo '${SUCCESS({ applied: {} }, "after")}'
read line
if grep -q /model $FOLDER/seen; then echo '${JSON.stringify(second)}'
else echo '${JSON.stringify(first)}'; fi | write`;
  const { said, heard, brought } = await ask(script, {
    subtypes: [SLASH_COMMAND, SLASH_COMMAND],
    lines: [PROMPT],
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
  assertEquals(brought, textsOf([PROMPT, first, second]));
});

Deno.test("the helper notes a chosen model without its message", async () => {
  const said = (uuid: number, content: string) => ({
    ...{ type: "user", uuid: `${uuid}`, parentUuid: `${uuid - 1}`, message: { content } },
  });
  const told = [
    said(2, "<local-command-caveat>Not said to you</local-command-caveat>"),
    said(3, "<command-name>/model</command-name>"),
    said(4, "<local-command-stdout>Set model</local-command-stdout>"),
  ];
  const written = [...told, said(5, "-"), { type: "last-prompt", leafUuid: "5" }];
  const script = `while next; do
  case "$line" in *shouldQuery*)
    echo '${textsOf(written).join("\n")}' | write
    echo '{"type":"result"}'; continue;;
  esac
  reply '"response":{"applied":{"model":"m"}}'
done`;
  const { heard, brought, said: answers } = await ask(script, {
    subtypes: ["set_model"],
    lines: [PROMPT],
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
  assertEquals(brought, textsOf([PROMPT, ...told]));
});

for (
  const { subtype, body, title } of [
    { subtype: "rename_session", body: { title: "T" }, title: { type: "custom-title" } },
    { subtype: "generate_session_title", body: { persist: true }, title: { type: "ai-title" } },
  ]
) {
  Deno.test(`the helper answers ${subtype} once the title is written`, async () => {
    const { said, heard, brought } = await ask(
      `note "$@"; next
echo '${SUCCESS(undefined)}'; read -r line; echo '${JSON.stringify(title)}' | write`,
      { subtypes: [subtype], lines: [PROMPT], written: true, body },
    );
    assertEquals(said, [{ response: {} }]);
    assertEquals(heard[0]?.includes("--no-session-persistence"), false);
    assertEquals([heard.length, brought], [2, textsOf([PROMPT, title])]);
  });
}

Deno.test("the helper receives the cost if a command needs it", async () => {
  const script = `cat $FOLDER/helper/projects/-w/*.jsonl > $FOLDER/heard; read line
echo '{"type":"result","result":"$1","num_turns":0}'; exec sleep 60`;
  const asking = { subtypes: [SLASH_COMMAND], lines: [PROMPT], costNote: { type: "cost-state" } };
  const body = { prompt: "/cost", needsCost: true };
  const { said, heard, brought } = await ask(script, { ...asking, body });
  assertEquals(said, [{ response: { text: "$1", hasCost: true } }]);
  assertEquals(heard.map((line) => JSON.parse(line)), [PROMPT, { type: "cost-state" }]);
  assertEquals(brought, textsOf([PROMPT]));
  const other = await ask(script, { ...asking, body: { prompt: "/context" } });
  assertEquals(other.said, [{ response: { text: "$1" } }]);
  assertEquals(other.heard.map((line) => JSON.parse(line)), [PROMPT]);
});

Deno.test("the helper says why there is no answer", async () => {
  const failed = (reason: string) => ({
    failure: `a headless Claude Code could not be asked: ${reason}`,
  });
  const deep = `${"[".repeat(2000)}${"]".repeat(2000)}`;
  for (
    const [script, answer] of [
      // A process that it leaves, and that holds its pipes, does not delay the answer.
      ["(while [ -e $FOLDER ]; do sleep 0.1; done) & echo broken >&2; exit 3", failed("broken")],
      ["exit 0", failed("it ended before it answered")],
      [`echo '{"type":"control_response","response":${deep}}'`, undefined],
    ] as const
  ) {
    const { said: [one] } = await ask(`note x; ${script}`);
    if (answer === undefined) assertStringIncludes(JSON.stringify(one), "could not be asked");
    else assertEquals(one, answer);
  }
});

Deno.test("a command ends with its program, whoever holds its output", async () => {
  using temp = tempFolder({
    "config/projects/": "",
    "config/.claude.json": "{}",
    "claude": 'sleep 1000 &\necho $! > "$FOLDER/pid"\necho Done in "$1"\nexit 3\n',
  });
  const folder = temp.path;
  await using helper = helperIn(folder, {
    plan: { args: [`${folder}/claude`, `${folder}/helper`] },
  });
  const said = await helper.runArguments([]);
  assertEquals(said, { code: 3, stdout: "Done in /home/me/.claude\n", stderr: "" });
  // The process that holds the output still runs.
  const pid = Number(Deno.readTextFileSync(`${folder}/pid`));
  assertEquals(/\) Z /u.test(Deno.readTextFileSync(`/proc/${pid}/stat`)), false);
  Deno.kill(pid, "SIGKILL");
});
