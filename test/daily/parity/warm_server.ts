import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { poolCounts } from "../../program/server/delegation/pool_counts.ts";
import { serve, type Served } from "../../program/server/delegation/served.ts";
import { until } from "../../program/stand_in.ts";
import type { RealClaude } from "../../real/real_claude.ts";
import type { Row } from "../../parity/rows.ts";

const MODE = Deno.env.get("CLAUDE_PRINT_TEST_SERVE");

/** Whether the server gets ready as one does that an earlier run of the row has started. */
const IS_AUTO = MODE === "auto";

/** Whether rows run with warm children, where they can. */
export const IS_WARM = MODE === "warm" || IS_AUTO;

/** Rows for which no child can wait: they resume or name a session, ask on stdin or no model, set a goal, or review. */
export const COLD = [
  ...["betas", "compact-before", "goal", "input-empty", "input-type", "slash-asked"],
  ...["slash-review", "session-in-use"],
];

/** Whether a child can wait for a row: none does for an invalid command line, or for a profile with text output. */
export function canWait({ name, args }: Pick<Row, "name" | "args">): boolean {
  if (name.startsWith("usage-")) return false;
  return IS_AUTO ? !COLD.includes(name) : args.some((word) => word.endsWith("json"));
}

/** A server in which a child waits for one row. */
export interface WarmServer extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Whether the warm child has been given to a run. */
  readonly hasGiven: () => Promise<boolean>;
}

/** Flags that decide how a run reads and prints, and how many words each of them has. */
const OF_PRINTING: Readonly<Record<string, number>> = {
  "--output-format": 2,
  "--input-format": 2,
  "--verbose": 1,
  "--stream-text": 1,
  "--replay-user-messages": 1,
  "--": 1,
};

/** A run for which a child is to wait. */
interface WarmRun {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts a server in which a child waits for a command line, and waits until it is ready.
 *
 * @returns undefined if no child can wait for it
 */
export async function warmServer(
  real: RealClaude,
  { args, env }: WarmRun,
): Promise<WarmServer | undefined> {
  const server = await (IS_AUTO ? startBackground : startWithProfile)(real, { args, env });
  if (server === undefined) return undefined;
  try {
    await until(
      async () => (await poolCounts(server.env)).ready === 1,
      `a child waits for ${args}`,
    );
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return {
    env: server.env,
    hasGiven: async () => (await poolCounts(server.env)).waited === 1,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts a server as a run with these arguments does in the background. */
async function startBackground(
  { binary, home }: RealClaude,
  { args, env }: WarmRun,
): Promise<Served | undefined> {
  return await serve({
    args: ["--background", "600"],
    env: home.env,
    stdin: (found) =>
      JSON.stringify({
        argv: ["--claude-binary", binary, "-p", ...args],
        env: { ...home.env, ...env, ...found },
        cwd: home.project,
      }),
  }).catch(() => undefined);
}

async function startWithProfile(
  { binary, home }: RealClaude,
  { args, env }: WarmRun,
): Promise<Served | undefined> {
  const command = await parseArguments(["-p", ...args]).catch(() => undefined);
  if (command?.kind !== "run") return undefined;
  const { promptArgument, ignoredArguments, outputFormat, omitsThinking } = command.request;
  const operands = [promptArgument, ...ignoredArguments];
  const flags: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? "";
    const words = OF_PRINTING[word];
    if (words !== undefined) index += words - 1;
    else if (!operands.includes(word)) flags.push(word);
  }
  const path = `${home.path}/profiles`;
  const printing = outputFormat === "json" && omitsThinking ? { json: true } : { asks: false };
  const line = { args: ["--claude-binary", binary, ...flags], cwd: home.project, ...printing };
  await Deno.writeTextFile(path, `${JSON.stringify(line)}\n`);
  const server = serve({
    args: ["--warm", "1", "--max", "1", "--profiles", path],
    env: { ...home.env, ...env },
    cwd: home.project,
  }).catch(() => undefined);
  return await server.finally(() => Deno.remove(path));
}
