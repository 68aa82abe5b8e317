import { assertEquals } from "@std/assert";
import {
  argsOf,
  both,
  CONVERSATION,
  FACTS,
  fileOf,
  flags,
  FOLDER,
  FRESH,
  initialized,
  local,
  planOf,
  project,
  rule,
  settingsOf,
  user,
} from "./plan_of.ts";
import { storedLogin } from "../../sandbox/stored_login.ts";

const hooks = (event: string) => ({ hooks: { [event]: [] } });
const mode = (defaultMode: string) => ({ permissions: { defaultMode } });

rule("the permission mode is in the arguments and frames", (planned) => {
  const [argument] = argsOf(planned, "--permission-mode");
  assertEquals([argument, planned.conversation.frames.permissionMode], [
    planned.permissionMode,
    planned.permissionMode,
  ]);
  return argument;
}, [
  ["default"],
  ["plan", { permissionMode: "plan" }],
  ["bypassPermissions", { permissionMode: "plan", dangerouslySkipPermissions: true }],
  ["acceptEdits", {}, project(mode("acceptEdits"))],
  ["default", {}, project(mode("bypassPermissions"))],
  ["auto", {}, { version: "2.1.285" }],
  ["default", { env: { CLAUDE_CODE_REMOTE: "true" } }, user(mode("dontAsk"))],
]);

rule("fast mode comes from flags or the caller's settings", "frames.fastMode", [
  [undefined],
  ["on", {}, { callerSettings: { fastMode: true } }],
  [undefined, {}, user({ fastMode: true })],
  [undefined, { forwarded: ["--fast-mode=on", "--fast-mode=off"] }, {
    callerSettings: { fastMode: true },
  }],
  ["on", { forwarded: ["--fast-mode=on"] }],
  ["disabled_by_env", {
    forwarded: ["--fast-mode=on"],
    env: { CLAUDE_CODE_DISABLE_FAST_MODE: "1" },
  }],
]);

rule("paths in a kept session have their final form", "frames.homes.child", [[
  `${FOLDER}/.claude`,
], [undefined, { persistSession: false }]]);

rule("the sandbox counts where it is installed", "frames.sandboxed", [
  [undefined],
  [true, {}, { sandboxLack: [] }],
  [undefined, {}, { sandboxLack: ["socat"] }],
]);

const LIMIT = { env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: "5000" } };

rule("frames know the user's own output limit", "frames.limitsOutput", [
  [undefined],
  [true, LIMIT],
  [true, {}, user(LIMIT)],
]);

const LEARNT = { "2.1.400": {}, "2.1.401": {} } as unknown as typeof FACTS.learnt & object;

rule("frames know the learnt facts of the version", "frames.learnt", [
  [undefined],
  [LEARNT, {}, { learnt: LEARNT }],
  [{ "2.1.401": {} }, {}, { learnt: LEARNT, version: "2.1.401" }],
  [undefined, {}, { learnt: LEARNT, version: "2.1.332" }],
]);

const remembering = (path: unknown) => ({ autoMemoryDirectory: path });
const MEMORY = "/u/.claude/projects/-w/memory/";

rule("memory stays in its folder", (planned) => {
  assertEquals(settingsOf(planned).autoMemoryDirectory, planned.conversation.frames.memoryPath);
  return planned.conversation.frames.memoryPath;
}, [
  [MEMORY],
  ["/m/", {}, user(remembering("/m/"))],
  ["/c/", {}, { callerSettings: remembering("/c/"), ...user(remembering("/m/")) }],
  [MEMORY, {}, project(remembering("/p/"))],
  [MEMORY, {}, user(remembering(1))],
]);

const STORED = storedLogin("max");
const KEY_FD = "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR";

rule(
  "frames name the source of the key, failures the variable",
  "frames.apiKeySource report.credential",
  [
    [["none", undefined], {}, { login: STORED }],
    [
      ["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"],
      { env: { ANTHROPIC_API_KEY: "k" } },
      { login: { kind: "variable", name: "ANTHROPIC_API_KEY" } },
    ],
    [["ANTHROPIC_API_KEY", KEY_FD], {}, { login: { kind: "variable", name: KEY_FD } }],
    [["apiKeyHelper", undefined], {}, user({ apiKeyHelper: "/bin/key" })],
  ],
);

rule("the last output style counts", "frames.outputStyle", [
  [undefined],
  ["Mine", {}, user({ outputStyle: "Mine" })],
  ["Ours", {}, both(user({ outputStyle: "Mine" }), local({ outputStyle: "Ours" }))],
  ["Mine", {}, both(user({ outputStyle: "Mine" }), flags({ outputStyle: 7 }))],
]);

rule("frames know of hooks before tool calls", "frames.callHooks", [
  [undefined],
  // The user's hooks are not read, and few plugins have one.
  [undefined, {}, user(hooks("PreToolUse"))],
  [true, { inheritHooks: true }, user(hooks("PreToolUse"))],
  [undefined, {}, user({ enabledPlugins: { p: true } })],
  [true, {}, project(hooks("PreToolUse"))],
  [undefined, {}, project(hooks("Stop"))],
  [true, { maxBudgetUsd: 1 }],
]);

rule("a caller may tighten a loose mode", (planned) => [
  settingsOf(planned).hooks.PreToolUse?.map(({ matcher }: { matcher?: string }) => matcher),
  planned.conversation.session.loose,
  planned.conversation.frames.callHooks,
], [
  [[undefined, undefined, undefined], { ...CONVERSATION, asksCaller: true }],
  [[undefined, undefined, undefined], { ...CONVERSATION, permissionMode: "acceptEdits" }],
  [[[undefined], true, true], { ...CONVERSATION, asksCaller: true, permissionMode: "acceptEdits" }],
  // The mode of a single prompt does not change.
  [[undefined, undefined, undefined], { asksCaller: true, permissionMode: "acceptEdits" }],
]);

rule("PreModelSwitch hooks that run are watched", "session.caller.watchesModels", [
  [undefined, CONVERSATION],
  [true, CONVERSATION, project(hooks("PreModelSwitch"))],
  [undefined, CONVERSATION, user(hooks("PreModelSwitch"))],
  [true, { ...CONVERSATION, inheritHooks: true }, user(hooks("PreModelSwitch"))],
]);

const TIMES = {
  timeoutMs: 59_000,
  startTimeoutMs: 1000,
  deliveryTimeoutMs: 2000,
  drainTimeoutMs: 3000,
  exitTimeoutMs: 4000,
};
const SESSION = { size: FACTS.terminalSize, ...TIMES, otherStopHooks: false, keptAtEnd: true };
const FRAMES = {
  sessionId: FRESH,
  cwd: "/w/inner",
  permissionMode: "default",
  apiKeySource: "none",
  memoryPath: MEMORY,
  servedByAnthropic: true,
  seed: FACTS.seed,
  startedAt: FACTS.now,
  servers: [],
  homes: { child: `${FOLDER}/.claude`, user: "/u/.claude" },
};
const LIMITS = { ...TIMES, timeoutMs: 60_000 };
const before = { results: 1, totalUsd: 0.5, apiDurationMs: 7 };
const asked = {
  ...{ idleTimeoutMs: 5000, maxTurns: 3, requestsMade: 3, maxBudgetUsd: 2 },
} as const;

rule("orders and facts reach the conversation", ({ conversation }) => conversation, [
  [{
    session: SESSION,
    frames: { ...FRAMES, subagentsUnread: true },
    report: { limits: LIMITS, binary: "/bin/claude" },
  }],
  [
    {
      session: {
        ...SESSION,
        ...asked,
        conversation: true,
        timeoutMs: 60_000,
        loose: true,
        paidUsd: 0.5,
        asksStatus: true,
        imagesDir: `${FOLDER}/tmp/images`,
        mcpServers: 1,
        bridged: ["s"],
        caller: {
          idPrefix: FACTS.seed,
          callbacks: [],
          permissions: true,
          servers: ["s"],
          setServers: { s: { type: "sdk" } },
          switched: { s: true },
          mayBypass: true,
          permissionMode: "bypassPermissions",
          initialized: { id: "i" },
        },
        hasOnStdin: true,
      },
      frames: {
        ...FRAMES,
        conversation: true,
        home: "/h",
        permissionMode: "bypassPermissions",
        servedByAnthropic: false,
        servers: [{ name: "s", source: "sdk", disabled: false }],
        faultyServers: [{ name: "f", error: "e" }],
        before,
        replay: true,
        callHooks: true,
        subagentText: true,
        hookEvents: true,
        title: "My title",
        mirrorPath: `/u/.claude/projects/-w-inner/${FRESH}.jsonl`,
        model: "m",
      },
      report: {
        limits: { ...LIMITS, idleTimeoutMs: 5000 },
        binary: "/bin/claude",
        maxTurns: 3,
        maxBudgetUsd: 2,
        record: "/r",
      },
    },
    {
      ...{ ...CONVERSATION, ...asked, before, limitsTold: true, onStdin: "x", asksCaller: true },
      ...initialized({ servers: ["s"] }),
      setServers: { s: { type: "sdk" } },
      switched: { s: true },
      ...{ replayMessages: true, subagentText: true, hookEvents: true, sessionMirror: true },
      ...{ chosenModel: "m", record: "/r", dangerouslySkipPermissions: true },
      forwarded: ["--name= My title "],
      env: { HOME: "/h", ANTHROPIC_BASE_URL: "http://localhost" },
    },
    { faultyServers: [{ name: "f", error: "e" }] as never },
  ],
]);

rule("a caller without a conversation is absent", "session.caller.isAbsent", [
  [undefined],
  [true, { asksCaller: true }],
]);

rule("without hooks nothing is kept at the end", "session.hookless session.keptAtEnd", [
  [[undefined, true]],
  [[true, undefined], { forwarded: ["--bare"] }],
]);

rule("a prompt is a message, perhaps a command", ({ message }) => message, [
  [{ text: "hello there", way: "stdin" }],
  [{ text: "/mine a b", way: "stdin", command: "/mine", altered: "a tab" }, {
    ...{ prompt: "/mine a b", altered: "a tab" },
  }, { gated: { expands: true } }],
]);

rule(
  "a child that reads no mentions is told so",
  "env.CLAUDE_CODE_DISABLE_ATTACHMENTS session.readsNoMentions",
  [[[undefined, undefined]], [["1", true], { readsNoMentions: true }]],
);

rule(
  "a prompt for a subagent has no background tasks",
  "env.CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
  [
    ["1", {}, { gated: { expands: true, forks: true } }],
    [undefined, {}, { gated: { expands: true } }],
  ],
);

const SDK = { CLAUDE_CODE_SDK_READS_SESSION_STATE: "1" };
const ASKED = { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "true" };

rule("session states are printed for SDKs and on request", "frames.activity", [
  [undefined, CONVERSATION],
  [true, { ...CONVERSATION, env: SDK }],
  ["shown", { ...CONVERSATION, env: ASKED }],
  ["shown", { ...CONVERSATION, env: { ...SDK, ...ASKED } }],
  [undefined, { env: ASKED }],
]);

const OFF = { CLAUDE_PRINT_SHELL_OUTPUT: "off" };

rule("--shell-output needs its variable not to be off", "frames.shellOutput", [
  [undefined],
  ["joined", { shellOutput: "joined" }],
  ["split", { shellOutput: "split" }],
  [undefined, { shellOutput: "joined", env: OFF }],
]);

Deno.test("plan: joined shell output changes nothing for the child", () => {
  const [plain, asked] = [planOf(), planOf({ shellOutput: "joined" })];
  assertEquals([asked.args, asked.env, asked.contents], [plain.args, plain.env, plain.contents]);
});

const shell = (name: string) => `${FOLDER}/.claude/shell/${name}`;

rule("split shell output wraps the user's shell", (planned) => {
  const path = planned.env["CLAUDE_CODE_SHELL"];
  const file = planned.contents.files.find((each) => each.path === path);
  const [restored] = /^.*(?:unset|export) CLAUDE_CODE_SHELL.*$/mu.exec(file?.text ?? "") ?? [];
  return [path, file?.runs, file?.text.trimEnd().split("\n").at(-1), restored?.trim()];
}, [
  [
    [shell("bash"), true, `exec '/bin/bash' "$@"`, "unset CLAUDE_CODE_SHELL"],
    { shellOutput: "split" },
  ],
  [
    [shell("zsh"), true, `exec '/usr/bin/zsh' "$@"`, "unset CLAUDE_CODE_SHELL"],
    { shellOutput: "split", env: { SHELL: "/usr/bin/zsh" } },
  ],
  // The tool of Claude Code uses bash or zsh.
  [
    [shell("bash"), true, `exec '/bin/bash' "$@"`, "unset CLAUDE_CODE_SHELL"],
    { shellOutput: "split", env: { SHELL: "/bin/fish" } },
  ],
  [
    [shell("bash"), true, `exec '/opt/bash' "$@"`, "export CLAUDE_CODE_SHELL='/opt/bash'"],
    { shellOutput: "split", env: { SHELL: "/usr/bin/zsh", CLAUDE_CODE_SHELL: "/opt/bash" } },
  ],
  [[undefined, undefined, undefined, undefined], { shellOutput: "split", env: OFF }],
]);

Deno.test("plan: asks no clock and draws no random number", () => {
  const fail = () => {
    throw new Error("A plan depends on its order and facts alone");
  };
  const real = [Date.now, Math.random, crypto.randomUUID] as const;
  [Date.now, Math.random, crypto.randomUUID] = [fail, fail, fail];
  try {
    assertEquals(fileOf(planOf(), "own/prompt"), "hello there");
  } finally {
    [Date.now, Math.random, crypto.randomUUID] = real;
  }
});
