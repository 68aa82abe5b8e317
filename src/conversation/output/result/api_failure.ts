/** The subject of an API error. Errors of different kinds have different remedies. */
export type ApiFailureKind =
  | "login"
  | "organisation"
  | "billing"
  | "usage-limit"
  | "rate-limit"
  | "overloaded"
  | "server"
  | "network"
  | "timeout"
  | "cut-off"
  | "context-overflow"
  | "too-large"
  | "output-limit"
  | "model"
  | "refusal"
  | "invalid-request"
  | "unknown";

/**
 * The facts that Claude Code reports of an API error: in the StopFailure hook, and in the line that replaces the
 * answer.
 */
export interface ApiErrorFacts {
  /** The error class in StopFailure and in the transcript, such as `rate_limit`; `unknown` if there is none. */
  readonly error: string;
  /** The sentence that replaces the answer. */
  readonly text: string;
  /** The HTTP status; null without a response, and if the status is unknown. */
  readonly status: number | null;
  /** The API's own name of the error. */
  readonly type?: string | undefined;
  /** Claude Code's finer class, such as `usage_limit_reached` or `connection_failed`. */
  readonly apiError?: string | undefined;
  /** When a usage limit resets, in seconds since the epoch. */
  readonly resetsAt?: number | undefined;
  /** The variable that holds the key or token in use; absent for a login. */
  readonly credential?: string | undefined;
}

/** An API error in one line, and its remedy. */
export interface ApiFailure {
  readonly kind: ApiFailureKind;
  readonly message: string;
  readonly suggestion: string;
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;
  /** When a limit that is used up is reset, in seconds since the epoch; absent if unknown. */
  readonly resetsAt?: number;
}

/** The maximum length of a sentence that a message quotes, in UTF-16 code units. */
const MAX_DETAIL = 200;

/** The beginning of the text of a refusal. */
const REFUSAL = /^API Error: .{1,80}'s safeguards flagged this message/u;

/** Kinds of errors that pass without a remedy. */
const TEMPORARY: readonly ApiFailureKind[] = ["usage-limit", "rate-limit", "overloaded"];
/** HTTP statuses of errors that pass without a remedy. */
const TEMPORARY_STATUSES: readonly unknown[] = [429, 529];

/**
 * Returns the kind of an API error, and a message and a suggestion for it.
 *
 * @param options.now milliseconds since the epoch
 */
export function apiFailure(
  facts: ApiErrorFacts,
  { now }: { readonly now: number },
): ApiFailure {
  const kind = kindOf(facts);
  const resetsAt = kind === "usage-limit"
    ? facts.resetsAt ?? resetTime(resetIn(facts.text) ?? "", now)
    : undefined;
  return {
    kind,
    ...wordsFor(kind, facts),
    isTemporary: TEMPORARY.includes(kind) || TEMPORARY_STATUSES.includes(facts.status),
    ...(resetsAt === undefined ? {} : { resetsAt }),
  };
}

function kindOf({ error, text, status, type, apiError }: ApiErrorFacts): ApiFailureKind {
  // An error in the middle of an answer has the class of its cause, or no class.
  if (/\bmid-response\b/u.test(text)) return "cut-off";
  if (/^Request timed out/u.test(text)) return "timeout";
  if (/^Prompt is too long\b/u.test(text)) return "context-overflow";
  if (REFUSAL.test(text)) return "refusal";
  switch (error) {
    case "authentication_failed":
      return "login";
    case "oauth_org_not_allowed":
      return "organisation";
    case "billing_error":
      return "billing";
    case "model_not_found":
      return "model";
    case "max_output_tokens":
      return "output-limit";
    case "rate_limit":
      return apiError === "usage_limit_reached" || resetIn(text) !== undefined
        ? "usage-limit"
        : "rate-limit";
    case "overloaded":
      return "overloaded";
    case "invalid_request":
      return status === 413 ? "too-large" : "invalid-request";
    case "server_error":
      if (status === 529 || type === "overloaded_error") return "overloaded";
      return status === null ? "network" : "server";
    default:
      if (/\boverloaded\b/iu.test(text)) return "overloaded";
      return status !== null && status >= 400 && status < 500 ? "invalid-request" : "unknown";
  }
}

/** The text of a message before Claude Code's sentence, and the remedy, for each kind. */
const WORDS: Readonly<
  Record<
    Exclude<ApiFailureKind, "login" | "usage-limit">,
    { readonly cause: string; readonly suggestion: string }
  >
> = {
  organisation: {
    cause: "The organization does not let this login use Claude Code",
    suggestion: "Ask its administrator, or set ANTHROPIC_API_KEY to a key of its own",
  },
  billing: {
    cause: "The account cannot pay for the request",
    suggestion: "Add credit where the account is billed, or log in to another: claude /login",
  },
  "rate-limit": {
    cause: "The API takes no more requests for now",
    suggestion: "Run it again in some minutes, with fewer runs at once",
  },
  overloaded: {
    cause: "The API is overloaded",
    suggestion: "Run it again in some minutes; https://status.claude.com tells how it is",
  },
  server: {
    cause: "The API failed",
    suggestion: "Run it again in some minutes; https://status.claude.com tells how it is",
  },
  network: {
    cause: "Cannot reach the API",
    suggestion: "Look at the network, and at HTTPS_PROXY and ANTHROPIC_BASE_URL if set",
  },
  timeout: {
    cause: "The API did not answer in time",
    suggestion: "Run it again, or give the API more time with API_TIMEOUT_MS",
  },
  "cut-off": {
    cause: "The API broke off in the middle of an answer",
    suggestion: "Run it again, or go on with --resume and the session's id",
  },
  "context-overflow": {
    cause: "The prompt does not fit into the model's context",
    suggestion: "Send less: a shorter prompt, fewer tools, or a new session for --resume",
  },
  "too-large": {
    cause: "The request is larger than the API takes",
    suggestion: "Send less: fewer or smaller images and files, or a new session for --resume",
  },
  "output-limit": {
    cause: "The answer is longer than the model may write",
    suggestion: "Ask for less at once, or raise CLAUDE_CODE_MAX_OUTPUT_TOKENS",
  },
  model: {
    cause: "The model cannot be used",
    suggestion: "Name another one with --model",
  },
  refusal: {
    cause: "The model refused to answer",
    suggestion: "Put the request in other words, or name another model with --model",
  },
  "invalid-request": {
    cause: "The API refused the request",
    suggestion: "Look at the prompt, the files it names, and the flags that shape the request",
  },
  unknown: {
    cause: "The API gave no answer",
    suggestion: "Run it again; --debug-file PATH writes down what Claude Code does",
  },
};

function wordsFor(
  kind: ApiFailureKind,
  { text, credential, resetsAt }: ApiErrorFacts,
): { readonly message: string; readonly suggestion: string } {
  const { cause, suggestion } = kind === "login"
    ? loginWords(credential)
    : kind === "usage-limit"
    ? usageLimitWords(resetIn(text) ?? resetAt(resetsAt))
    : WORDS[kind];
  const detail = detailOf(text);
  return { message: detail === "" ? cause : `${cause}: ${detail}`, suggestion };
}

function loginWords(credential: string | undefined) {
  return credential === undefined
    ? { cause: "Cannot log in to Claude", suggestion: "Log in again with: claude /login" }
    : {
      cause: `Cannot log in to Claude with ${credential}`,
      suggestion: `Renew ${credential}, or remove it and log in with: claude /login`,
    };
}

function usageLimitWords(reset: string | undefined) {
  return {
    cause: "The account has used up its limit",
    suggestion: reset === undefined
      ? "Run it again once the limit has been reset: claude /usage says when"
      : `Run it again after ${reset}`,
  };
}

/** Claude Code's sentence on one line, without advice for its screen and without control characters. */
function detailOf(text: string): string {
  const sentence = text.replace(/^Please run \/login · |^Failed to authenticate\. /u, "")
    .replace(/^API Error: /u, "")
    .replace(/\n[\s\S]*$/u, "")
    .replace(/[\p{Cc}\p{Cf}]/gu, "")
    .trim();
  const shown = sentence.length > MAX_DETAIL ? `${sentence.slice(0, MAX_DETAIL)}…` : sentence;
  return shown.replace(/\.+$/u, "");
}

/** The reset time of a limit in Claude Code's words: in the user's time zone, with the date if it is not today. */
function resetIn(text: string): string | undefined {
  return /· resets (.{1,60}?)\s*(?:·|\n|$)/u.exec(text)?.[1];
}

function resetAt(seconds: number | undefined): string | undefined {
  return seconds === undefined
    ? undefined
    : new Date(seconds * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}

/** The form in which Claude Code writes a reset time: `2am (UTC)`, `2:09am (Europe/Berlin)`, `Nov 25, 2:09am (UTC)`. */
const TIME =
  /^(?:([A-Z][a-z]{2}) (\d{1,2})(?:, (\d{4}))?,? (?:at )?)?(\d{1,2})(?::(\d{2}))?\s?([ap])m \(([^()]{1,60})\)$/u;

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const DAY_MS = 24 * 3600 * 1000;

/**
 * Parses a reset time of Claude Code. Returns the next time that fits, in seconds since the epoch. Claude Code rounds
 * down to a minute.
 *
 * @param words such as `2:09am (UTC)`
 * @param now milliseconds since the epoch
 * @returns undefined for other words
 */
export function resetTime(words: string, now: number): number | undefined {
  const match = TIME.exec(words.trim());
  if (match === null) return undefined;
  const [, month, day, year, hour, minute = "0", half, timeZone = ""] = match;
  const offsetAt = offsetsOf(timeZone);
  if (offsetAt === undefined) return undefined;
  const there = new Date(now + offsetAt(now));
  const at = {
    year: Number(year ?? there.getUTCFullYear()),
    month: month === undefined ? there.getUTCMonth() : MONTHS.indexOf(month),
    day: Number(day ?? there.getUTCDate()),
    hour: Number(hour) % 12 + (half === "p" ? 12 : 0),
    minute: Number(minute),
  };
  if (at.month < 0 || Number(hour) > 12 || at.minute > 59) return undefined;
  const instant = (days: number) => {
    const local = Date.UTC(at.year, at.month, at.day + days, at.hour, at.minute);
    return local - offsetAt(local - offsetAt(local));
  };
  // A time without a date is within the next 24 hours. The current minute is today's, not tomorrow's.
  const isPast = month === undefined && instant(0) < now - 60_000;
  return Math.round(instant(isPast ? 1 : 0) / 1000);
}

/** Returns a function that gives the offset of a time zone from UTC in milliseconds; undefined for an unknown time zone. */
function offsetsOf(timeZone: string): ((at: number) => number) | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    return undefined;
  }
  return (at) => {
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    const minutes = Math.floor(at / 60_000) * 60_000;
    const offset = Date.UTC(year, month - 1, day, hour, minute) - minutes;
    return Math.abs(offset) > DAY_MS ? 0 : offset;
  };
}

/** A part of a sentence in the words of the interactive Claude Code and of `claude -p`. */
interface Wording {
  readonly interactive: string | RegExp;
  readonly print: string;
}

/** The interactive Claude Code gives advice for its screen, `claude -p` for its command line. */
const WORDINGS: readonly Wording[] = [
  { interactive: /^Please run \/login · (?=API Error: )/u, print: "Failed to authenticate. " },
  {
    interactive: /^Login expired · Please run \/login$/u,
    print: "Failed to authenticate: OAuth session expired and could not be refreshed",
  },
  {
    interactive: "Run /model to pick a different model.",
    print: "Run --model to pick a different model.",
  },
  {
    interactive: "Run /compact, or double press esc to go back and remove attachments.",
    print: "Remove older images or compact the conversation.",
  },
  {
    interactive: "Double press esc to go back and try with a smaller file.",
    print: "Try with a smaller file.",
  },
  {
    interactive: "Double press esc to go back and try again with a smaller image.",
    print: "Try resizing the image or using a different approach.",
  },
  {
    interactive:
      "Double press esc to go back and try again, or use pdftotext to convert to text first.",
    print: "Try reading the file a different way (e.g., extract text with pdftotext).",
  },
  {
    interactive: "Please double press esc to edit your message and try again.",
    print: "Try using a CLI tool to extract or convert the PDF.",
  },
  {
    interactive: "Double press esc to go back and try again with a different file.",
    print: "Try converting it to text first (e.g., pdftotext).",
  },
  {
    interactive:
      "Please double press esc to edit your last message or start a new session for Claude Code " +
      "to assist with a different task.",
    print: "Try rephrasing the request in a new session or change your model.",
  },
  {
    interactive:
      "Double press esc to edit your last message, or try a different model with /model.",
    print: "Try rephrasing the request in a new session or change your model.",
  },
  {
    // The bound keeps the match fast: the text between is short, but the API may send a long text.
    interactive:
      /\n\nYou can learn more: (?<='s safeguards flagged [^]{0,1000}\n\nYou can learn more: )/u,
    print: "\n\nLearn more: ",
  },
  {
    interactive:
      "Double press esc to go back past the large content, or /clear to start a new conversation.",
    print: "Reduce the input (large tool results or pasted content) or start a new session; this " +
      "conversation cannot continue as is.",
  },
];

/**
 * Translates a sentence of the interactive Claude Code about an API error into the words of `claude -p`. Do not use it for
 * answers of the model.
 */
export function printSentence(sentence: string): string {
  return WORDINGS.reduce(
    (text, { interactive, print }) => text.replace(interactive, () => print),
    sentence,
  );
}
