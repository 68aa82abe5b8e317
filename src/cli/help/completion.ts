import { bashCompletion } from "./bash_completion.ts";
import { fishCompletion } from "./fish_completion.ts";
import { zshCompletion } from "./zsh_completion.ts";
import type { Shell } from "../arguments/parsed_arguments.ts";

/**
 * The completions of the command line as a script for a shell, made from the tables of flags and
 * commands: what is hidden or refused is not offered.
 */
export function completion(shell: Shell): string {
  switch (shell) {
    case "bash":
      return bashCompletion();
    case "zsh":
      return zshCompletion();
    case "fish":
      return fishCompletion();
  }
}
