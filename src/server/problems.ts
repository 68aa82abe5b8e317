import { CliError, EXIT, toCliError } from "../cli_error.ts";
import { RunError } from "../library/run_output.ts";
import { escapeInvisible } from "../recording/redaction/visible_text.ts";
import { definedFields } from "../defined_fields.ts";

/** The request cannot be served now, but may be later. HTTP answers 503 with `Retry-After`. */
abstract class TryLaterError extends CliError {
  constructor(message: string, suggestion: string) {
    super(message, { suggestion, exitCode: EXIT.tryLater });
  }
}

/** A limit of conversations and runs, or of waiting messages, is reached. */
export class FullError extends TryLaterError {}

/** The server is about to end and accepts no new work. */
export class DrainingError extends TryLaterError {}

/** A conversation accepts no message now: a person types in it, or its agent is running. */
export class OccupiedError extends TryLaterError {}

/** The disk has no room for data that must be kept. */
export class NoSpaceError extends CliError {
  constructor(message: string, cause?: unknown) {
    super(message, { suggestion: "Make room on the disk of TMPDIR", cause });
  }
}

/** The statuses of problems, and their titles. */
export const PROBLEM_TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  503: "Service Unavailable",
  507: "Insufficient Storage",
} as const;

type ProblemStatus = keyof typeof PROBLEM_TITLES;

/** A problem of RFC 9457, with two more members: `suggestion` and `exit_code`. */
export interface HttpProblem {
  readonly status: ProblemStatus;
  /** The line that the command line would print on stderr. */
  readonly detail: string;
  readonly suggestion?: string | undefined;
  /** The exit code that the command line would have, for an error of a run. */
  readonly exitCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ends a request, whose answer is the problem. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: HttpProblem;

  constructor(problem: HttpProblem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The JSON members of a problem. */
export function problemBody(
  { status, detail, suggestion, exitCode }: HttpProblem,
): Readonly<Record<string, unknown>> {
  return {
    type: "about:blank",
    title: PROBLEM_TITLES[status],
    status,
    detail: escapeInvisible(detail),
    ...definedFields({
      suggestion: suggestion && escapeInvisible(suggestion),
      exit_code: exitCode,
    }),
  };
}

export function problemResponse(problem: HttpProblem): Response {
  return new Response(`${JSON.stringify(problemBody(problem))}\n`, {
    status: problem.status,
    headers: { ...problem.headers, "content-type": "application/problem+json" },
  });
}

/** The time after which a client should try again, in seconds. */
const RETRY_AFTER_S = "1";

/**
 * Converts an error into a problem. An error that a user can act on keeps the text of the command line. Any other error is a
 * bug of this program, and its text is not shown.
 *
 * @param options.status the status for an error that a user can act on
 */
export function toProblem(
  thrown: unknown,
  { status = 422 }: { readonly status?: ProblemStatus } = {},
): HttpProblem {
  if (thrown instanceof ProblemError) return thrown.problem;
  const error = thrown instanceof RunError ? thrown : toCliError(thrown);
  if (!(error instanceof CliError || error instanceof RunError)) {
    return { status: 500, detail: "Cannot answer the request: claude-print has made a mistake" };
  }
  const { message: detail, suggestion, exitCode } = error;
  const members = { detail, suggestion, exitCode };
  if (error instanceof NoSpaceError) return { ...members, status: 507 };
  if (!(error instanceof TryLaterError)) return { ...members, status };
  return { ...members, status: 503, headers: { "retry-after": RETRY_AFTER_S } };
}
