import type { LoggedRequest } from "../../../fixtures/api/messages_api.ts";
import { dirname } from "node:path";
import type { ProgramOutput } from "../../start_program.ts";
import { RealClaude } from "../real_claude.ts";
import type { Row } from "./rows.ts";

/** Which program runs a row. */
export type Who = "claude-print" | "claude -p";

/** What came of a row. */
export interface RowRun extends ProgramOutput {
  /** Requests of the conversation. */
  readonly requests: readonly LoggedRequest[];
  /** What is in the project afterwards. */
  readonly files: readonly string[];
  /** The home in which it ran, which is gone. */
  readonly home: string;
}

/** Runs a row in a home of its own, against an API of its own. */
export async function runRow(
  row: Row,
  { version, who }: { readonly version: string; readonly who: Who },
): Promise<RowRun> {
  await using real = await RealClaude.set(version, {
    ...(row.api === undefined ? {} : { api: row.api }),
    ...(row.home === undefined ? {} : { home: row.home }),
  });
  const { home } = real;
  for (const [name, text] of Object.entries(row.files ?? {})) {
    const path = name.startsWith("~/")
      ? `${home.path}/${name.slice(2)}`
      : `${home.project}/${name}`;
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
  const run = async (words: readonly string[], who: Who) => {
    const args = words.map((word) => word.replaceAll("HOME/", `${home.path}/`));
    const options = {
      env: row.env ?? {},
      ...(row.stdin === undefined ? {} : { stdin: row.stdin }),
    };
    return who === "claude -p"
      ? await real.claudeP(args, options)
      : await real.print(["-p", ...args], options);
  };
  for (const args of row.before ?? []) await run(args, "claude -p");
  const before = real.api.turns.length;
  const output = await run(row.args, who);
  return {
    ...output,
    requests: real.api.turns.slice(before),
    files: [...Deno.readDirSync(home.project)].map(({ name }) => name).toSorted(),
    home: home.path,
  };
}
