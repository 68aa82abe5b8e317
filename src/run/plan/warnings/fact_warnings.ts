import { addedFileWarnings } from "./added_files.ts";
import { ignoredRules } from "./ignored_rules.ts";
import { sandboxWarnings } from "./sandbox_off.ts";
import { settingsWarnings, type ToldOrder } from "./settings_warnings.ts";
import type { RunFacts } from "../plan_facts.ts";

/** What decides what is told of what was found. */
export type ToldFacts = Pick<
  RunFacts,
  "settings" | "documents" | "version" | "distrust" | "userConfig" | "addedFiles" | "sandboxLack"
>;

/** What the user is told of what was found: rules and settings that are not in effect, files, the sandbox. */
export function factWarnings(
  order: ToldOrder,
  facts: ToldFacts,
): readonly string[] {
  const { settings, distrust, userConfig: { claudeJson }, addedFiles, sandboxLack } = facts;
  return [
    ...ignoredRules(settings, { distrust, claudeJson }),
    ...settingsWarnings(order, facts),
    ...addedFileWarnings(addedFiles),
    ...sandboxWarnings(sandboxLack),
  ];
}
