import type { LoggedRequest } from "../../../src/learn/api/messages_api.ts";
import { dirname } from "node:path";
import type { ProgramOutput } from "../../start_program.ts";
import { RealClaude } from "../real_claude.ts";
import type { Row } from "./rows.ts";
import { canWait, IS_WARM, warmServer } from "./warm_server.ts";

type RowEnv = Readonly<Record<string, string>>;

/** Which program runs a row. */
export type Who = "claude-print" | "claude -p";

/** What came of a row. */
export interface RowRun extends ProgramOutput {
  /** Requests of the conversation. */
  readonly requests: readonly LoggedRequest[];
  /** What is in the project afterwards. */
  readonly files: readonly string[];
  /** Whether a Claude Code carried it out that had waited for it. */
  readonly isWarm: boolean;
  /** The home in which it ran, which is gone. */
  readonly home: string;
}

/** Whether a row asks how the program itself takes its command line and its stdin; others are carried out in this process. */
function isOfProgram({ name, stdin }: Row): boolean {
  return name.startsWith("usage-") || stdin !== undefined;
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
  const placed = (words: readonly string[]) =>
    words.map((word) => word.replaceAll("HOME/", `${home.path}/`));
  const run = async (words: readonly string[], who: Who, env: RowEnv = {}) => {
    const args = placed(words);
    const options = {
      env: { ...row.env, ...env },
      ...(row.stdin === undefined ? {} : { stdin: row.stdin }),
    };
    if (who === "claude -p") return await real.claudeP(args, options);
    const ours = ["-p", ...args];
    return isOfProgram(row) ? await real.print(ours, options) : await real.printHere(ours, options);
  };
  for (const args of row.before ?? []) await run(args, "claude -p");
  const before = real.api.turns.length;
  await using server = IS_WARM && who === "claude-print" && canWait(row)
    ? await warmServer(real, { args: placed(row.args), env: row.env ?? {} })
    : undefined;
  const output = await run(row.args, who, server?.env);
  return {
    ...output,
    isWarm: await server?.hasGiven() ?? false,
    requests: real.api.turns.slice(before),
    files: [...Deno.readDirSync(home.project)].map(({ name }) => name).toSorted(),
    home: home.path,
  };
}
