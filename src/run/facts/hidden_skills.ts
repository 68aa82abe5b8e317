import type { HiddenSkills } from "../plan/plan_facts.ts";
import { commandNames, type CommandPlaces } from "../../sandbox/child/custom_command.ts";
import { claudeCommands } from "../../session/prompt/claude_commands.ts";

/**
 * The skills that the model is not to have where the caller has chosen some: `claude -p` takes a name for the one that is
 * called so, and for those of plugins behind whose own name it stands (2.1.197 and 2.1.330).
 *
 * @param options.version that of Claude Code, whose own skills are hidden as well
 */
export function hiddenSkills(
  chosen: readonly string[],
  { places, version }: { readonly places: CommandPlaces; readonly version: string },
): HiddenSkills {
  const { own, ofPlugins } = commandNames(places);
  const isHidden = (name: string) =>
    !chosen.some((each) => name === each || name.endsWith(`:${each}`));
  return {
    own: [...new Set([...own, ...claudeCommands(version).kinds.keys()])].filter(isHidden),
    ofPlugins: ofPlugins.filter(isHidden),
  };
}
