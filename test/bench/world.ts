import { claudeBinary, type ClaudeVersion } from "../../fixtures/programs/claude_binary.ts";
import { startMessagesApi } from "../../src/recording/learn/messages_api.ts";
import { makeThrowawayHome, type ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { runPrintMode } from "./print_mode.ts";

/** What every contender of the bench shares, and the home that each has for itself. */
export interface World extends AsyncDisposable {
  /** Path of the Claude Code that is measured. */
  readonly claude: string;
  readonly homes: Readonly<Record<Contender, ThrowawayHome>>;
}

/** claude-print, `claude -p`, and the interactive Claude Code with nothing around it. */
export type Contender = "claudePrint" | "printMode" | "bareTui";

/**
 * Starts the one scripted API that answers all, and makes the homes: of users who have run Claude Code before,
 * because the first run of all migrates settings and is nobody's everyday.
 */
export async function makeWorld(version: ClaudeVersion): Promise<World> {
  const claude = await claudeBinary(version);
  await using stack = new AsyncDisposableStack();
  const api = stack.use(startMessagesApi());
  const home = async () => stack.use(await makeThrowawayHome({ apiUrl: api.url }));
  const homes = { claudePrint: await home(), printMode: await home(), bareTui: await home() };
  for (const contender of Object.values(homes)) await runPrintMode(claude, contender);
  const held = stack.move();
  return { claude, homes, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
