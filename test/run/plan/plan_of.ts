import { assertEquals } from "@std/assert";
import { callerAgents, type OtherAgents } from "../../../src/run/plan/caller_agents.ts";
import { definedFields } from "../../../src/defined_fields.ts";
import { type Plan, plan } from "../../../src/run/plan/plan.ts";
import type { PlanFacts } from "../../../src/run/plan/plan_facts.ts";
import { resumedPart } from "../../../src/run/facts/resumed_session.ts";
import type { Initialized, RunOrder } from "../../../src/run/plan/run_order.ts";
import { PLAIN_ORDER } from "../plain_order.ts";
import type { Settings } from "../../../src/sandbox/child/read_settings.ts";

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

/** The id of a session that nothing names, and two that callers name. */
export const FRESH = "11111111-1111-4111-8111-111111111111";
export const NAMED = "22222222-2222-4222-8222-222222222222";
export const EARLIER = "33333333-3333-4333-8333-333333333333";
export const SERVER = { name: "s", source: "dynamic", disabled: false, config: {} } as const;
export const CONVERSATION = { prompt: undefined } as const;

export const FACTS: PlanFacts = {
  binary: "/bin/claude",
  version: undefined,
  userConfig: { dir: "/u/.claude", claudeJson: "/u/.claude.json", loginDir: "/u/.claude" },
  userClaudeJson: undefined,
  callerSettings: {},
  documents: [],
  warnings: [],
  settings: [],
  login: { kind: "helper" },
  credentials: [],
  mcpServers: [],
  gated: { expands: false },
  projectRoot: "/w/inner",
  root: "/w",
  folders: ["/w/inner", "/w"],
  writable: ["/w/inner"],
  scheduledTasks: false,
  instructions: { claude: false, agents: false, skills: false },
  terminalSize: { rows: 50, cols: 220 },
  timeLeftMs: 59_000,
  freshId: FRESH,
  seed: "44444444-4444-4444-8444-444444444444",
  found: {},
  folder: FOLDER,
  runs: ["/tmp/claude-print-1", "/var/tmp/claude-print-1"],
  secret: "s3cret",
  pid: 4711,
  now: 1_700_000_000_000,
};

/** The agents of the file that `--agents` names, and those of the user and the project. */
interface Agents {
  readonly ofFile?: string;
  readonly others?: OtherAgents;
}

export function planOf(
  given: Partial<RunOrder> = {},
  known: Partial<PlanFacts> = {},
  agents: Agents = {},
): Plan {
  const order = { ...PLAIN_ORDER, ...given };
  const facts = { ...FACTS, callerAgents: callerAgents(order, agents), ...known };
  const shortened = resumedPart(order, facts.found);
  return plan(order, { ...facts, ...definedFields({ shortened }) });
}

/** What is seen of a plan, and what differs from the plain order and facts. */
export type Row = readonly [
  is: unknown,
  order?: Partial<RunOrder>,
  facts?: Partial<PlanFacts>,
  agents?: Agents,
];

/** The values of a plan at paths, such as "session.maxTurns env.PATH". */
function at(planned: Plan, paths: string): readonly unknown[] {
  const parts = { ...planned, ...planned.conversation, settings: settingsOf(planned) };
  return paths.split(" ").map((path) =>
    path.split(".").reduce((value: unknown, name) => Object(value)[name], parts)
  );
}

/**
 * Registers a test that looks at the plan for each row, without any permission.
 *
 * @param see what a row says of a plan, or the paths of its values; a path has to lead to a value in a row
 */
export function rule(
  name: string,
  see: ((plan: Plan) => unknown) | string,
  rows: readonly Row[],
): void {
  Deno.test({
    name: `plan: ${name}`,
    permissions: "none",
    fn: () => {
      const found: (readonly unknown[])[] = [];
      for (const [is, ...row] of rows) {
        const planned = planOf(...row);
        const seen = typeof see === "string" ? at(planned, see) : [see(planned)];
        assertEquals(seen.length === 1 ? seen[0] : seen, is, Deno.inspect(row));
        found.push(seen);
      }
      if (typeof see !== "string") return;
      const paths = see.split(" ").filter((_, place) =>
        found.every((row) => row[place] === undefined)
      );
      assertEquals(paths, [], "no row has a value there");
    },
  });
}

/** An order whose caller has sent `initialize`. */
export function initialized(more: Partial<Initialized> = {}): Partial<RunOrder> {
  return { initialized: { id: "i", callbacks: [], servers: [], ...more } };
}

const read = (source: Settings["source"]) => (values: Settings["values"]): Partial<PlanFacts> => ({
  settings: [{ source, values }],
});
export const [user, project, local, flags] = [
  ...[read("user"), read("project"), read("local"), read("flags")],
] as const;

/** Facts with the settings of several sources; the last source wins. */
export function both(...parts: readonly Partial<PlanFacts>[]): Partial<PlanFacts> {
  return { settings: parts.flatMap(({ settings = [] }) => settings) };
}
