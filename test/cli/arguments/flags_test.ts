import { assert, assertEquals } from "@std/assert";
import { findFlag, type FlagClass, FLAGS } from "../../../src/cli/arguments/flags.ts";

const words = (text: string) => text.trim().split(/\s+/u);

/** The flags of Claude Code in the support window, hidden ones included, and ours. */
const CLASSES: Readonly<Record<FlagClass, string>> = {
  own: `--input-file --jsonl --one-session --api-cassette --on-miss --allow-upstream --shell-output
    --record --start-timeout --delivery-timeout --idle-timeout --drain-timeout --exit-timeout
    --timeout --quiet --progress --cold --warm --show --wait-for-limit --inherit-hooks --claude-binary --trace
    --stream-text --exact-stream --deterministic --inject --shim-for --version --help`,
  output: `--print --output-format --input-format --permission-prompt-tool --await-initialize
    --replay-user-messages --include-partial-messages --verbose --max-turns --max-budget-usd
    --json-schema --forward-subagent-text --include-hook-events --permission-prompts
    --no-session-persistence --session-mirror --debug-to-stderr --enable-auth-status
    --ax-screen-reader --remote-control --rc --remote-control-session-name-prefix
    --resume-session-at --resume-drops-turn --rewind-files --reply-on-resume`,
  merged: `--settings --disallowedTools --permission-mode --continue --resume --betas
    --task-budget`,
  forwarded: `--model --fallback-model --effort --thinking --thinking-display
    --max-thinking-tokens --system-prompt --system-prompt-file --append-system-prompt
    --append-system-prompt-file --system-prompt-snapshot --dangerously-skip-permissions
    --allowedTools --tools --allow-dangerously-skip-permissions --add-dir --mcp-config
    --strict-mcp-config --setting-sources --project-config-root --managed-settings --restricted
    --agent --agents --plugin-dir --plugin-dir-no-mcp --plugin-url --disable-slash-commands
    --session-id --fork-session --name --worktree --brief --autocompact --ide --no-chrome --debug
    --debug-file --advisor --fast-mode --include-unsupported-models --bare --safe-mode`,
  ineffective: "--exclude-dynamic-system-prompt-sections",
  refused: `--init --init-only --maintenance --mcp-debug --prompt-suggestions
    --plan-mode-instructions --append-subagent-system-prompt --append-subagent-system-prompt-file
    --bg --chrome --tmux --desktop --cloud --teleport --environment --remote --pool --attach-serve
    --correlation-id --metadata --ref --on-branch --forward-home-settings --from-pr --file
    --channels --enable-auto-mode --dangerously-load-development-channels
    --inherit-permission-mode --workload --sdk-url --await-claim --initialize-fields
    --client-data-url --managed-settings-in-initialize --allow-other-models
    --host-auth-is-org-sign-in --hold-repository-while-parked --runner-declares
    --session-began-as-copy --messaging-socket-path --ignore-persisted-trust
    --agents-view-if-allowed --proactivity --watch-artifact --prefill --prefill-b64
    --watch-artifact-no-autoreact --deep-link-origin --deep-link-repo --deep-link-last-fetch
    --deep-link-cwd-b64 --agent-id --agent-name --agent-color --agent-type --team-name
    --teammate-mode --plan-mode-required --parent-session-id --lead-verify-key`,
};

/** The flags that do not take none or one value. */
const VALUES: Readonly<Record<string, string>> = {
  variadic: `--add-dir --allowedTools --betas --channels --dangerously-load-development-channels
    --disallowedTools --file --mcp-config --tools`,
  optional: `--cloud --debug --from-pr --prompt-suggestions --rc --remote --remote-control
    --resume --teleport --worktree`,
  attached: "--shell-output --wait-for-limit",
};

Deno.test("each flag is in its class", () => {
  for (const [kind, names] of Object.entries(CLASSES)) {
    const found = FLAGS.filter((flag) => flag.class === kind).map(({ name }) => name);
    assertEquals(found.toSorted(), words(names).toSorted(), kind);
  }
});

Deno.test("flags take values as in Claude Code", () => {
  for (const [kind, names] of Object.entries(VALUES)) {
    const found = FLAGS.filter(({ value }) => value === kind).map(({ name }) => name);
    assertEquals(found.toSorted(), words(names).toSorted(), kind);
  }
});

Deno.test("each flag has one meaning and a help text", () => {
  const spellings = FLAGS.flatMap((flag) => [flag.name, ...flag.aliases]);
  assertEquals(new Set(spellings).size, spellings.length);
  for (const spelling of spellings) {
    assert(/^-(?:[a-z]|d2e|-[a-zA-Z0-9-]+)$/.test(spelling), spelling);
  }
  for (const flag of FLAGS) {
    assert(flag.help.length > 5 && !flag.help.endsWith("."), flag.name);
    assertEquals(flag.placeholder === "", flag.value === "none", flag.name);
    assert(flag.value !== "variadic" || flag.repeatable, flag.name);
    assert(flag.class !== "refused" || flag.reason.length > 5, flag.name);
  }
});

Deno.test("a flag is found by each spelling", () => {
  for (const flag of FLAGS) {
    for (const spelling of [flag.name, ...flag.aliases]) assertEquals(findFlag(spelling), flag);
  }
  const aliases = {
    ...{ "-p": "--print", "-c": "--continue", "-r": "--resume", "-d": "--debug", "-n": "--name" },
    ...{ "-v": "--version", "-h": "--help", "-w": "--worktree", "--background": "--bg" },
    ...{ "--allowed-tools": "--allowedTools", "--disallowed-tools": "--disallowedTools" },
  };
  for (const [alias, name] of Object.entries(aliases)) assertEquals(findFlag(alias)?.name, name);
  for (const unknown of ["--", "-", "", "print", "--Print", "--out", "-x", "--constructor"]) {
    assertEquals(findFlag(unknown), undefined);
  }
});
