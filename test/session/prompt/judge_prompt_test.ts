import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  claudeCommands,
  type CommandKind,
  heeds,
} from "../../../src/session/prompt/claude_commands.ts";
import {
  type Judgement,
  judgePrompt,
  type PromptFacts,
} from "../../../src/session/prompt/judge_prompt.ts";

const NEWEST = "2.1.332";
const VERSIONS = ["2.1.285", NEWEST];
/** A version that is newer than all profiles. */
const NEWER = "9999.0.0";

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

/** A judgement in a word: `text`, `verbatim`, `command`, `forked`, the answer itself, `asked`, or `refused`. */
function verdict(prompt: string, given: Given = {}): string {
  const judgement = judge(prompt, given);
  switch (judgement.kind) {
    case "send":
      if (judgement.verbatim) return "verbatim";
      if (judgement.forks) return "forked";
      return judgement.expands ? "command" : "text";
    case "answer":
      return judgement.text;
    case "ask":
      return "asked";
    case "refuse":
      return "refused";
  }
}

function reason(prompt: string, given: Given = {}): string {
  const judgement = judge(prompt, given);
  assert(judgement.kind === "refuse", `${JSON.stringify(prompt)} is not refused`);
  assert(judgement.suggestion !== "");
  return judgement.message;
}

/** The verdict on a command of Claude Code's own that makes a prompt. */
function promptVerdict(name: string): string {
  return name === "code-review" || name === "review" ? "forked" : "command";
}

Deno.test("judgePrompt() lets no command of Claude Code's own through but those that make a prompt", () => {
  for (const version of VERSIONS) {
    for (const [name, kind] of claudeCommands(version).kinds) {
      const expected: Record<CommandKind, string> = {
        prompt: promptVerdict(name),
        unavailable: `/${name} isn't available in this environment.`,
        told: "command",
        asked: "refused",
        alone: "refused",
        clears: "asked",
        noted: "asked",
        own: "refused",
        personal: "refused",
        gated: "refused",
        absent: "refused",
      };
      for (
        const prompt of [`/${name}`, `/${name} `, `/${name} x`, `/${name}\nx`, `/${name}\u3000x`]
      ) {
        const isHeeded = prompt !== `/${name}` && prompt !== `/${name} `;
        const heed = isHeeded ? heeds(name, "x") : undefined;
        const isAsked = kind === "asked" || kind === "alone"
          ? heed !== "more"
          : kind === "told" && heed === "notes";
        const wanted = heed === "pursues" ? "command" : isAsked ? "asked" : expected[kind];
        assertEquals(verdict(prompt, { version }), wanted, `${version} ${prompt}`);
      }
    }
  }
});

Deno.test("judgePrompt() has a headless Claude Code asked for what only tells something", () => {
  const conversation = true;
  for (const version of VERSIONS) {
    for (const prompt of ["/context", "/goal\n", "/reload-skills"]) {
      assertEquals(verdict(prompt, { version }), "asked");
      assertEquals(verdict(prompt, { version, conversation }), "asked");
    }
    // Of what a conversation has cost, another process knows nothing.
    for (const prompt of ["/cost", "/usage now", "/stats"]) {
      assertEquals(judge(prompt, { version }), { kind: "ask" });
      assertEquals(judge(prompt, { version, conversation }), { kind: "ask", alone: true });
    }
    const cleared = { kind: "ask", clears: true } as const;
    assertEquals(judge("/clear", { version, conversation }), cleared);
    assertEquals(judge("/new and more", { version }), cleared);
    // In a session that is resumed there may be one to end.
    for (const prompt of ["/goal Clear", `/goal ${"x".repeat(4001)}`]) {
      assertEquals(judge(prompt, { version }), { kind: "ask", notes: true });
      assertEquals(verdict(prompt, { version, conversation }), "asked");
    }
    assertEquals(verdict("/goal win", { version, conversation }), "command");
    assertEquals(verdict("/context of now", { version, conversation }), "asked");
    assertEquals(verdict("/context", { version, custom: { context: "invocable" } }), "refused");
  }
  for (const version of VERSIONS) {
    for (const prompt of ["/config", "/config x"]) {
      assertEquals(judge(prompt, { version, conversation }), { kind: "ask" });
    }
    assertStringIncludes(reason("/config model=opus", { version }), "the user's settings");
  }
  for (
    const prompt of ["/model", "/mcp", "/mcp x", "/mcp disable x", "/focus on", "/auto-mode-setup"]
  ) {
    assertEquals(judge(prompt, { conversation }), { kind: "ask" });
  }
  assertEquals(judge("/fast on", { conversation }), { kind: "ask", alone: true });
  assertStringIncludes(reason("/autocompact 300k"), "the user's settings");
  // What is headless makes of them what claude -p does, whether somebody has looked or not.
  for (const prompt of ["/context", "/clear", "/cost"]) {
    assertEquals(verdict(prompt, { version: NEWER }), "asked", prompt);
  }
});

Deno.test("judgePrompt() has noted in the session how it goes on, where a child can resume it", () => {
  const noted = { kind: "ask", notes: true } as const;
  const conversation = true;
  for (
    const prompt of [
      ...["/model sonnet", "/effort high", "/output-style Concise"],
      ...["/rename My own", "/name x", "/color red", "/color", "/reload-plugins"],
    ]
  ) {
    assertEquals(judge(prompt), noted);
    assertEquals(judge(prompt, { conversation }), noted);
    // Where nothing follows, a run has no use for the session.
    assertEquals(judge(prompt, { keepsSession: false }), noted);
    assertStringIncludes(reason(prompt, { conversation, keepsSession: false }), "is not kept");
    const [name = ""] = prompt.split(" ");
    assertEquals(judge(prompt, { version: NEWER }), noted);
    // Where the file is not loaded, the child carries out what /rename else is.
    assertEquals(
      verdict(prompt, { custom: { [name.slice(1)]: "invocable" } }),
      ["/name", "/rename"].includes(name) ? "command" : "refused",
    );
  }
  assertStringIncludes(reason("/model sonnet", { watchesModels: true }), "PreModelSwitch");
  assertEquals(judge("/effort high", { watchesModels: true }), noted);
});

Deno.test("judgePrompt() lets through what the child carries out as claude -p does, and tells in its transcript", () => {
  const told = ["/recap", "/rename", "/name", "/list-agents", "/peers x", "/workflow-launch-exec"];
  for (const prompt of [...told, "/heapdump", "/keybindings-help"]) {
    for (const conversation of [false, true]) {
      assertEquals(verdict(prompt, { conversation, keepsSession: false }), "command", prompt);
    }
    const name = prompt.slice(1).split(" ")[0] ?? "";
    // A custom one comes first in either program, if it is loaded.
    assertEquals(verdict(prompt, { custom: { [name]: "invocable" } }), "command", prompt);
    assertEquals(verdict(prompt, { custom: { [name]: "forked" } }), "refused", prompt);
    assertEquals(verdict(prompt, { version: NEWER }), "refused", prompt);
  }
});

Deno.test("judgePrompt() lets /compact through, of which the transcript tells, but for its help", () => {
  for (const version of VERSIONS) {
    assertEquals(verdict("/compact", { version }), "command");
    assertEquals(verdict("/compact", { version, custom: { compact: "invocable" } }), "command");
  }
  assertEquals(verdict("/compact --help"), "refused");
});

Deno.test("judgePrompt() answers nothing in the place of a version that nobody has measured", () => {
  {
    const version = NEWER;
    for (const [name, kind] of claudeCommands(version).kinds) {
      const isPrompt = kind === "prompt";
      const isHeadless = ["asked", "alone", "clears", "noted"].includes(kind);
      const expected = isPrompt ? promptVerdict(name) : isHeadless ? "asked" : "refused";
      assertEquals(verdict(`/${name}`, { version }), expected, `${version} ${name}`);
      assertEquals(
        verdict(`/${name} x`, { version, custom: { [name]: "invocable" } }),
        isPrompt ? promptVerdict(name) : "refused",
        `${version} ${name} of the project`,
      );
    }
    assertEquals(verdict("/mine", { version, custom: { mine: "invocable" } }), "command");
    assertEquals(verdict("/mine own", { version, custom: { "mine:own": "invocable" } }), "refused");
    assertEquals(verdict("/tmp is full", { version, isPath: true }), "refused");
    assertEquals(verdict("/tmp/x is full", { version }), "text");
  }
});

Deno.test("judgePrompt() never lets a file turn a command of Claude Code's own through", () => {
  const dangerous = [
    "logout",
    "export",
    "upgrade",
    "bg",
    "keybindings",
    "cost",
    "insights",
    "daemon",
  ];
  for (const version of VERSIONS) {
    for (const name of dangerous) {
      const custom = { [name]: "invocable", [`${name}:x`]: "invocable" } as const;
      assertStringIncludes(
        reason(`/${name} x`, { version, custom }),
        "a custom command or skill has the name",
      );
    }
    // Both are prompts.
    assertEquals(verdict("/init", { version, custom: { init: "invocable" } }), "command");
  }
});

Deno.test("judgePrompt() lets a skill or custom command through by its whole name", () => {
  const custom = { mine: "invocable", "a:b": "invocable", "do.t": "invocable", h: "model-only" };
  const given = { custom } as Given;
  for (const version of VERSIONS) {
    for (const prompt of ["/mine", "/mine --help", "/a:b x", "/a b x", "/do.t", "/mine\nx"]) {
      assertEquals(verdict(prompt, { ...given, version }), "command", prompt);
    }
    for (const prompt of ["/Mine", "/min", "/a", "/a c", "/b"]) {
      assertEquals(verdict(prompt, { ...given, version }), "refused", prompt);
    }
    // Claude Code says so.
    assertEquals(verdict("/h", { ...given, version }), "command");
  }
  assertStringIncludes(reason("/h", { ...given, version: NEWER }), "only be invoked by Claude");
});

Deno.test("judgePrompt() tells text from commands as claude -p does", () => {
  for (const version of VERSIONS) {
    for (
      const prompt of [
        ...["hi /logout", "hi\n/logout", "!/logout", "@/logout", "#x", "exit now", "／logout"],
        ...["//x", "/path/with/slashes", "/logout/", "/logout.", "/é x", "/foo, bar", "/* x */"],
        ...["/logoutx (MCP)", " //x", "  /path/x", " / hi", "/log\\\nout"],
      ]
    ) {
      assertEquals(verdict(prompt, { version }), "text", `${version} ${JSON.stringify(prompt)}`);
    }
    assertEquals(verdict("/tmp is full", { version, isPath: true }), "text");
    for (const prompt of ["/", "/ hi", "/\nlogout", "/\u00a0logout"]) {
      assertStringIncludes(reason(prompt, { version }), "a command without a name");
    }
    for (const prompt of ["/Logout", "/unknown x", "/5", "/a:b", "/mcp__s__p", "/_x"]) {
      assertStringIncludes(reason(prompt, { version }), "there is no such command");
    }
    // The interactive program does not look whether it is a path.
    assertEquals(verdict("/export x", { version, isPath: true }), "refused");
    assertEquals(verdict("/logout (MCP)", { version }), "refused");
  }
  for (const prompt of ["/-x", "/:x"]) {
    assertEquals(verdict(prompt), "text");
  }
});

Deno.test("judgePrompt() refuses the words by which Claude Code quits, white space around or not", () => {
  for (const word of ["exit", "quit", ":q", ":q!", ":wq", ":wq!"]) {
    for (const version of [...VERSIONS, NEWER]) {
      for (const prompt of [word, ` ${word}\n`, `\u3000${word}\t`]) {
        assertEquals(
          reason(prompt, { version, disabled: true }),
          `Cannot send the prompt "${word}": the interactive Claude Code quits on this word`,
        );
      }
    }
  }
  for (const prompt of ["exit now", "EXIT", "quit.", "q", "/x"]) {
    assertEquals(verdict(prompt, { custom: { x: "invocable" } }) === "refused", false, prompt);
  }
});

const BLANKS = [
  " ",
  "\t",
  "\n",
  " \n\t",
  "\u00a0",
  "\u3000",
  "\u1680",
  "\u2000",
  "\u202f",
  "\u205f",
];

Deno.test("judgePrompt() knows who skips white space before a slash", () => {
  const custom = { mine: "invocable" } as const;
  for (const blank of BLANKS) {
    for (const command of ["/logout", "/cost x", "/init", "/mine", "/daemon"]) {
      const prompt = blank + command;
      assertStringIncludes(reason(prompt, { custom }), "skips the white space before it", prompt);
    }
    assertEquals(verdict(`${blank}/unknown x`), "text");
    assertEquals(verdict(`${blank}/unknown x`, { version: NEWER }), "refused");
    assertEquals(verdict(`${blank}/path/x`, { version: NEWER }), "text");
  }
  assertEquals(verdict(" /a:b", { plugins: true }), "refused");
  assertEquals(verdict(" /mcp__s__p", { mcpServers: true }), "refused");
});

Deno.test("judgePrompt() refuses what becomes a command, or is not sent, by what 2.1.330 takes out", () => {
  const hidden = [
    "\u200b",
    "\ufeff",
    "\u00ad",
    "\u0007",
    "\u001f",
    "\u0085",
    "\u180e",
    "\r",
    "\v",
    "\u3164",
  ];
  for (const character of hidden) {
    for (
      const prompt of [
        ...[`${character}/logout`, ` ${character} /x`, `/log${character}out`, `/init${character}`],
        ...[`/tmp/x ${character} y`, `/mine ${character} x`, `${character}!ls`],
      ]
    ) {
      const given = { custom: { mine: "invocable" } } as const;
      assertEquals(verdict(prompt, given), "refused", JSON.stringify(prompt));
      assertEquals(verdict(prompt, { ...given, version: NEWER }), "refused");
    }
    assertEquals(verdict(`hi ${character} /logout`), "text");
  }
  assertStringIncludes(reason("\u200b\u200b"), "would take U+200B");
  assertStringIncludes(
    reason(" ex\u200bit\ufeff"),
    "would take U+200B (zero width space) out of it and quit",
  );
});

Deno.test("judgePrompt() knows what a subagent carries out that is not waited for", () => {
  const custom = { apart: "forked", here: "invocable" } as const;
  for (const prompt of ["/code-review", "/review 5", "/apart now"]) {
    assertEquals(verdict(prompt, { custom }), "forked", prompt);
  }
  for (const prompt of ["/security-review", "/here now"]) {
    assertEquals(verdict(prompt, { custom }), "command", prompt);
  }
});

Deno.test("judgePrompt() knows which words make another command of one that makes a prompt", () => {
  for (const prompt of ["/code-review ultra", "/review ULTRA\n5", "/code-review \t Ultra x"]) {
    for (const version of VERSIONS) {
      assertStringIncludes(reason(prompt, { version }), "in the cloud");
    }
  }
  assertEquals(verdict("/code-review high ultra"), "forked");
  for (const prompt of ["/init --help", "/init  -h\n"]) {
    assertStringIncludes(reason(prompt), "its own help");
  }
  assertEquals(verdict("/init --help me"), "command");
});

Deno.test("judgePrompt() leaves plugins and MCP servers to Claude Code where a name can be no other's", () => {
  for (const version of VERSIONS) {
    assertEquals(verdict("/p:c x", { version, plugins: true }), "command");
    assertEquals(verdict("/p:logout", { version, plugins: true }), "command");
    assertEquals(verdict("/s:p (MCP) x", { version, mcpServers: true }), "refused");
  }
  assertEquals(verdict("/mcp__s__p x", { mcpServers: true }), "command");
});

Deno.test("judgePrompt() takes nothing for a command under --disable-slash-commands", () => {
  const given = { disabled: true, custom: { mine: "invocable" } } as const;
  for (const version of VERSIONS) {
    assertEquals(
      verdict("/logout x", { ...given, version }),
      "/logout isn't available in this environment.",
    );
    for (const prompt of ["/init", "/mine", "/cost", "/unknown"]) {
      assertStringIncludes(reason(prompt, { ...given, version }), "leaves no commands");
    }
    for (const prompt of [" /logout", "/path/x", "/é"]) {
      assertEquals(verdict(prompt, { ...given, version }), "text");
    }
    assertEquals(verdict("/tmp x", { ...given, version, isPath: true }), "text");
  }
});

Deno.test("judgePrompt() sends by the rendezvous socket what every other way in would alter", () => {
  const given = { rendezvous: true, custom: { mine: "invocable" } } as const;
  const verbatim = [
    ...[
      "/unknown x",
      "/Logout",
      "/",
      "/ hi",
      "/\nlogout",
      " /logout",
      "\t/mine",
      "exit",
      " quit\n",
      ":q!",
    ],
    ...[
      "\u200b/logout",
      "/log\u200bout",
      "ex\u200bit",
      "a\u200bb",
      "\u200b",
      "\u0007!ls",
      "/loops",
    ],
    'a <pasted_content id="abcd">\nb',
  ];
  for (const prompt of verbatim) {
    for (const disabled of [false, true]) {
      if (disabled && /^\s+\//u.test(prompt)) continue;
      assertEquals(verdict(prompt, { ...given, disabled }), "verbatim", JSON.stringify(prompt));
    }
  }
  assertEquals(verdict("/export x", { ...given, isPath: true }), "verbatim");
  for (const prompt of ["hi", "//x", "/path/x", "!ls", "#x", "@x", "/é x"]) {
    assertEquals(verdict(prompt, given), "text", prompt);
  }
  assertEquals(verdict("/cost", given), "asked");
  // For claude -p it is none, whoever has it in the interactive program.
  assertEquals(verdict("/daemon", given), "verbatim");
  for (const prompt of ["/mine \u200b", "/config x=y", "/init --help"]) {
    assertEquals(verdict(prompt, given), "refused", prompt);
  }
  for (const prompt of ["/cost", "/init", "/logout"]) {
    const answer = `${prompt} isn't available in this environment.`;
    assertEquals(verdict(prompt, { ...given, disabled: true }), answer);
  }
  assertEquals(verdict("/mine", { ...given, disabled: true }), "refused");
  // Nobody has looked whether that version has a command of that name.
  assertEquals(verdict("/unknown x", { ...given, version: NEWER }), "refused");
  assertEquals(verdict(" /unknown x", { ...given, version: NEWER }), "verbatim");
});

Deno.test("judgePrompt() names a long word by its beginning", () => {
  assert(reason(`/${"x".repeat(1_000_000)}`).length < 200);
});
