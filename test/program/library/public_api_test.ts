import { assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import * as library from "../../../src/library/mod.ts";
import * as main from "../../../src/main.ts";

const ROOT = new URL("../../../", import.meta.url);

/** The JSON that a command of Deno prints. */
async function denoJson(...args: readonly string[]) {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT })
    .output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** What a module exports, types included, as `deno doc` sees it. */
async function exportsOf(module: string): Promise<readonly string[]> {
  const { nodes } = await denoJson("doc", "--json", new URL(module, ROOT).pathname);
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

/** All exports of the library in order, types included. */
const EXPORTED = `
  AnyFrame ApiRetryFrame AssistantFrame AssistantMessage BackgroundTasksFrame
  CallerQuestion ClaudeLimits CommandsFrame CompactBoundaryFrame ContentBlock
  ControlCancelFrame ControlRequestFrame ControlResponse ControlResponseFrame Conversation
  ConversationEnd ConversationResetFrame ConverseOptions FailureSubtype Frame
  HookResponseFrame HookStartedFrame InformationalFrame InitFrame LifecycleFrame
  MessageOptions ModelFallbackFrame ModelRefusalFrame ModelUsage NotificationFrame
  PermissionDeniedFrame RateLimitFrame Replay ReplayedFrame ResultFrame Run RunError
  RunOptions RunProblem RunResult SentMessage SessionStateFrame SessionTitleFrame
  ShellOutputFrame StatusFrame StreamEvent StreamEventFrame SystemFrame
  TaskNotificationFrame TaskProgressFrame TaskStartedFrame TaskUpdatedFrame
  ThinkingTokensFrame ToolProgressFrame TranscriptMirrorFrame TurnResult UsedLimit
  UserFrame UserMessage converse record replay run
`;

Deno.test("the library's exports are stable", async () => {
  const values = ["RunError", "converse", "record", "replay", "run"];
  assertEquals(Object.keys(library).toSorted(), values);
  assertEquals(await exportsOf(deno.exports["./library"]), EXPORTED.trim().split(/\s+/u));
});

Deno.test("a run loads no modules of other commands", async () => {
  const { modules }: { readonly modules: readonly { readonly specifier: string }[] } =
    await denoJson("info", "--json", "src/cli/run/run_command.ts");
  const paths = modules.map(({ specifier }) => specifier.slice(ROOT.href.length));
  assertEquals(paths.includes("src/library/hold_conversation.ts"), true);
  assertEquals(
    paths.filter((path) => /^src\/library\/(?:mod|run|replay|converse)\.ts$/u.test(path)),
    [],
  );
});
