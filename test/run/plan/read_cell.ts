import type { PermissionCell } from "../../../fixtures/permissions/permission_cells.ts";
import type { ThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import { parseArguments } from "../../../src/cli/parse_arguments.ts";
import type { RunRequest } from "../../../src/cli/run_request.ts";
import {
  readSettings,
  type Settings,
  type SettingsDocument,
  settingSources,
  soundSettings,
} from "../../../src/sandbox/child/read_settings.ts";
import { judgeFor } from "../../../src/settings/judged_settings.ts";
import { parseCallerSettings } from "../../../src/sandbox/child/run_settings.ts";

/** What is read for a run in a cell's surroundings. */
export interface ReadCell {
  readonly request: RunRequest;
  readonly cwd: string;
  readonly documents: readonly SettingsDocument[];
  readonly settings: readonly Settings[];
}

/** Reads the settings for a run in surroundings that have been laid, as for a version of Claude Code. */
export async function readCell(
  cell: Pick<PermissionCell, "name" | "args" | "cwd">,
  { home, version }: { readonly home: ThrowawayHome; readonly version: string },
): Promise<ReadCell> {
  const command = await parseArguments([...cell.args, "hello"]);
  if (command.kind !== "run") throw new Error(`"${cell.name}" is no run`);
  const { request } = command;
  const cwd = `${home.path}/${cell.cwd}`.replace(/\/$/u, "");
  const read = await readSettings({
    projectRoot: cwd,
    home: home.path,
    userDir: home.config,
    sources: settingSources(request.settingSources),
    flags: await parseCallerSettings(request.settings ?? "{}", { cwd }),
    sharesLocal: true,
  });
  const documents = read.map((document) => judgeFor(document, version));
  return { request, cwd, documents, settings: soundSettings(documents) };
}
