import { assertEquals } from "@std/assert";
import { requestVariables } from "../../../src/run/plan/request_variables.ts";
import type { Login } from "../../../src/sandbox/child/login.ts";
import type { JsonObject } from "../../../src/json_object.ts";

const KEY: Login = { kind: "variable", name: "ANTHROPIC_API_KEY" };
const TOKEN: Login = { kind: "variable", name: "CLAUDE_CODE_OAUTH_TOKEN" };
const STORED: Login = {
  kind: "stored",
  subscription: "max",
  expiresAt: undefined,
  refreshable: true,
  refreshableUntil: undefined,
};
const BETA = "context-1m-2025-08-07";

interface Asked {
  readonly betas?: readonly string[];
  readonly taskBudget?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly login?: Login;
  readonly settings?: readonly JsonObject[];
}

const of = ({ betas = [], taskBudget, env = {}, login = KEY, settings = [] }: Asked) =>
  requestVariables({ betas, env, ...(taskBudget === undefined ? {} : { taskBudget }) }, {
    login,
    settings,
  });

Deno.test("requestVariables(): nothing asked for, nothing set", () => {
  assertEquals(of({ env: { ANTHROPIC_BETAS: "a" } }), { variables: {}, betas: [], warnings: [] });
});

Deno.test("requestVariables(): --betas works with an API key and for one header, as with claude -p", () => {
  for (
    const login of [KEY, { kind: "helper" }, { kind: "key" }, {
      kind: "variable",
      name: "ANTHROPIC_AUTH_TOKEN",
    }] as const
  ) {
    assertEquals(of({ betas: [BETA], login }), {
      variables: { ANTHROPIC_BETAS: BETA },
      betas: [BETA],
      warnings: [],
    });
  }
  for (const login of [TOKEN, STORED]) {
    const { variables, warnings } = of({ betas: [BETA, "x"], login });
    assertEquals([variables, warnings.length], [{}, 1]);
  }
  const { variables, warnings } = of({ betas: ["x", `${BETA},y`, ""] });
  assertEquals([variables, warnings.length], [{}, 3]);
});

Deno.test("requestVariables(): headers that are there already stay, those of settings before the environment's", () => {
  const env = { ANTHROPIC_BETAS: "a, b" };
  assertEquals(of({ betas: [BETA, BETA], env }).variables, { ANTHROPIC_BETAS: `a,b,${BETA}` });
  assertEquals(
    of({ betas: [BETA], env, settings: [{ env: { ANTHROPIC_BETAS: "c" } }, { env: 3 }, {}] })
      .variables,
    { ANTHROPIC_BETAS: `c,${BETA}` },
  );
});

Deno.test("requestVariables(): --task-budget goes into the body of requests, beside what is there", () => {
  const budget = { type: "tokens", total: 20_000 };
  const bodyOf = (body: string) =>
    JSON.parse(
      of({ taskBudget: 20_000, env: { CLAUDE_CODE_EXTRA_BODY: body }, login: STORED })
        .variables["CLAUDE_CODE_EXTRA_BODY"] ?? "",
    );
  assertEquals(bodyOf('{"a":1,"output_config":{"b":2}}'), {
    a: 1,
    output_config: { b: 2, task_budget: budget },
  });
  for (const odd of ["", "no json", "[1]", '{"output_config":3}']) {
    assertEquals(bodyOf(odd), { output_config: { task_budget: budget } }, odd);
  }
  assertEquals(
    of({ taskBudget: 1 }).variables["ANTHROPIC_BETAS"],
    "task-budgets-2026-03-13",
  );
});
