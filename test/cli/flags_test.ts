import { assert, assertEquals } from "@std/assert";
import { findFlag, type FlagClass, FLAGS } from "../../src/cli/flags.ts";

/** The flags of Claude Code 2.1.168, 2.1.197 and 2.1.330, hidden ones included, and ours. */
const CLASSES: Readonly<Record<FlagClass, readonly string[]>> = {
  own: [
    "--input-file",
    "--jsonl",
    "--one-session",
    "--api-cassette",
    "--on-miss",
    "--allow-upstream",
    "--shell-output",
    "--record",
    "--start-timeout",
    "--delivery-timeout",
    "--idle-timeout",
    "--drain-timeout",
    "--exit-timeout",
    "--timeout",
    "--quiet",
    "--cold",
    "--show",
    "--wait-for-limit",
    "--inherit-hooks",
    "--claude-binary",
    "--trace",
    "--stream-text",
    "--exact-stream",
    "--deterministic",
    "--inject",
    "--shim-for",
    "--version",
    "--help",
  ],
  output: [
    "--print",
    "--output-format",
    "--input-format",
    "--permission-prompt-tool",
    "--await-initialize",
    "--replay-user-messages",
    "--include-partial-messages",
    "--verbose",
    "--max-turns",
    "--max-budget-usd",
    "--json-schema",
    "--forward-subagent-text",
    "--include-hook-events",
    "--permission-prompts",
    "--no-session-persistence",
    "--session-mirror",
    "--debug-to-stderr",
    "--enable-auth-status",
    "--ax-screen-reader",
    ..."--remote-control --rc --remote-control-session-name-prefix".split(" "),
    "--resume-session-at",
    "--resume-drops-turn",
    "--rewind-files",
    "--reply-on-resume",
  ],
  merged: [
    ..."--settings --disallowedTools --permission-mode --continue --resume".split(" "),
    ..."--betas --task-budget".split(" "),
  ],
  forwarded: [
    ..."--model --fallback-model --effort --thinking --thinking-display --max-thinking-tokens"
      .split(" "),
    ..."--system-prompt --system-prompt-file --append-system-prompt --append-system-prompt-file"
      .split(" "),
    ..."--system-prompt-snapshot --dangerously-skip-permissions --allowedTools --tools".split(" "),
    ..."--allow-dangerously-skip-permissions --add-dir --mcp-config --strict-mcp-config".split(" "),
    ..."--setting-sources --project-config-root --managed-settings --restricted --agent".split(" "),
    ..."--agents --plugin-dir --plugin-dir-no-mcp --plugin-url".split(" "),
    ..."--disable-slash-commands --session-id --fork-session --name --worktree".split(" "),
    ..."--brief --autocompact --ide --no-chrome --debug --debug-file --advisor".split(" "),
    ..."--fast-mode --include-unsupported-models --bare --safe-mode".split(" "),
  ],
  ineffective: ["--exclude-dynamic-system-prompt-sections"],
  refused: [
    ..."--init --init-only --maintenance --mcp-debug".split(" "),
    ..."--prompt-suggestions --plan-mode-instructions --append-subagent-system-prompt".split(" "),
    ..."--append-subagent-system-prompt-file --bg --chrome --tmux --desktop".split(
      " ",
    ),
    ..."--cloud --teleport --environment --remote".split(" "),
    ..."--pool --attach-serve --correlation-id --metadata --ref --on-branch".split(" "),
    ..."--forward-home-settings --from-pr --file --channels --enable-auto-mode".split(" "),
    ..."--dangerously-load-development-channels --inherit-permission-mode --workload".split(" "),
    ..."--sdk-url --await-claim --initialize-fields --client-data-url".split(
      " ",
    ),
    ..."--managed-settings-in-initialize --allow-other-models".split(" "),
    ..."--host-auth-is-org-sign-in --hold-repository-while-parked --runner-declares".split(" "),
    ..."--session-began-as-copy --messaging-socket-path --ignore-persisted-trust".split(" "),
    ..."--agents-view-if-allowed --proactivity --watch-artifact --prefill --prefill-b64".split(" "),
    ..."--watch-artifact-no-autoreact --deep-link-origin --deep-link-repo".split(" "),
    ..."--deep-link-last-fetch --deep-link-cwd-b64 --agent-id --agent-name --agent-color".split(
      " ",
    ),
    ..."--agent-type --team-name --teammate-mode --plan-mode-required".split(" "),
    ..."--parent-session-id --lead-verify-key".split(" "),
  ],
};

Deno.test("FLAGS holds every flag of Claude Code and of claude-print in its class", () => {
  const classed = (flags: readonly (readonly [string, string])[]) =>
    [...flags].map(([name, kind]) => `${name} ${kind}`).sort();
  assertEquals(
    classed(FLAGS.map((flag) => [flag.name, flag.class] as const)),
    classed(
      Object.entries(CLASSES).flatMap(([kind, names]) =>
        names.map((name) => [name, kind] as const)
      ),
    ),
  );
});

Deno.test("FLAGS spells nothing twice and everything as a flag", () => {
  const spellings = FLAGS.flatMap((flag) => [flag.name, ...flag.aliases]);
  assertEquals(new Set(spellings).size, spellings.length);
  for (const spelling of spellings) {
    assert(/^-(?:[a-z]|d2e|-[a-zA-Z0-9-]+)$/.test(spelling), spelling);
  }
});

Deno.test("FLAGS gives every row help, and a placeholder exactly where there is a value", () => {
  for (const flag of FLAGS) {
    assert(flag.help.length > 5, flag.name);
    assert(!flag.help.endsWith("."), flag.name);
    assertEquals(flag.placeholder === "", flag.value === "none", flag.name);
    if (flag.value === "variadic") assert(flag.repeatable, flag.name);
  }
});

Deno.test("FLAGS gives every refused row a reason", () => {
  for (const flag of FLAGS) {
    if (flag.class === "refused") assert(flag.reason.length > 5, flag.name);
  }
});

Deno.test("FLAGS takes values as Claude Code does", () => {
  const ofKind = (kind: string) =>
    FLAGS.filter((flag) => flag.value === kind).map((flag) => flag.name).sort();
  assertEquals(
    ofKind("variadic"),
    [
      "--add-dir",
      "--allowedTools",
      "--betas",
      "--channels",
      "--dangerously-load-development-channels",
      "--disallowedTools",
      "--file",
      "--mcp-config",
      "--tools",
    ],
  );
  assertEquals(
    ofKind("optional"),
    [
      "--cloud",
      "--debug",
      "--from-pr",
      "--prompt-suggestions",
      "--rc",
      "--remote",
      "--remote-control",
      "--resume",
      "--teleport",
      "--worktree",
    ],
  );
});

Deno.test("FLAGS takes a value behind = alone where a prompt may follow", () => {
  assertEquals(FLAGS.filter(({ value }) => value === "attached").map(({ name }) => name), [
    "--shell-output",
    "--wait-for-limit",
  ]);
});

Deno.test("findFlag finds a row by each of its spellings and nothing else", () => {
  for (const flag of FLAGS) {
    for (const spelling of [flag.name, ...flag.aliases]) assertEquals(findFlag(spelling), flag);
  }
  const spelled = "-p --print -c --continue -r --resume -d --debug -v --version -h --help -n --name"
    .split(" ");
  for (const spelling of spelled) assert(findFlag(spelling) !== undefined, spelling);
  assertEquals(findFlag("--allowed-tools"), findFlag("--allowedTools"));
  assertEquals(findFlag("--disallowed-tools"), findFlag("--disallowedTools"));
  assertEquals(findFlag("--background"), findFlag("--bg"));
  for (const unknown of ["--", "-", "", "print", "--Print", "--out", "-x", "--constructor"]) {
    assertEquals(findFlag(unknown), undefined);
  }
});
