import type { Plan } from "../../../src/run/plan/plan.ts";

/** The private folder of the run. */
export const FOLDER = "/tmp/claude-print-1/7-8-00000000";

export function argsOf({ args }: Plan, flag: string): readonly string[] {
  return args.filter((each) => each.startsWith(`${flag}=`)).map((each) =>
    each.slice(flag.length + 1)
  );
}

/** The text of a file below the private folder. */
export function fileOf({ contents }: Plan, name: string): string | undefined {
  return contents.files.find(({ path }) => path === `${FOLDER}/${name}`)?.text;
}

// deno-lint-ignore no-explicit-any -- a test may look anywhere in a file
export function jsonOf(planned: Plan, name: string): any {
  return JSON.parse(fileOf(planned, name) ?? "{}");
}

export const settingsOf = (planned: Plan) => jsonOf(planned, "own/settings.json");

/** Whether the child's hook of an event waits for an answer; undefined if there is no such hook. */
export function isAnswered(planned: Plan, event: string): boolean | undefined {
  return settingsOf(planned).hooks[event]?.[0].hooks[0].command.startsWith("set -- asks ");
}

/** The fields that are not undefined. */
export function defined(fields: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
