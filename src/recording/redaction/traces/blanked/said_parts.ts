/** Whose words are blanked. */
export interface SaidParts {
  /** What the user, or the program in the user's place, wrote, and what subagents were asked. */
  readonly prompts: boolean;
  /** What the model wrote: texts and thoughts, and what subagents report, not the calls of other tools. */
  readonly answers: boolean;
}
