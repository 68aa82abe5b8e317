import type { Moment, Wrap } from "./fault.ts";

/** Moments of a child that can take no prompt yet. */
export const EARLY: readonly Moment[] = ["before start", "at the dialog"];

/** A run beside a server in which a child has been started for it. */
export interface WarmCell extends AsyncDisposable {
  /** Makes a command that starts the server first, and ends it last. */
  readonly wrap: Wrap;
  /** How many runs have got a child that had waited; undefined where there was no server. */
  readonly waited: () => Promise<number | undefined>;
}

/**
 * Makes the surroundings of a run whose child waits in a server, where something goes wrong at a moment: before it can
 * take a prompt, the run comes while it is being started.
 */
export async function warmCell(moment: Moment): Promise<WarmCell> {
  const folder = await Deno.makeTempDir({ prefix: "x" });
  const program = [
    ...[Deno.execPath(), "run", "-A", "--quiet", "--no-code-cache", "--no-check"],
    ...["--config", `${import.meta.dirname}/../../deno.json`, `${import.meta.dirname}/warm_run.ts`],
  ];
  const waits = EARLY.includes(moment) ? "started" : "ready";
  return {
    wrap: (command) => [...program, folder, waits, ...command],
    waited: async () => {
      const text = await Deno.readTextFile(`${folder}/waited`).catch(() => undefined);
      return text === undefined ? undefined : Number(text);
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
