import { asCliError, CliError } from "../cli_error.ts";
import { RunError } from "../library/run_output.ts";
import { escapeInvisible } from "../recording/redaction/visible_text.ts";

/** The exit code of what may be tried again later. */
const TRY_LATER = 75;

/** There is no room for something now, but there will be. */
export class BusyError extends CliError {
  constructor(message: string, suggestion: string) {
    super(message, { suggestion, exitCode: TRY_LATER });
  }
}

/** What has to be kept cannot be kept. */
export class NoSpaceError extends CliError {
  constructor(message: string, cause?: unknown) {
    super(message, { suggestion: "Make room on the disk of TMPDIR", cause });
  }
}

/** The statuses that a problem may have, and what each is called. */
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

/** One of those statuses. */
type ProblemStatus = keyof typeof PROBLEM_TITLES;

/** What went wrong, as RFC 9457 has it; `suggestion` says what to do about it. */
export interface HttpProblem {
  readonly status: ProblemStatus;
  /** The line that the command line would say on stderr. */
  readonly detail: string;
  readonly suggestion?: string | undefined;
  /** What the command line would exit with, where it is an error of a run. */
  readonly exitCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is answered by a problem. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: HttpProblem;

  constructor(problem: HttpProblem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The members of a problem, as they stand in an answer. */
export function problemBody(
  { status, detail, suggestion, exitCode }: HttpProblem,
): Readonly<Record<string, unknown>> {
  return {
    type: "about:blank",
    title: PROBLEM_TITLES[status],
    status,
    detail: escapeInvisible(detail),
    ...(suggestion === undefined ? {} : { suggestion: escapeInvisible(suggestion) }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
  };
}

/** A problem as an answer. */
export function problemResponse(problem: HttpProblem): Response {
  return new Response(`${JSON.stringify(problemBody(problem))}\n`, {
    status: problem.status,
    headers: { ...problem.headers, "content-type": "application/problem+json" },
  });
}

/** How long a caller is to wait where there is no room for it now, in seconds. */
const RETRY_AFTER_S = "1";

/**
 * The problem that an error is. One that a user can act on says so in the words of the command line; of any other error,
 * which is a mistake of this program, no more is said than that.
 *
 * @param options.status of an error that a user can act on
 */
export function problemOf(
  thrown: unknown,
  { status = 422 }: { readonly status?: ProblemStatus } = {},
): HttpProblem {
  if (thrown instanceof ProblemError) return thrown.problem;
  const error = thrown instanceof RunError ? thrown : asCliError(thrown);
  if (!(error instanceof CliError || error instanceof RunError)) {
    return { status: 500, detail: "Cannot answer the request: claude-print has made a mistake" };
  }
  const { message: detail, suggestion, exitCode } = error;
  const told = { detail, suggestion, exitCode };
  if (error instanceof NoSpaceError) return { ...told, status: 507 };
  if (!(error instanceof BusyError)) return { ...told, status };
  return { ...told, status: 503, headers: { "retry-after": RETRY_AFTER_S } };
}
