import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { claudeCommands } from "../../../../src/conversation/control/prompt/claude_commands.ts";
import {
  type Judgement,
  judgePrompt,
  type PromptFacts,
} from "../../../../src/conversation/control/prompt/judge_prompt.ts";
import { slashWord } from "../../../../src/conversation/control/prompt/prompt_text.ts";

const NEWEST = "2.1.332";
const VERSIONS = ["2.1.285", NEWEST].map((version) => ({ version }));
/** A version that is newer than all profiles. */
const NEWER = { version: "9999.0.0" };
const CONVERSATION = { conversation: true };

type Given = Partial<Omit<PromptFacts, "custom">> & {
  readonly custom?: Readonly<Record<string, "invocable" | "forked" | "model-only">>;
};

function judge(prompt: string, { custom = {}, ...facts }: Given = {}): Judgement {
  return judgePrompt(prompt, {
    version: NEWEST,
    isPath: false,
    disabled: false,
    plugins: false,
    mcpServers: false,
    rendezvous: false,
    conversation: false,
    keepsSession: true,
    watchesModels: false,
    custom: (name) => custom[name],
    ...facts,
  });
}

/** A judgement in a word: `text`, `verbatim`, `command`, `forked`, `answer`, `refuse`, or `ask` with what it asks for. */
function verdict(prompt: string, given: Given = {}): string {
  const judgement = judge(prompt, given);
  if (judgement.kind === "ask") {
    const { kind, ...more } = judgement;
    return [kind, ...Object.keys(more)].join(" ");
  }
  if (judgement.kind !== "send") return judgement.kind;
  if (judgement.verbatim) return "verbatim";
  if (judgement.forks) return "forked";
  return judgement.expands ? "command" : "text";
}

/** Checks that all prompts have a verdict in each case. */
function all(expected: string, prompts: readonly string[], ...cases: readonly Given[]): void {
  for (const given of cases.length === 0 ? [{}] : cases) {
    for (const prompt of prompts) {
      assertEquals(verdict(prompt, given), expected, JSON.stringify([prompt, given]));
    }
  }
}

/** Checks that all prompts are refused with a reason in each case. */
function refused(reason: string, prompts: readonly string[], ...cases: readonly Given[]): void {
  for (const given of cases.length === 0 ? [{}] : cases) {
    for (const prompt of prompts) {
      const judgement = judge(prompt, given);
      assert(judgement.kind === "refuse" && judgement.suggestion !== "", JSON.stringify(prompt));
      assertStringIncludes(judgement.message, reason, JSON.stringify(prompt));
    }
  }
}

const invocable = (...names: readonly string[]): Given => ({
  custom: Object.fromEntries(names.map((name) => [name, "invocable"])),
});

Deno.test("slashWord() splits a command from its arguments", () => {
  const rows = [
    ["/logout", "logout", "", false],
    ["/a:b \t x y\n", "a:b", "x y", false],
    ["\n\u3000/a\nb", "a", "b", true],
    ["\ufeff/a\u00a0b", "a", "b", true],
    ["/ hi", "", "hi", false],
    ["//x", "/x", "", false],
  ] as const;
  for (const [prompt, name, rest, indented] of rows) {
    assertEquals(slashWord(prompt), { name, rest, indented });
  }
  for (const prompt of ["", "  ", "hi /x", "hi\n/x", "\u200b/logout", "!/x", "／logout"]) {
    assertEquals(slashWord(prompt), undefined, prompt);
  }
});

/** The verdicts on a command alone and with a text after it, as measured; all other commands are unavailable. */
const COMMANDS: readonly [alone: string, withText: string, names: string][] = [
  [
    "command",
    "command",
    "batch checkup claude-api dataviz debug deep-research doctor fewer-permission-prompts init loop " +
    "plugin-authoring proactive routines run run-skill-generator schedule security-review simplify " +
    "update-config verify workflow-authoring __remote-workflow compact heapdump keybindings-help " +
    "list-agents peers recap workflow-launch-exec",
  ],
  ["forked", "forked", "code-review review"],
  ["command", "ask notes", "name rename"],
  ["ask", "ask", "agents config context focus mcp reload-skills settings cost fast stats usage"],
  ["ask", "refuse", "auto-mode-setup autocompact"],
  ["ask", "ask notes", "effort model output-style"],
  ["ask", "command", "goal"],
  ["ask clears", "ask clears", "clear new reset"],
  ["ask notes", "ask notes", "color reload-plugins"],
  ["refuse", "refuse", "daemon insights skill-doctor team-onboarding"],
];

Deno.test("each command of Claude Code has its measured verdict", () => {
  for (const given of VERSIONS) {
    const left = new Set(claudeCommands(given.version).kinds.keys());
    for (const [alone, withText, names] of COMMANDS) {
      for (const name of names.split(" ")) {
        if (!left.delete(name)) {
          assertEquals([given.version, name], ["2.1.285", "plugin-authoring"]);
          continue;
        }
        all(alone, [`/${name}`, `/${name} `], given);
        all(withText, [`/${name} x`, `/${name}\nx`, `/${name}\u3000x`], given);
      }
    }
    for (const name of ["bg", "exit", "export", "keybindings", "logout", "tasks", "upgrade"]) {
      assert(left.has(name), name);
    }
    for (const name of left) {
      const text = `/${name} isn't available in this environment.`;
      for (const prompt of [`/${name}`, `/${name}\nx`]) {
        assertEquals(judge(prompt, given), { kind: "answer", text });
      }
    }
  }
});

Deno.test("headless helper answers what only reports something", () => {
  const anywhere = VERSIONS.flatMap((version) => [version, { ...version, ...CONVERSATION }]);
  const inConversation = VERSIONS.map((version) => ({ ...version, ...CONVERSATION }));
  all("ask", ["/context", "/goal\n", "/reload-skills", "/config", "/config x"], ...anywhere);
  // Another process does not know the cost of a conversation.
  all("ask", ["/cost", "/usage now", "/stats"], ...VERSIONS);
  all("ask alone", ["/cost", "/usage now", "/stats", "/fast on"], ...inConversation);
  all("ask clears", ["/clear", "/new and more"], ...anywhere);
  // A resumed session may have a goal to end.
  all("ask notes", ["/goal Clear", `/goal ${"x".repeat(4001)}`], ...anywhere);
  all("command", ["/goal win", `/goal ${"x".repeat(4000)}`], ...inConversation);
  const others = ["/model", "/mcp disable x", "/focus on", "/auto-mode-setup"];
  all("ask", [...others, "/context of now"], ...inConversation);
  all("refuse", ["/context"], invocable("context"));
  refused("the user's settings", ["/config model=opus", "/autocompact 300k"], ...VERSIONS);
  // It does the same as `claude -p`, in any version.
  all("ask", ["/context", "/cost"], NEWER);
  all("ask clears", ["/clear"], NEWER);
});

Deno.test("session notes changes if a child can resume it", () => {
  const prompts = [
    ...["/model sonnet", "/effort high", "/output-style Concise", "/rename My own", "/name x"],
    ...["/color red", "/color", "/reload-plugins"],
  ];
  // A run without a session has no further turn.
  all("ask notes", prompts, {}, CONVERSATION, { keepsSession: false }, NEWER);
  refused("is not kept", prompts, { ...CONVERSATION, keepsSession: false });
  for (const prompt of prompts) {
    const [name = ""] = prompt.slice(1).split(" ");
    // A child that does not load the file carries out its own /rename.
    all(["name", "rename"].includes(name) ? "command" : "refuse", [prompt], invocable(name));
  }
  refused("PreModelSwitch", ["/model sonnet"], { watchesModels: true });
  all("ask notes", ["/effort high"], { watchesModels: true });
});

Deno.test("child carries out commands whose outcome is in its transcript", () => {
  const prompts = [
    ...["/recap", "/rename", "/name", "/list-agents", "/peers x", "/workflow-launch-exec"],
    ...["/heapdump", "/keybindings-help"],
  ];
  all("command", prompts, { keepsSession: false }, { ...CONVERSATION, keepsSession: false });
  all("refuse", prompts, NEWER);
  for (const prompt of prompts) {
    const [name = ""] = prompt.slice(1).split(" ");
    // A custom command comes first in either program, if it is loaded.
    all("command", [prompt], invocable(name));
    all("refuse", [prompt], { custom: { [name]: "forked" } });
  }
  all("command", ["/compact"], ...VERSIONS, invocable("compact"));
});

Deno.test("own commands of an unmeasured version are refused", () => {
  for (const [name, kind] of claudeCommands(NEWER.version).kinds) {
    const isMeasured = COMMANDS.slice(0, 2)
      .some(([, , names]) => kind === "prompt" && names.split(" ").includes(name));
    const [alone = ""] = COMMANDS.find(([, , names]) => names.split(" ").includes(name)) ?? [];
    const isSame = isMeasured || alone.startsWith("ask");
    all(isSame ? alone : "refuse", [`/${name}`], NEWER);
    all(isMeasured ? alone : "refuse", [`/${name} x`], { ...NEWER, ...invocable(name) });
  }
  all("command", ["/mine"], { ...NEWER, ...invocable("mine") });
  all("refuse", ["/mine own"], { ...NEWER, ...invocable("mine:own") });
  all("refuse", ["/tmp is full"], { ...NEWER, isPath: true });
  all("text", ["/tmp/x is full"], NEWER);
});

Deno.test("file cannot take the name of an own command", () => {
  const reason = "a custom command or skill has the name";
  const dangerous = ["logout", "export", "upgrade", "bg", "cost", "insights", "daemon"];
  for (const given of VERSIONS) {
    for (const name of dangerous) {
      refused(reason, [`/${name} x`], { ...given, ...invocable(name, `${name}:x`) });
    }
    all("command", ["/init"], { ...given, ...invocable("init") });
  }
});

Deno.test("skill or custom command needs its whole name", () => {
  const custom = { mine: "invocable", "a:b": "invocable", "do.t": "invocable", h: "model-only" };
  for (const version of VERSIONS) {
    const given = { custom, ...version } as Given;
    all("command", ["/mine", "/mine --help", "/a:b x", "/a b x", "/do.t", "/mine\nx"], given);
    // Claude Code itself says that only the model may use it.
    all("command", ["/h"], given);
    refused("there is no such command", ["/Mine", "/min", "/a", "/a c", "/b"], given);
  }
  refused("only be invoked by Claude", ["/h"], { custom, ...NEWER } as Given);
  const apart = { custom: { apart: "forked", here: "invocable" } } as const;
  all("forked", ["/apart now"], apart);
  all("command", ["/here now"], apart);
});

Deno.test("text and commands are told apart as by claude -p", () => {
  const texts = [
    ...["hi /logout", "hi\n/logout", "!/logout", "@/logout", "#x", "exit now", "／logout"],
    ...["//x", "/path/with/slashes", "/logout/", "/logout.", "/é x", "/foo, bar", "/* x */"],
    ...["/logoutx (MCP)", " //x", "  /path/x", " / hi", "/log\\\nout", "/-x", "/:x"],
  ];
  const nameless = ["/", "/ hi", "/\nlogout", "/\u00a0logout"];
  const unknown = ["/Logout", "/unknown x", "/5", "/a:b", "/mcp__s__p", "/_x"];
  for (const version of VERSIONS) {
    all("text", texts, version);
    all("text", ["/tmp is full"], { ...version, isPath: true });
    refused("a command without a name", nameless, version);
    refused("there is no such command", unknown, version);
    // The interactive program does not look whether it is a path.
    all("refuse", ["/export x"], { ...version, isPath: true });
    all("refuse", ["/logout (MCP)"], version);
  }
});

Deno.test("words on which Claude Code quits are refused", () => {
  for (const word of ["exit", "quit", ":q", ":q!", ":wq", ":wq!"]) {
    const reason =
      `Cannot send the prompt "${word}": the interactive Claude Code quits on this word`;
    const prompts = [word, ` ${word}\n`, `\u3000${word}\t`];
    refused(
      reason,
      prompts,
      ...[...VERSIONS, NEWER].map((given) => ({ ...given, disabled: true })),
    );
  }
  all("text", ["exit now", "EXIT", "quit.", "q"]);
});

Deno.test("command after white space is refused", () => {
  const blanks = [
    ...[" ", "\t", "\n", " \n\t", "\u00a0", "\u3000", "\u1680", "\u2000", "\u202f", "\u205f"],
  ];
  for (const blank of blanks) {
    const commands = ["/logout", "/cost x", "/init", "/mine", "/daemon"].map((each) =>
      blank + each
    );
    refused("skips the white space before it", commands, invocable("mine"));
    all("text", [`${blank}/unknown x`]);
    all("refuse", [`${blank}/unknown x`], NEWER);
    all("text", [`${blank}/path/x`], NEWER);
  }
  all("refuse", [" /a:b"], { plugins: true });
  all("refuse", [" /mcp__s__p"], { mcpServers: true }, { plugins: true });
  all("text", [" /mcp__s__p", " /a:b"]);
});

Deno.test("hidden characters that uncover a command are refused", () => {
  const hidden = [
    ...["\u200b", "\ufeff", "\u00ad", "\u0007", "\u001f", "\u0085", "\u180e", "\r", "\v", "\u3164"],
  ];
  for (const char of hidden) {
    const prompts = [
      ...[`${char}/logout`, ` ${char} /x`, `/log${char}out`, `/init${char}`, `/tmp/x ${char} y`],
      ...[`/mine ${char} x`, `${char}!ls`],
    ];
    all("refuse", prompts, invocable("mine"), { ...NEWER, ...invocable("mine") });
    all("text", [`hi ${char} /logout`]);
  }
  refused("would take U+200B", ["\u200b\u200b"]);
  refused("would take U+200B (zero width space) out of it and quit", [" ex\u200bit\ufeff"]);
});

Deno.test("arguments can make another command of one", () => {
  refused(
    "in the cloud",
    ["/code-review ultra", "/review ULTRA\n5", "/code-review \t Ultra x"],
    ...VERSIONS,
  );
  all("forked", ["/code-review high ultra"]);
  refused("its own help", ["/init --help", "/init  -h\n", "/compact --help"]);
  all("command", ["/init --help me", "/security-review ultra"]);
});

Deno.test("Claude Code resolves names of plugins and MCP servers", () => {
  for (const version of VERSIONS) {
    all("command", ["/p:c x", "/p:logout"], { ...version, plugins: true });
    all("refuse", ["/s:p (MCP) x"], { ...version, mcpServers: true });
  }
  all("command", ["/mcp__s__p x"], { mcpServers: true });
});

Deno.test("--disable-slash-commands leaves no command", () => {
  const reason = "leaves no commands";
  for (const version of VERSIONS) {
    const given = { disabled: true, ...version, ...invocable("mine") };
    all("answer", ["/logout x"], given);
    refused(reason, ["/init", "/mine", "/cost", "/unknown"], given);
    all("text", [" /logout", "/path/x", "/é"], given);
    all("text", ["/tmp x"], { ...given, isPath: true });
  }
});

Deno.test("socket sends what stdin and paste would alter", () => {
  const given = { rendezvous: true, ...invocable("mine") };
  const disabled = { ...given, disabled: true };
  all("verbatim", [" /logout", "\t/mine"], given);
  const verbatim = [
    ...["/unknown x", "/Logout", "/", "/ hi", "/\nlogout", "exit", " quit\n", ":q!", "/loops"],
    ...["\u200b/logout", "/log\u200bout", "ex\u200bit", "a\u200bb", "\u200b", "\u0007!ls"],
    'a <pasted_content id="abcd">\nb',
  ];
  all("verbatim", verbatim, given, disabled);
  all("verbatim", ["/export x"], { ...given, isPath: true });
  all("text", ["hi", "//x", "/path/x", "!ls", "#x", "@x", "/é x"], given);
  all("ask", ["/cost"], given);
  // `claude -p` never has this command.
  all("verbatim", ["/daemon"], given);
  all("refuse", ["/mine \u200b", "/config x=y", "/init --help"], given);
  all("answer", ["/cost", "/init", "/logout"], disabled);
  all("refuse", ["/mine"], disabled);
  // Nobody has measured whether that version has the command.
  all("refuse", ["/unknown x"], { ...given, ...NEWER });
  all("verbatim", [" /unknown x"], { ...given, ...NEWER });
});

Deno.test("refusal of a long word is short", () => {
  const judgement = judge(`/${"x".repeat(1_000_000)}`);
  assert(judgement.kind === "refuse" && judgement.message.length < 200);
});
