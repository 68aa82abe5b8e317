import { assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import * as library from "../../../src/library/mod.ts";
import * as main from "../../../src/main.ts";

const ROOT = new URL("../../../", import.meta.url);

/** What a module exports, types included, as `deno doc` sees it. */
async function exportsOf(module: string): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", new URL(module, ROOT).pathname],
    cwd: ROOT,
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const symbols = Object.values<{ readonly symbols: readonly { readonly name: string }[] }>(nodes)
    .flatMap(({ symbols }) => symbols.map(({ name }) => name));
  return [...new Set(symbols)].toSorted();
}

Deno.test("the package exports the program and the library", () => {
  assertEquals(deno.exports, { ".": "./src/main.ts", "./library": "./src/library/mod.ts" });
});

Deno.test("importing the program does nothing", async () => {
  assertEquals(Object.keys(main), []);
  assertEquals(await exportsOf(deno.exports["."]), []);
});

Deno.test("the library's exports are stable", async () => {
  assertEquals(Object.keys(library).toSorted(), [
    "RunError",
    "converse",
    "record",
    "replay",
    "run",
  ]);
  assertEquals(await exportsOf(deno.exports["./library"]), [
    "AnyFrame",
    "ApiRetryFrame",
    "AssistantFrame",
    "AssistantMessage",
    "BackgroundTasksFrame",
    "CallerQuestion",
    "ClaudeLimits",
    "CommandsFrame",
    "CompactBoundaryFrame",
    "ContentBlock",
    "ControlCancelFrame",
    "ControlRequestFrame",
    "ControlResponse",
    "ControlResponseFrame",
    "Conversation",
    "ConversationEnd",
    "ConversationResetFrame",
    "ConverseOptions",
    "FailureSubtype",
    "Frame",
    "HookResponseFrame",
    "HookStartedFrame",
    "InformationalFrame",
    "InitFrame",
    "LifecycleFrame",
    "MessageOptions",
    "ModelFallbackFrame",
    "ModelRefusalFrame",
    "ModelUsage",
    "NotificationFrame",
    "PermissionDeniedFrame",
    "RateLimitFrame",
    "Replay",
    "ReplayedFrame",
    "ResultFrame",
    "Run",
    "RunError",
    "RunOptions",
    "RunProblem",
    "RunResult",
    "SentMessage",
    "SessionStateFrame",
    "SessionTitleFrame",
    "ShellOutputFrame",
    "StatusFrame",
    "StreamEvent",
    "StreamEventFrame",
    "SystemFrame",
    "TaskNotificationFrame",
    "TaskProgressFrame",
    "TaskStartedFrame",
    "TaskUpdatedFrame",
    "ThinkingTokensFrame",
    "ToolProgressFrame",
    "TranscriptMirrorFrame",
    "TurnResult",
    "UsedLimit",
    "UserFrame",
    "UserMessage",
    "converse",
    "record",
    "replay",
    "run",
  ]);
});

Deno.test("a run loads no modules of other commands", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "src/commands/run/run.ts"],
    cwd: ROOT,
  }).output();
  const { modules }: { readonly modules: readonly { readonly specifier: string }[] } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const paths = modules.map(({ specifier }) => specifier.slice(ROOT.href.length));
  assertEquals(paths.includes("src/library/hold_conversation.ts"), true);
  assertEquals(
    paths.filter((path) => /^src\/library\/(?:mod|run|replay|converse)\.ts$/u.test(path)),
    [],
  );
});
