import type { HiddenSkills } from "../../plan/plan_facts.ts";
import { commandNames, type CommandPlaces } from "../../../sandbox/child/custom_command.ts";
import { isChosen } from "../../../conversation/protocol/chosen_skills.ts";
import { claudeCommands } from "../../../conversation/control/prompt/claude_commands.ts";

/**
 * How many characters a name may have, and all together: Claude Code ends at settings of more than 2 MiB (2.1.330), and a
 * project names its skills as it likes. Further ones are in the list for the model, which cannot load them.
 */
const LONGEST_NAME = 1000;
const MOST_CHARACTERS = 300_000;

/**
 * The skills that the model is not to have where the caller has chosen some.
 *
 * @param options.version that of Claude Code, whose own skills are hidden as well
 */
export function hiddenSkills(
  chosen: readonly string[],
  { places, version }: { readonly places: CommandPlaces; readonly version: string },
): HiddenSkills {
  const { own, ofPlugins } = commandNames(places);
  let left = MOST_CHARACTERS;
  const isHidden = (name: string) =>
    !isChosen(name, chosen) && name.length <= LONGEST_NAME && (left -= name.length) >= 0;
  return {
    own: [...new Set([...claudeCommands(version).kinds.keys(), ...own])].filter(isHidden),
    ofPlugins: ofPlugins.filter(isHidden),
  };
}
