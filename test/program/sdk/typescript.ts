/**
 * A user of the Agent SDK for TypeScript: plays scenarios and prints what it sees of each as a line of JSON.
 *
 * Its argument is JSON: the SDK's module, the executable in the place of Claude Code's, and the scenarios' names.
 *
 * @module
 */
import { z } from "zod";

/** The part of the SDK that is used here. */
interface Sdk {
  readonly query: (of: { readonly prompt: unknown; readonly options: unknown }) => Query;
  readonly tool: (name: string, description: string, shape: unknown, run: unknown) => unknown;
  readonly createSdkMcpServer: (server: unknown) => unknown;
  readonly HOOK_EVENTS: readonly string[];
  readonly AbortError: typeof Error;
}

interface Query extends AsyncIterable<Message> {
  readonly interrupt: () => Promise<unknown>;
  readonly setModel: (model?: string) => Promise<unknown>;
  readonly setPermissionMode: (mode: string) => Promise<unknown>;
  readonly setMaxThinkingTokens: (tokens: number | null) => Promise<unknown>;
}

interface Message {
  readonly type: string;
  readonly subtype?: string;
  readonly session_id?: string;
  readonly message?: { readonly content: readonly { readonly type: string }[] };
  readonly [field: string]: unknown;
}

type Options = Readonly<Record<string, unknown>>;

/** What a scenario works with. */
interface Stage {
  readonly sdk: Sdk;
  /** Starts a query with these and the usual options. */
  readonly query: (prompt: unknown, options?: Options) => Query;
  /** Records something that the user sees. */
  readonly see: (what: unknown) => void;
  /** Records a call of the user's code, which is not ordered with messages. */
  readonly call: (what: unknown) => void;
}

/** A conversation of several turns. */
interface Talk {
  readonly query: Query;
  /** Sends a message, and sees everything up to the result. */
  readonly say: (text: string, more?: Options) => Promise<void>;
  /** Sends a message and does not wait. */
  readonly tell: (text: string, more?: Options) => void;
  /** Sees everything up to a message. */
  readonly until: (is: (message: Message) => boolean) => Promise<void>;
  /** Sends nothing more, and sees the rest. */
  readonly end: () => Promise<void>;
}

const isResult = ({ type }: Message) => type === "result";
const calls = (tool: string) => ({ message }: Message) =>
  JSON.stringify(message ?? null).includes(`"name":"${tool}"`);

function talk({ query, see }: Stage, options: Options = {}): Talk {
  const said: unknown[] = [];
  let wake = () => {};
  let isOver = false;
  async function* prompts() {
    for (;;) {
      while (said.length > 0) yield said.shift();
      if (isOver) return;
      await new Promise<void>((resolve) => wake = resolve);
    }
  }
  const running = query(prompts(), options);
  const messages = running[Symbol.asyncIterator]();
  const until = async (is: (message: Message) => boolean) => {
    for (;;) {
      const { done, value } = await messages.next();
      if (done) return;
      see(value);
      if (is(value)) return;
    }
  };
  const tell = (text: string, more: Options = {}) => {
    const message = { role: "user", content: text };
    said.push({ type: "user", message, parent_tool_use_id: null, session_id: "", ...more });
    wake();
  };
  return {
    query: running,
    tell,
    until,
    say: async (text, more) => {
      tell(text, more);
      await until(isResult);
    },
    end: async () => {
      isOver = true;
      wake();
      await until(() => false);
    },
  };
}

async function seeAll({ query, see }: Stage, prompt: unknown, options: Options = {}) {
  const messages: Message[] = [];
  for await (const message of query(prompt, options)) {
    messages.push(message);
    see(message);
  }
  return messages;
}

/** Sees an error that is expected, and everything before it. */
async function seeError(stage: Stage, prompt: unknown, options: Options) {
  try {
    await seeAll(stage, prompt, options);
    stage.see({ thrown: null });
  } catch (error) {
    stage.see({ thrown: `${error}` });
  }
}

const bash = (command: string) => `[[bash ${command}]]`;

/** Waits for a file that a tool creates. */
async function isThere(path: string): Promise<void> {
  while (await Deno.stat(path).then(() => false, () => true)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const QUESTION = {
  question: "Which?",
  header: "Pick",
  options: [{ label: "A", description: "a" }, { label: "B", description: "b" }],
  multiSelect: false,
};

/** The turn waits for it: messages of a background subagent come in any order. */
const SUBAGENT = {
  description: "greet",
  prompt: "Greet. [[say hi]]",
  subagent_type: "my-agent",
  run_in_background: false,
};

const AGENTS = { "my-agent": { description: "Greets", prompt: "You greet.", tools: ["Read"] } };

const SCENARIOS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  async "permissions"(stage) {
    const canUseTool = (
      name: string,
      input: Readonly<Record<string, unknown>>,
      { signal: _, suggestions: __, requestId: ___, blockedPath: ____, ...context }: Options,
    ) => {
      stage.call({ asked: name, input, context });
      const { command, questions } = input;
      if (questions !== undefined) {
        return { behavior: "allow", updatedInput: { questions, answers: { "Which?": "B" } } };
      }
      switch (command) {
        case "touch no":
          return { behavior: "deny", message: "Not this one" };
        case "touch other":
          return { behavior: "allow", updatedInput: { command: "echo another" } };
        case "touch stop":
          return { behavior: "deny", message: "Not at all", interrupt: true };
        case "touch broken":
          throw new Error("the user's code broke");
        default:
          return { behavior: "allow", updatedInput: input };
      }
    };
    const { say, end } = talk(stage, { canUseTool });
    await say(`One. ${bash("touch yes")} ${bash("touch no")} [[say first]]`);
    await say(`Two. ${bash("touch other")} ${bash("touch broken")} [[say second]]`);
    await say(
      `Three. [[tool AskUserQuestion ${JSON.stringify({ questions: [QUESTION] })}]] [[say third]]`,
    );
    await say(`Four. ${bash("touch stop")} [[say never]]`);
    await say("Five. [[say fifth]]");
    await end();
  },

  async "every hook, and some that decide"(stage) {
    const called = new Set<string>();
    const hook = (event: string) => (input: Options, toolUseId: unknown) => {
      const { hook_event_name: name, tool_name: tool, agent_type: agent } = input;
      called.add(JSON.stringify([event, name, tool, agent, typeof toolUseId]));
      return {};
    };
    // A hook for one of these replaces what Claude Code does itself.
    const events = stage.sdk.HOOK_EVENTS.filter((event) => !event.startsWith("Worktree"));
    const hookSpecificOutput = (hookEventName: string, more: Options) => ({
      hookSpecificOutput: { hookEventName, ...more },
    });
    const before = ({ tool_input: { command } }: { tool_input: { command: string } }) => {
      switch (command) {
        case "echo no":
          return hookSpecificOutput("PreToolUse", {
            permissionDecision: "deny",
            permissionDecisionReason: "Not here",
          });
        case "touch deferred":
          return hookSpecificOutput("PreToolUse", { permissionDecision: "defer" });
        case "touch allowed":
          return hookSpecificOutput("PreToolUse", {
            permissionDecision: "allow",
            updatedInput: { command: "echo in its place" },
            additionalContext: "Seen by a hook",
          });
        default:
          return {};
      }
    };
    const after = ({ tool_input: { command } }: { tool_input: { command: string } }) =>
      command === "echo last"
        ? { continue: false, stopReason: "That is enough" }
        : hookSpecificOutput("PostToolUse", { additionalContext: "Looked at" });
    const prompt = ({ prompt }: { prompt: string }) =>
      prompt.startsWith("Three") ? { decision: "block", reason: "Not this" } : {};
    const deciding: Readonly<Record<string, unknown>> = {
      PreToolUse: { matcher: "Bash", hooks: [before] },
      PostToolUse: { matcher: "Bash", hooks: [after] },
      UserPromptSubmit: { hooks: [prompt] },
    };
    const hooks = Object.fromEntries(
      events.map((event) => [event, [{ hooks: [hook(event)] }, ...[deciding[event] ?? []].flat()]]),
    );
    // Messages of a subagent come in any order among the others.
    const see = (message: unknown) => {
      if (!(message as Message).parent_tool_use_id) stage.see(message);
    };
    const options = { hooks, agents: AGENTS, allowedTools: ["Agent"] };
    const { say, end } = talk({ ...stage, see }, options);
    await say(`One. ${bash("echo no")} ${bash("touch allowed")} [[say first]]`);
    await say(`Two. ${bash("echo last")} [[say never]]`);
    await say("Three. [[say never]]");
    await say(`Four. ${bash("echo yes")} ${bash("ls nowhere")} [[say fourth]]`);
    await say(`Five. [[tool Agent ${JSON.stringify(SUBAGENT)}]] [[say fifth]]`);
    await say(`Six. ${bash("touch deferred")} [[say never]]`);
    await say(`Seven. ${bash("ls deferred")} [[say seventh]]`);
    await end();
    stage.call([...called].sort());
  },

  async "control, and tools of its own"(stage) {
    const { sdk, call } = stage;
    const add = sdk.tool(
      "add",
      "Adds two numbers",
      { a: z.number(), b: z.number() },
      ({ a, b }: { a: number; b: number }) => {
        call({ called: "add", a, b });
        return { content: [{ type: "text", text: `The sum is ${a + b}` }] };
      },
    );
    const fail = sdk.tool("fail", "Fails", {}, () => {
      throw new Error("It broke");
    });
    const forbidden = sdk.tool("forbidden", "Must not be called", {}, () => {
      call({ called: "forbidden" });
      return { content: [] };
    });
    const mcpServers = {
      calc: sdk.createSdkMcpServer({ name: "calc", version: "1", tools: [add, fail, forbidden] }),
    };
    const { query, say, tell, until, end } = talk(stage, {
      mcpServers,
      allowedTools: ["Bash", "mcp__calc__add", "mcp__calc__fail"],
      disallowedTools: ["mcp__calc__forbidden"],
      env: { ...Deno.env.toObject(), CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1" },
    });
    const named = () => ({ uuid: crypto.randomUUID() });
    await say("One. [[say first]]", { ...named(), origin: { kind: "human" } });
    tell(`Two. ${bash("touch begun; until [ -e never ]; do sleep 0.05; done")} [[say never]]`);
    await until(calls("Bash"));
    await isThere("begun");
    await query.interrupt();
    await until(isResult);
    await query.setModel("claude-haiku-5-5");
    await say("Three. [[say third]]");
    await query.setPermissionMode("acceptEdits");
    await query.setMaxThinkingTokens(2000);
    await say(
      `Four. [[tool Write {"file_path":"four.txt","content":"x"}]] [[say fourth]]`,
      named(),
    );
    try {
      await query.setPermissionMode("wild");
    } catch (error) {
      stage.see({ thrown: `${error}` });
    }
    await say(`Five. [[tool mcp__calc__add {"a":1,"b":2}]] [[say fifth]]`);
    await say("Six. [[tool mcp__calc__fail {}]] [[tool mcp__calc__forbidden {}]] [[say sixth]]");
    await say(`Seven. [[tool mcp__calc__add {"a":"x"}]] [[say seventh]]`);
    await end();
  },

  async "prompts as they are"(stage) {
    await Deno.writeTextFile("mentioned.txt", "what nobody is told");
    const { say, end } = talk(stage, { verbatimPrompts: true });
    await say("One @mentioned.txt [[say first]]");
    await say("/cost [[say second]]");
    await end();
  },

  async "options"(stage) {
    // A folder of its own, which no other scenario reads.
    const here = `${Deno.cwd()}/apart`;
    const trusted = "trusted";
    const write = async (name: string, text: string) => {
      const path = `${here}/${name}`;
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(path, text);
    };
    const skill = (name: string) =>
      write(
        `${trusted}/.claude/skills/${name}/SKILL.md`,
        `---\nname: ${name}\ndescription: One\n---\nDo.`,
      );
    await skill("my-skill");
    await skill("my-other-skill");
    await write(
      `${trusted}/.claude/settings.json`,
      JSON.stringify({
        env: { FROM: "the project" },
        hooks: {
          PostToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "echo hooked" }] }],
        },
      }),
    );
    await write(".claude/settings.json", JSON.stringify({ env: { FROM: "a branch" } }));
    await write(
      `${trusted}/.claude/settings.local.json`,
      JSON.stringify({ env: { FROM: "nowhere" } }),
    );
    await write("more/secret.txt", "more");
    await write("plugin/.claude-plugin/plugin.json", JSON.stringify({ name: "my-plugin" }));
    await write("plugin/commands/my-command.md", "---\ndescription: One\n---\nDo.");
    const decide = stage.sdk.tool(
      "decide",
      "Decides",
      { tool_name: z.string(), input: z.record(z.string(), z.unknown()) },
      ({ tool_name: name, input }: { tool_name: string; input: Options }) => {
        stage.call({ decides: name, input });
        const decision = input["command"] === "touch asked"
          ? { behavior: "allow", updatedInput: { command: "echo instead" } }
          : { behavior: "deny", message: "Nothing else" };
        return { content: [{ type: "text", text: JSON.stringify(decision) }] };
      },
    );
    const { say, end } = talk(stage, {
      additionalDirectories: [`${here}/more`],
      agents: {
        "my-agent": {
          ...AGENTS["my-agent"],
          skills: ["my-skill"],
          model: "haiku",
          effort: "low",
          maxTurns: 2,
          disallowedTools: ["Write"],
        },
      },
      allowedTools: ["Agent"],
      cwd: here,
      disallowedTools: ["WebFetch"],
      effort: "high",
      extraArgs: { "append-system-prompt": "Be brief." },
      fallbackModel: "claude-haiku-5-5",
      forwardSubagentText: true,
      includeHookEvents: true,
      managedSettings: { permissions: { deny: ["Bash(touch forbidden)"] } },
      maxBudgetUsd: 5,
      maxTurns: 20,
      mcpServers: {
        own: stage.sdk.createSdkMcpServer({ name: "own", version: "1", tools: [decide] }),
      },
      model: "claude-sonnet-5",
      permissionPromptToolName: "mcp__own__decide",
      persistSession: false,
      plugins: [{ type: "local", path: `${here}/plugin` }],
      projectConfigRoot: `${here}/${trusted}`,
      sandbox: { enabled: false },
      settings: JSON.stringify({ env: { MORE: "of the caller" } }),
      settingSources: ["project"],
      skills: ["my-skill"],
      stderr: () => {},
      strictMcpConfig: true,
      taskBudget: { total: 50_000 },
      thinking: { type: "adaptive", display: "summarized" },
      title: "My title",
      tools: ["Agent", "Bash", "Read", "Skill"],
    });
    const called = (name: string, input: unknown) => `[[tool ${name} ${JSON.stringify(input)}]]`;
    const calls = [
      bash("echo of $FROM"),
      bash("touch forbidden"),
      bash("touch asked"),
      called("Agent", SUBAGENT),
      called("Skill", { skill: "my-skill" }),
      called("Skill", { skill: "my-other-skill" }),
    ];
    await say(`One. [[think it over]] ${calls.join(" ")} [[say first]]`);
    await end();
  },

  async "structured output"(stage) {
    const schema = {
      type: "object",
      properties: { count: { type: "number" } },
      required: ["count"],
    };
    await seeAll(
      stage,
      'Count. [[tool StructuredOutput {}]] [[tool StructuredOutput {"count":3}]]',
      { outputFormat: { type: "json_schema", schema } },
    );
  },

  async "partial messages"(stage) {
    // The pieces of an answer may be cut anywhere.
    let joined = "";
    const see = (message: unknown) => {
      const { event } = message as { readonly event?: { readonly delta?: Options } };
      const { text, partial_json: json } = event?.delta ?? {};
      if (text !== undefined || json !== undefined) {
        joined += text ?? json;
        return;
      }
      if (joined !== "") stage.see({ joined });
      joined = "";
      stage.see(message);
    };
    await seeAll(
      { ...stage, see },
      `One. [[say first\\nsecond\\nthird]] ${bash("echo one")} [[say fourth\\nfifth]]`,
      { includePartialMessages: true, allowedTools: ["Bash"] },
    );
  },

  async "sessions"(stage) {
    const { see } = stage;
    const id = crypto.randomUUID();
    const first = await seeAll(stage, "One. [[say first]]", { sessionId: id });
    see({ isNamed: first.every(({ session_id }) => session_id === id) });
    const second = await seeAll(stage, "Two. [[say second]]", { resume: id, forkSession: true });
    see({ isSame: second.some(({ session_id }) => session_id === id) });
    const third = await seeAll(stage, "Three. [[say third]]", { continue: true });
    see({ isFork: third.at(-1)?.session_id === second.at(-1)?.session_id });
    // The words of this error differ.
    const unknown = { resume: crypto.randomUUID() };
    see({ failed: await seeAll({ ...stage, see: () => {} }, "Four.", unknown).catch(() => true) });
  },

  async "an abort"(stage) {
    const abortController = new AbortController();
    try {
      for await (const { type } of stage.query("One. [[hang]]", { abortController })) {
        // A run of claude-print always prints a result.
        if (type !== "result") stage.see({ type });
        abortController.abort();
      }
    } catch (error) {
      // Its words tell whether the SDK saw the end of the program first.
      stage.see({ isAborted: error instanceof stage.sdk.AbortError });
    }
  },

  async "errors"(stage) {
    await seeError(stage, "One. [[error 400 Not like this]]", {});
    await seeError(stage, `Two. ${bash("echo a")} ${bash("echo b")} [[say never]]`, {
      maxTurns: 1,
    });
  },

  async "two plain queries at once"(stage) {
    const seen = ["One", "Two"].map(() => [] as unknown[]);
    const one = (index: number) =>
      seeAll(
        { ...stage, see: (what) => void seen[index]?.push(what) },
        `${index}. [[think about it]] ${bash(`echo ${index}`)} [[say answer ${index}]]`,
        // The recorder and the replay tell the queries apart by this variable.
        { env: { ...Deno.env.toObject(), QUERY: `two plain queries at once/${index + 1}` } },
      );
    const [first, second] = await Promise.all([one(0), one(1)]);
    stage.see(seen);
    stage.see({ isSame: first?.at(-1)?.session_id === second?.at(-1)?.session_id });
  },
};

async function main(argument: string): Promise<void> {
  const { sdk: path, executable, scenarios } = JSON.parse(argument) as {
    readonly sdk: string;
    readonly executable: string;
    readonly scenarios: readonly string[];
  };
  const sdk: Sdk = await import(path);
  for (const name of scenarios.length > 0 ? scenarios : Object.keys(SCENARIOS)) {
    const seen: unknown[] = [];
    const called: unknown[] = [];
    const stage: Stage = {
      sdk,
      see: (what) => void seen.push(structuredClone(what)),
      call: (what) => void called.push(structuredClone(what)),
      query: (prompt, options) =>
        sdk.query({ prompt, options: { pathToClaudeCodeExecutable: executable, ...options } }),
    };
    try {
      await SCENARIOS[name]?.(stage);
    } catch (error) {
      stage.see({ thrown: `${error}` });
    }
    const line = JSON.stringify({ name, seen: [...seen, { called }] });
    await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
  }
}

await main(Deno.args[0] ?? "");
