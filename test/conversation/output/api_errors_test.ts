import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type ApiErrorFacts,
  apiFailure,
  type ApiFailureKind,
  printSentence,
  resetTime,
} from "../../../src/conversation/output/result/api_failure.ts";
import { buildResult } from "../../../src/conversation/output/result/build_result.ts";
import { apiRetryFrame } from "../../../src/conversation/output/live/stream_frames.ts";
import { framesOfEntry } from "../../../src/conversation/output/frames/frames_of_entry.ts";
import { unavailableFrame } from "../../../src/conversation/output/frames/assistant_frames.ts";
import { splitTurns } from "../../../src/claude/transcript/turn.ts";
import { entryOf, type Line, text } from "./lines.ts";
import { VERSION } from "./runs.ts";

const NOW = Date.UTC(2026, 10, 23, 1, 9, 30);
const failure = (facts: Partial<ApiErrorFacts>) =>
  apiFailure({ error: "unknown", text: "", status: null, ...facts }, { now: NOW });

type Row = readonly [
  error: string,
  status: number | null,
  text: string,
  more?: Partial<ApiErrorFacts>,
];

/** What Claude Code says of each kind of error, as measured. */
const ROWS = {
  login: [
    ["authentication_failed", 401, "Please run /login · API Error: 401 Invalid bearer token"],
    ["authentication_failed", null, "Login expired · Please run /login"],
    ["authentication_failed", 403, "Please run /login · API Error: 403 Request not allowed"],
  ],
  organisation: [[
    "oauth_org_not_allowed",
    403,
    "Your organization has disabled Claude subscription access for Claude Code · Use an " +
    "Anthropic API key instead, or ask your admin to enable access",
  ]],
  billing: [["billing_error", 400, "Credit balance is too low"]],
  "usage-limit": [
    ["rate_limit", 429, "You've hit your session limit · resets 3:04am (UTC)"],
    ["rate_limit", 429, "You've hit your limit", { apiError: "usage_limit_reached" }],
  ],
  "rate-limit": [
    [
      "rate_limit",
      429,
      "API Error: Server is temporarily limiting requests (not your usage limit) · Try later.",
    ],
    ["rate_limit", 429, "API Error: 429"],
  ],
  overloaded: [
    [
      "server_error",
      529,
      "API Error: 529 Overloaded. This is a server-side issue — try again in a moment.",
    ],
    ["unknown", null, "API Error: Overloaded"],
  ],
  server: [
    ["server_error", 500, "API Error: 500 Internal server error. This is a server-side issue."],
    ["server_error", 503, "API Error: 503 Service Unavailable."],
  ],
  network: [
    ["server_error", null, "API Error: Unable to connect to API (ConnectionRefused)"],
    [
      "server_error",
      null,
      "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary",
      { apiError: "connection_failed" },
    ],
  ],
  timeout: [["server_error", null, "Request timed out"]],
  "cut-off": [[
    "server_error",
    null,
    "API Error: Connection closed mid-response. The response above may be incomplete.",
  ]],
  "context-overflow": [
    ["invalid_request", 400, "Prompt is too long · the request is ~210000 tokens (limit 200000)"],
  ],
  "too-large": [
    ["invalid_request", 413, "Request too large (max 32MB). Double press esc to go back"],
  ],
  "output-limit": [[
    "max_output_tokens",
    null,
    "API Error: Claude's response exceeded the 64000 output token maximum.",
  ]],
  model: [
    ["model_not_found", 404, "There's an issue with the selected model (x). It may not exist."],
  ],
  refusal: [[
    "invalid_request",
    null,
    "API Error: Opus 5.5's safeguards flagged this message (https://x). This happens.",
  ]],
  "invalid-request": [["unknown", 400, "API Error: 400 Bad prompt"], ["of_the_future", 429, ""]],
  unknown: [["of_the_future", null, "Something else"], ["unknown", null, ""]],
} as const satisfies Partial<Record<ApiFailureKind, readonly Row[]>>;

Deno.test("apiFailure() distinguishes the kinds of API errors", () => {
  const temporary = ["usage-limit", "rate-limit", "overloaded"];
  for (const [kind, rows] of Object.entries<readonly Row[]>(ROWS)) {
    for (const [error, status, text, more] of rows) {
      const found = failure({ error, status, text, ...more });
      assertEquals(found.kind, kind, text);
      assertEquals(found.isTemporary, temporary.includes(kind) || status === 429, text);
      const { message, suggestion } = found;
      for (const words of [message, suggestion]) assertMatch(words, /^[A-Z][^\n]*[^.\n]$/u);
      assertEquals(/\/login ·|double press|API Error:/iu.test(message), status === 413);
    }
  }
});

Deno.test("apiFailure() names the credential to renew", () => {
  const facts = { error: "authentication_failed", text: "Please run /login · API Error: 401 x" };
  assertStringIncludes(failure(facts).suggestion, "claude /login");
  const keyed = failure({ ...facts, credential: "ANTHROPIC_API_KEY" });
  assertStringIncludes(keyed.message, "ANTHROPIC_API_KEY");
  assertStringIncludes(keyed.suggestion, "Renew ANTHROPIC_API_KEY");
});

Deno.test("apiFailure() gives the reset time of a limit", () => {
  const limit = { error: "rate_limit", status: 429, apiError: "usage_limit_reached" };
  const rows = [
    [
      "You've hit your 5-hour limit · resets 2:50am (UTC)",
      undefined,
      /^Run it again after 2:50am \(UTC\)$/u,
      Date.UTC(2026, 10, 23, 2, 50) / 1000,
    ],
    [
      "You've hit your limit · resets Dec 9, 5pm (Asia/Tokyo) · /upgrade",
      undefined,
      /^Run it again after Dec 9, 5pm \(Asia\/Tokyo\)$/u,
      Date.UTC(2026, 11, 9, 8) / 1000,
    ],
    ["You've hit your limit", 1_795_315_839, /^Run it again after Nov 2\d, 2026/u, 1_795_315_839],
    ["You've hit your limit", undefined, /claude \/usage/u, undefined],
    ["You've hit your limit · resets soon", undefined, /^Run it again after soon$/u, undefined],
  ] as const;
  for (const [text, resetsAt, suggestion, seconds] of rows) {
    const found = failure({ ...limit, text, ...(resetsAt === undefined ? {} : { resetsAt }) });
    assertMatch(found.suggestion, suggestion);
    assertEquals(found.resetsAt, seconds, text);
  }
});

Deno.test("apiFailure() quotes one short line of visible characters", () => {
  const { message } = failure({ text: `API Error: \x1b[31mred\u202e\tx\nmore`, status: 400 });
  assertEquals(message, "The API refused the request: [31mredx");
  assert(failure({ text: "x".repeat(1000), status: 400 }).message.length < 300);
});

const at = (year: number, month: number, day: number, hour: number, minute: number) =>
  Date.UTC(year, month - 1, day, hour, minute) / 1000;

Deno.test("resetTime() reads a time as the next of its kind", () => {
  const rows = [
    ["2:09am (UTC)", at(2026, 11, 23, 2, 9)],
    ["2am (UTC)", at(2026, 11, 23, 2, 0)],
    ["1:09am (UTC)", at(2026, 11, 23, 1, 9)],
    ["1:08am (UTC)", at(2026, 11, 24, 1, 8)],
    ["12am (UTC)", at(2026, 11, 24, 0, 0)],
    ["12:30pm (UTC)", at(2026, 11, 23, 12, 30)],
    ["11\u202fpm (UTC)", at(2026, 11, 23, 23, 0)],
    ["3am (Europe/Berlin)", at(2026, 11, 23, 2, 0)],
    ["9pm (America/New_York)", at(2026, 11, 23, 2, 0)],
    ["Nov 25, 2:09am (UTC)", at(2026, 11, 25, 2, 9)],
    ["Nov 25 at 2am (Asia/Kolkata)", at(2026, 11, 24, 20, 30)],
    ["Jan 2, 2027, 5pm (UTC)", at(2027, 1, 2, 17, 0)],
    ["Jul 1, 2027, 12pm (Europe/Berlin)", at(2027, 7, 1, 10, 0)],
  ] as const;
  for (const [words, expected] of rows) assertEquals(resetTime(words, NOW), expected, words);
  const others = "|soon|25:00 (UTC)|13pm (UTC)|2:99am (UTC)|Foo 3, 2am (UTC)|2am (Nowhere/Else)|" +
    "2am|2am (UTC) 3am (UTC)";
  for (const words of others.split("|")) assertEquals(resetTime(words, NOW), undefined, words);
});

const TOO_LARGE = "Request too large (max 32MB). Accumulated images and attachments in the " +
  "conversation pushed the request over the limit.";
const AGAINST_POLICY =
  "API Error: Claude Code is unable to respond to this request, which appears to violate our " +
  "Usage Policy (https://www.anthropic.com/legal/aup).";
const NO_MODEL = "There's an issue with the selected model (m). It may not exist or you may not " +
  "have access to it.";
const FLAGGED = "API Error: Opus 5.5's safeguards flagged this message. Try rephrasing it.\n\n";

Deno.test("printSentence() words an error as claude -p does", () => {
  const rows = [
    [
      "Please run /login · API Error: 401 Invalid bearer token",
      "Failed to authenticate. API Error: 401 Invalid bearer token",
    ],
    [
      `${NO_MODEL} Run /model to pick a different model.`,
      `${NO_MODEL} Run --model to pick a different model.`,
    ],
    [
      "Request too large (max 32MB). Double press esc to go back and try with a smaller file.",
      "Request too large (max 32MB). Try with a smaller file.",
    ],
    [
      `${TOO_LARGE} Run /compact, or double press esc to go back and remove attachments.`,
      `${TOO_LARGE} Remove older images or compact the conversation.`,
    ],
    [
      `${AGAINST_POLICY} Please double press esc to edit your last message or start a new ` +
      "session for Claude Code to assist with a different task.\n\nRequest ID: req_1",
      `${AGAINST_POLICY} Try rephrasing the request in a new session or change your model.` +
      "\n\nRequest ID: req_1",
    ],
    [
      `${FLAGGED}You can learn more: https://support.claude.com\n\nRequest ID: req_1`,
      `${FLAGGED}Learn more: https://support.claude.com\n\nRequest ID: req_1`,
    ],
    ["Credit balance is too low"],
    ["API Error: 529 Overloaded"],
    ["Not logged in · Please run /login"],
    ["API Error: 400 no\n\nYou can learn more: https://support.claude.com"],
    [""],
    // A search for the end of the sentence stays short.
    ["\n\nYou can learn more: ".repeat(5000)],
  ] as const;
  for (const [interactive, printed = interactive] of rows) {
    assertEquals(printSentence(interactive), printed);
  }
});

/** The line that Claude Code writes instead of an answer. */
const errorLine = (words: string, more: Line = {}) =>
  entryOf({ ...text(words), uuid: "e", isApiErrorMessage: true, ...more });
const framesOf = (entry: ReturnType<typeof entryOf>) =>
  framesOfEntry(entry, { version: VERSION, sessionId: "s", newUuid: () => "new" });
const resultOf = (entry: ReturnType<typeof entryOf>) =>
  buildResult({
    ...{ version: VERSION, sessionId: "s", uuid: "u" },
    outcome: { kind: "failed", error: "unknown", text: "" },
    turn: splitTurns([entry])[0],
  });

Deno.test("an API error has the words of claude -p", () => {
  const words = "Please run /login · API Error: 401 x";
  const printed = "Failed to authenticate. API Error: 401 x";
  const said = (more: Line) => framesOf(errorLine(words, more)).map((frame) => frame["message"]);
  const message = { id: words, model: "m" };
  assertEquals<unknown>(said({ apiErrorStatus: 401 }), [
    { ...message, content: [{ type: "text", text: printed }] },
  ]);
  assertEquals(resultOf(errorLine(words)).result, printed);
  const [own] = said({ isApiErrorMessage: false });
  assertEquals((own as Line)["content"], [{ type: "text", text: words }], "the model's own words");
});

Deno.test("an exhausted limit has a frame and a name", () => {
  const limits = { status: "rejected", resetsAt: 1_795_315_839, rateLimitType: "five_hour" };
  const entry = errorLine("You've hit your limit", {
    error: "rate_limit",
    apiErrorStatus: 429,
    apiError: "usage_limit_reached",
    apiErrorParams: { rate_limit_info: limits },
  });
  const [limit, answer] = framesOf(entry);
  assertEquals<unknown>(limit, {
    type: "rate_limit_event",
    rate_limit_info: limits,
    uuid: "new",
    session_id: "s",
  });
  assertEquals([answer?.type, answer?.["api_error"]], ["assistant", "usage_limit_reached"]);
  assertEquals(resultOf(entry)["api_error"], "usage_limit_reached");
});

Deno.test("an API error has a terminal_reason", () => {
  const rows = [
    ["Prompt is too long · x", "invalid_request", 400, "prompt_too_long"],
    ["Prompt is too long", "invalid_request", undefined, "blocking_limit"],
    ["Request too large (max 32MB).", "invalid_request", 413, "image_error"],
    ["API Error: 500", "server_error", 500, "api_error"],
  ] as const;
  for (const [words, error, apiErrorStatus, reason] of rows) {
    const { terminal_reason } = resultOf(errorLine(words, { error, apiErrorStatus }));
    assertEquals(terminal_reason, reason);
  }
});

Deno.test("notices for the screen alone have no frame", () => {
  const notice = (content: string) =>
    framesOf({ type: "system", subtype: "informational", content, level: "notice" }).length;
  const contents = [
    "Usage limit reached · continuing automatically at 2:50am",
    "Usage limit reached · set to continue automatically at 2:50am",
    "Streaming response ended before any complete data was received. Retrying without streaming.",
    "Logging to ~/own/debug.log",
    "/status checks your setup if Claude can't be reached",
    "Auto mode lets Claude handle permission prompts automatically — …",
  ];
  for (const content of contents) assertEquals(notice(content), 0, content);
  assertEquals(notice("Something else"), 1);
});

Deno.test("apiRetryFrame() has the fields and classes of claude -p", () => {
  const rows = [
    [null, "unknown"],
    [400, "unknown"],
    [401, "authentication_failed"],
    [403, "authentication_failed"],
    [408, "server_error"],
    [429, "rate_limit"],
    [500, "server_error"],
    [529, "overloaded"],
  ] as const;
  for (const [status, error] of rows) {
    const retry = { attempt: 2, maxRetries: 10, delayMs: 3000, status };
    assertEquals(apiRetryFrame(retry, { sessionId: "s", uuid: "u" }), {
      type: "system",
      subtype: "api_retry",
      attempt: 2,
      max_retries: 10,
      retry_delay_ms: 3000,
      error_status: status,
      error,
      session_id: "s",
      uuid: "u",
    });
  }
});

const UNAVAILABLE = "/logout isn't available in this environment.";

/** What `claude -p /logout` 2.1.332 printed after `system/init`, but for ids and clocks. */
const PRINTED = [
  `{"type":"assistant","message":{"diagnostics":null,"id":"M","container":null,"model":"<synthetic>","role":"assistant","stop_details":null,"stop_reason":"end_turn","stop_sequence":null,"type":"message","usage":{"output_tokens_details":null,"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":null,"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0},"inference_geo":null,"iterations":null,"speed":null,"fallback_credit":null},"content":[{"type":"text","text":"${UNAVAILABLE}"}],"context_management":null},"parent_tool_use_id":null,"local_command_source":"<local-command-stdout>${UNAVAILABLE}</local-command-stdout>","session_id":"S","uuid":"U","timestamp":"T","local_command_outcome":{"kind":"unavailable_headless"}}`,
  `{"is_error":false,"duration_api_ms":0,"num_turns":0,"stop_reason":null,"session_id":"S","total_cost_usd":0,"usage":{"output_tokens_details":{"thinking_tokens":0},"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0},"inference_geo":"","iterations":[],"speed":"standard","fallback_credit":null},"modelUsage":{},"permission_denials":[],"fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required","subagent_stats":{"spawned":0,"requested":{"background":0,"foreground":0,"unset":0},"started_in_background":0,"max_depth":0,"spawned_by_subagents":0,"completed":0,"failed":0,"killed":{"parent":0,"user":0,"system":0},"refused":{"depth_limit":0,"concurrency_limit":0,"budget":0},"by_type":{}},"safety_stops":0,"subtype":"success","result":"${UNAVAILABLE}","type":"result","duration_ms":0,"uuid":"U","queued_turn_count":0,"result_index":0,"model_usage_since_last_result":{},"claude_version":"${VERSION}"}`,
].map((text): object => JSON.parse(text));

Deno.test("an unavailable command is answered as by claude -p", () => {
  const ids = { version: VERSION, sessionId: "S", uuid: "U" };
  const result = buildResult({
    ...ids,
    outcome: { kind: "local", text: UNAVAILABLE },
    cost: { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined },
    sinceLast: {},
  });
  const frame = unavailableFrame(UNAVAILABLE, { ...ids, messageId: "M", timestamp: "T" });
  assertEquals<unknown>([{ ...frame }, result], PRINTED);
});
