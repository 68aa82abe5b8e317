import { CliError } from "../../../cli_error.ts";
import type { RunOrder } from "../../plan/run_order.ts";

/**
 * Looks for what would keep a prompt from reaching the model as it is.
 *
 * @returns the first character that Claude Code may change, in words; plain ASCII is never looked at
 * @throws {CliError} when a paste would not deliver the prompt
 */
export async function checkDelivery(
  { prompt, inject }: Pick<RunOrder, "inject"> & { readonly prompt: string },
): Promise<string | undefined> {
  const refusal = inject === "paste"
    ? (await import("../../../conversation/terminal/paste.ts")).pasteRefusal(prompt)
    : undefined;
  if (refusal !== undefined) {
    throw new CliError(`Cannot paste the prompt: ${refusal}`, {
      suggestion: "Leave out --inject paste: on stdin every prompt goes in as it is",
    });
  }
  if (/^[\t\n\x20-\x7e]*$/u.test(prompt)) return undefined;
  const { firstAlteredCharacter } = await import(
    "../../../conversation/control/prompt/first_altered_character.ts"
  );
  const found = firstAlteredCharacter(prompt);
  return found && `${found.name} at character ${found.offset}`;
}
