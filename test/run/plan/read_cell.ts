import type { PermissionCell } from "../../../fixtures/permissions/permission_cells.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { readSettings, settingSources } from "../../../src/sandbox/child/read_settings.ts";
import { parseCallerSettings } from "../../../src/sandbox/child/run_settings.ts";
import { judgeFor } from "../../../src/claude/settings/judged_settings.ts";

/** Reads the settings for a run in the surroundings of a cell that has been laid in a home. */
export async function readCell(
  { args, ...cell }: Pick<PermissionCell, "args" | "cwd">,
  home: string,
) {
  const command = await parseArguments([...args, "hello"]);
  if (command.kind !== "run") throw new Error(`${args} is no run`);
  const { request } = command;
  const cwd = `${home}/${cell.cwd}`.replace(/\/$/u, "");
  const read = await readSettings({
    projectRoot: cwd,
    home,
    userDir: `${home}/.claude`,
    sources: settingSources(request.settingSources),
    flags: await parseCallerSettings(request.settings ?? "{}", { cwd }),
    sharesLocal: true,
  });
  const documentsFor = (version: string) => read.map((document) => judgeFor(document, version));
  return { request, cwd, documentsFor };
}
