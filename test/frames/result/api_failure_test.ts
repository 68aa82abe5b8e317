import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type ApiErrorFacts,
  apiFailure,
  type ApiFailureKind,
} from "../../../src/frames/result/api_failure.ts";

type Row = readonly [ApiFailureKind, Partial<ApiErrorFacts>];

const overloaded = "This is a server-side issue, usually temporary — try again in a moment.";

/** What Claude Code says, as measured, and what it is. */
const ROWS: readonly Row[] = [
  ["login", {
    error: "authentication_failed",
    status: 401,
    text: "Please run /login · API Error: 401 Invalid bearer token",
  }],
  ["login", { error: "authentication_failed", text: "Login expired · Please run /login" }],
  ["login", { error: "authentication_failed", text: "Not logged in · Please run /login" }],
  ["login", {
    error: "authentication_failed",
    status: 403,
    text: "Please run /login · API Error: 403 Request not allowed",
  }],
  ["organisation", {
    error: "oauth_org_not_allowed",
    status: 403,
    text: "Your organization has disabled Claude subscription access for Claude Code · Use an " +
      "Anthropic API key instead, or ask your admin to enable access",
  }],
  ["billing", { error: "billing_error", status: 400, text: "Credit balance is too low" }],
  ["usage-limit", {
    error: "rate_limit",
    status: 429,
    text: "You've hit your session limit · resets 3:04am (UTC)",
  }],
  ["usage-limit", {
    error: "rate_limit",
    status: 429,
    apiError: "usage_limit_reached",
    text: "You've hit your limit",
  }],
  ["rate-limit", {
    error: "rate_limit",
    status: 429,
    text: "API Error: Server is temporarily limiting requests (not your usage limit) · Try later.",
  }],
  ["overloaded", {
    error: "server_error",
    status: 529,
    text: `API Error: 529 Overloaded. ${overloaded}`,
  }],
  ["overloaded", { error: "unknown", text: "API Error: Overloaded" }],
  ["server", {
    error: "server_error",
    status: 500,
    text: `API Error: 500 Internal server error. ${overloaded}`,
  }],
  ["server", { error: "server_error", status: 503, text: "API Error: 503 Service Unavailable." }],
  ["network", {
    error: "server_error",
    text: "API Error: Unable to connect to API (ConnectionRefused)",
  }],
  ["network", {
    error: "server_error",
    apiError: "connection_failed",
    text: "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary",
  }],
  ["timeout", { error: "server_error", text: "Request timed out" }],
  ["cut-off", {
    error: "server_error",
    text: "API Error: Connection closed mid-response. The response above may be incomplete.",
  }],
  ["context-overflow", {
    error: "invalid_request",
    status: 400,
    text: "Prompt is too long · the request is ~210000 tokens (limit 200000)",
  }],
  ["too-large", {
    error: "invalid_request",
    status: 413,
    text: "Request too large (max 32MB). Double press esc to go back",
  }],
  ["output-limit", {
    error: "max_output_tokens",
    text: "API Error: Claude's response exceeded the 64000 output token maximum.",
  }],
  ["model", {
    error: "model_not_found",
    status: 404,
    text: "There's an issue with the selected model (x). It may not exist.",
  }],
  ["refusal", {
    error: "invalid_request",
    text: "API Error: Opus 5.5's safeguards flagged this message (https://x). This happens.",
  }],
  ["invalid-request", { error: "unknown", status: 400, text: "API Error: 400 Bad prompt" }],
  ["invalid-request", { error: "invalid_request", status: 400, text: "API Error: 400 Bad image" }],
  ["unknown", { error: "of_the_future", text: "Something else" }],
  ["unknown", { error: "unknown", text: "" }],
];

const NOW = Date.UTC(2026, 10, 23, 1, 9, 30);

const failure = (facts: Partial<ApiErrorFacts>) =>
  apiFailure({ error: "unknown", text: "", status: null, ...facts }, { now: NOW });

Deno.test("apiFailure() tells the kinds of API error apart", () => {
  for (const [kind, facts] of ROWS) assertEquals(failure(facts).kind, kind, facts.text);
});

Deno.test("apiFailure() words every error in one line without a full stop, and says what to do", () => {
  for (const [, facts] of ROWS) {
    const { message, suggestion } = failure(facts);
    assertMatch(message, /^[A-Z][^\n]*[^.\n]$/u);
    assertMatch(suggestion, /^[A-Z][^\n]*[^.\n]$/u);
    assertEquals(/\/login ·|double press|API Error:/iu.test(message), facts.status === 413);
  }
});

Deno.test("apiFailure() names the login or the variable that has to be renewed", () => {
  const facts = { error: "authentication_failed", text: "Please run /login · API Error: 401 x" };
  assertStringIncludes(failure(facts).suggestion, "claude /login");
  const keyed = failure({ ...facts, credential: "ANTHROPIC_API_KEY" });
  assertStringIncludes(keyed.message, "ANTHROPIC_API_KEY");
  assertStringIncludes(keyed.suggestion, "Renew ANTHROPIC_API_KEY");
});

Deno.test("apiFailure() says when a limit resets, if anybody knows", () => {
  const limit = { error: "rate_limit", status: 429, apiError: "usage_limit_reached" };
  const suggestion = (more: Partial<ApiErrorFacts>) => failure({ ...limit, ...more }).suggestion;
  assertEquals(
    suggestion({ text: "You've hit your 5-hour limit · resets 2:50am (UTC)" }),
    "Run it again after 2:50am (UTC)",
  );
  assertEquals(
    suggestion({ text: "You've hit your limit · resets Oct 9, 5pm (Asia/Tokyo) · /upgrade" }),
    "Run it again after Oct 9, 5pm (Asia/Tokyo)",
  );
  assertMatch(
    suggestion({ text: "You've hit your limit", resetsAt: 1_795_315_839 }),
    /^Run it again after Nov 2\d, 2026/u,
  );
  assertStringIncludes(suggestion({ text: "You've hit your limit" }), "claude /usage");
});

Deno.test("apiFailure() quotes a sentence as one line of visible characters, and not for ever", () => {
  const { message } = failure({ text: `API Error: \x1b[31mred\u202e\tx\nmore`, status: 400 });
  assertEquals(message, "The API refused the request: [31mredx");
  const long = failure({ text: "x".repeat(1000), status: 400 }).message;
  assertEquals(long.length < 300, true);
});
