import type { Ending } from "./effect.ts";
import type { PromptPart } from "./message.ts";
import type { EchoState } from "../terminal/paste.ts";

/**
 * Where a session stands.
 *
 * - `starting`: the child was started, no sign of a turn yet
 * - `resting`: the child is idle, no turn is under way
 * - `pasted`: the prompt was pasted, its echo is awaited
 * - `entered`: Enter was pressed or the prompt sent to the socket, UserPromptSubmit is awaited
 * - `working`: the turn is under way
 * - `settling`: Stop came, the child's idle status is awaited
 * - `aborting`: Escape was pressed to end the turn alone, the child's idle status is awaited
 * - `interrupting`: Escape was pressed to end the turn and with it the run, the child's idle status is awaited
 * - `ending`: the ending is known, the child has been told to go
 * - `reading`: the child is gone, the rest of its transcript is awaited
 * - `ended`: nothing more will happen
 */
export type Phase =
  | OpenPhase
  | { readonly phase: "interrupting" | "ending" | "reading" | "ended"; readonly ending: Ending };

/** A phase in which the ending is not known yet. */
export type OpenPhase =
  & { readonly ending?: undefined }
  & (
    | { readonly phase: "starting" | "resting" | "working" | "settling" | "aborting" }
    | {
      readonly phase: "pasted";
      /** What of the prompt is still to be pasted, the part whose echo is awaited first. */
      readonly pasting: readonly PromptPart[];
      readonly echo: EchoState;
    }
    | {
      readonly phase: "entered";
      /** Whether Enter is pressed once more if the next screen asks nothing. */
      readonly entersAgain: boolean;
    }
  );
