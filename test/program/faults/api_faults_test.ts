import type { Failure, Scenario } from "../../../fixtures/mock/scenario.ts";
import { type Ends, type Fault, testFaults } from "../../daily/faults/test_faults.ts";

const NO_REQUEST = { senseless: "no request is under way" };

/** Failures of the API in StopFailure and transcript, and the cause on stderr. */
const FAILURES: readonly (Failure["failure"] & { readonly name: string; readonly says: RegExp })[] =
  [
    {
      name: "401",
      error: "authentication_failed",
      status: 401,
      message: "Please run /login · API Error: 401 Invalid bearer token",
      says: /^Cannot log in to Claude: 401 Invalid bearer token$/,
    },
    {
      name: "403",
      error: "oauth_org_not_allowed",
      status: 403,
      message: "Your organization has disabled Claude subscription access for Claude Code",
      says: /^The organization does not let this login use Claude Code: /,
    },
    {
      name: "429",
      error: "rate_limit",
      status: 429,
      message: "You've hit your session limit · resets 3:04am (UTC)",
      says: /^The account has used up its limit: /,
    },
    {
      name: "500",
      error: "server_error",
      status: 500,
      message: "API Error: 500 Internal server error.",
      says: /^The API .*: 500 Internal server error$/,
    },
    {
      name: "529",
      error: "server_error",
      status: 529,
      message: "API Error: 529 Overloaded.",
      says: /^The API is overloaded: 529 Overloaded$/,
    },
    {
      name: "no answer in time",
      error: "server_error",
      status: null,
      message: "Request timed out",
      says: /^The API .*: Request timed out$/,
    },
    {
      name: "a reset in the middle of an answer",
      error: "server_error",
      status: null,
      message: "API Error: Connection closed mid-response. The response above may be incomplete.",
      says: /^The API broke off in the middle of an answer: Connection closed mid-response/,
    },
  ];

/** Each failure at the first request of a turn, and after a tool. */
const API_FAULTS: readonly Fault[] = FAILURES.map(({ name, says, ...failure }): Fault => {
  const code = failure.status === 429 || failure.status === 529 ? 75 : 1;
  const fails: Ends = { code, subtype: "success", says };
  return {
    name: `the API fails with ${name}`,
    scenario: (at): Partial<Scenario> => {
      const tools = [{ name: "Bash", input: { command: "true" } }];
      return { turns: [[...at === "tool" ? [{ text: "Let me see.", tools }] : [], { failure }]] };
    },
    cells: {
      "before start": NO_REQUEST,
      "at the dialog": NO_REQUEST,
      "at the prompt": fails,
      "in a tool": fails,
      "at Stop": NO_REQUEST,
      "while forwarding": NO_REQUEST,
    },
  };
});

testFaults(API_FAULTS);
