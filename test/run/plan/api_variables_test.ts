import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import {
  relayVariables,
  requestVariables,
  upstreamOf,
} from "../../../src/run/plan/api_variables.ts";
import type { Login } from "../../../src/sandbox/user_config.ts";
import type { Settings } from "../../../src/sandbox/child/read_settings.ts";
import { storedLogin } from "../../sandbox/stored_login.ts";

const variable = (name: string): Login => ({ kind: "variable", name } as Login);
const STORED = storedLogin("max");
const BETA = "context-1m-2025-08-07";

interface Asked {
  readonly betas?: readonly string[];
  readonly taskBudget?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly login?: Login;
  readonly settings?: readonly JsonObject[];
}

function variablesOf({ login = { kind: "key" }, settings = [], ...asked }: Asked) {
  const { variables, warnings } = requestVariables({ betas: [], env: {}, ...asked }, {
    login,
    settings,
  });
  return [variables, warnings.length];
}

Deno.test("--betas adds a known header with an API key", () => {
  const set = { ANTHROPIC_BETAS: BETA };
  const rows: readonly (readonly [Asked, Readonly<Record<string, string>>, number?])[] = [
    [{ env: { ANTHROPIC_BETAS: "a" } }, {}],
    ...[
      ...[variable("ANTHROPIC_API_KEY"), variable("ANTHROPIC_AUTH_TOKEN")],
      ...[{ kind: "helper" }, { kind: "key" }] as const,
    ].map((login) => [{ betas: [BETA], login }, set] as const),
    ...[variable("CLAUDE_CODE_OAUTH_TOKEN"), STORED].map((login) =>
      [{ betas: [BETA, "x"], login }, {}, 1] as const
    ),
    [{ betas: ["x", `${BETA},y`, ""] }, {}, 3],
    // Headers of the environment or of settings stay.
    [{ betas: [BETA, BETA], env: { ANTHROPIC_BETAS: "a, b" } }, { ANTHROPIC_BETAS: `a,b,${BETA}` }],
    [
      {
        betas: [BETA],
        env: { ANTHROPIC_BETAS: "a, b" },
        settings: [{ env: { ANTHROPIC_BETAS: "c" } }, { env: 3 }, {}],
      },
      { ANTHROPIC_BETAS: `c,${BETA}` },
    ],
  ];
  for (const [asked, variables, warnings = 0] of rows) {
    assertEquals(variablesOf(asked), [variables, warnings]);
  }
});

Deno.test("--task-budget joins the extra body", () => {
  const budget = { type: "tokens", total: 20_000 };
  const rows: readonly (readonly [string, unknown])[] = [
    ['{"a":1,"output_config":{"b":2}}', { a: 1, output_config: { b: 2, task_budget: budget } }],
    ...["", "no json", "[1]", '{"output_config":3}'].map((odd) =>
      [odd, { output_config: { task_budget: budget } }] as const
    ),
  ];
  for (const [body, expected] of rows) {
    const { variables } = requestVariables({
      betas: [],
      env: { CLAUDE_CODE_EXTRA_BODY: body },
      taskBudget: 20_000,
    }, { login: STORED, settings: [] });
    assertEquals(JSON.parse(variables["CLAUDE_CODE_EXTRA_BODY"] ?? ""), expected, body);
    assertEquals(variables["ANTHROPIC_BETAS"], "task-budgets-2026-03-13");
  }
});

const env = (source: Settings["source"], variables: JsonObject): Settings => ({
  source,
  values: { env: variables },
});
const url = (name: string) => ({ ANTHROPIC_BASE_URL: `https://${name}.example/x` });
const flag = "--exact-stream";

Deno.test("the last settings with an address name the API", () => {
  const anthropic = ["api.anthropic.com", true] as const;
  const rows = [
    [{}, [], anthropic],
    [{ ANTHROPIC_BASE_URL: "" }, [], anthropic],
    [{ ANTHROPIC_BASE_URL: "https://api.anthropic.com/" }, [], anthropic],
    ...["0", "false", "No", "off", ""].map((off) =>
      [{ CLAUDE_CODE_USE_BEDROCK: off }, [], anthropic] as const
    ),
    [url("a"), [], ["a.example", false]],
    [url("a"), [env("user", url("b"))], ["b.example", false]],
    [{}, [env("user", url("b")), env("project", url("c"))], ["c.example", false]],
    [url("a"), [env("user", { ANTHROPIC_BASE_URL: 1 })], ["a.example", false]],
  ] as const;
  for (const [variables, settings, expected] of rows) {
    const upstream = upstreamOf({ env: variables, settings, flag });
    assertEquals([upstream.url.host, upstream.isFirstParty], [...expected]);
  }
});

Deno.test("a relay refuses an API that it cannot reach", () => {
  const rows = [
    [{ CLAUDE_CODE_USE_BEDROCK: "1" }, [], "Amazon Bedrock"],
    [{}, [env("user", { CLAUDE_CODE_USE_VERTEX: "true" })], "Google Vertex AI"],
    [{ ANTHROPIC_UNIX_SOCKET: "/s" }, [], "a Unix socket"],
    [{ CLAUDE_CODE_CLIENT_CERT: "/c" }, [], "with a certificate of its own"],
    [{ ANTHROPIC_BASE_URL: "ftp://x" }, [], "no URL of the web"],
    [{ ANTHROPIC_BASE_URL: "nonsense" }, [], "no URL of the web"],
    [{}, [env("managed", { ANTHROPIC_BASE_URL: "https://x" })], "managed settings"],
  ] as const;
  for (const [variables, settings, why] of rows) {
    const error = assertThrows(() => upstreamOf({ env: variables, settings, flag }), CliError, why);
    assertEquals(error.message.split(":")[0], "Cannot honour --exact-stream");
  }
});

Deno.test("requests to a relay use no proxy", () => {
  const at = "http://127.0.0.1:5/s";
  const variables = (given: Readonly<Record<string, string>>) =>
    relayVariables(upstreamOf({ env: given, settings: [], flag }), at);
  assertEquals(variables({})["NO_PROXY"], "127.0.0.1");
  assertEquals(variables({ NO_PROXY: "a,b" }), {
    ANTHROPIC_BASE_URL: at,
    NO_PROXY: "a,b,127.0.0.1",
    no_proxy: "a,b,127.0.0.1",
    _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1",
  });
  assertEquals(variables({ ANTHROPIC_BASE_URL: "http://x", no_proxy: "c", NO_PROXY: "a" }), {
    ANTHROPIC_BASE_URL: at,
    NO_PROXY: "c,127.0.0.1",
    no_proxy: "c,127.0.0.1",
  });
});
