import type { Scenario } from "../../../fixtures/mock/scenario.ts";

/** Kills the Claude Code that takes the prompt of that number. */
export function killAtPrompt(number: number): Scenario["sabotage"] {
  const count = 'echo >> "$HOME/prompts"; [ $(wc -l < "$HOME/prompts")';
  return [{ at: "prompt", run: `${count} != ${number} ] || kill -9 $CLAUDE` }];
}
