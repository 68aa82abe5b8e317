import { CliError } from "../../cli_error.ts";
import { MAX_DELAY_MS, parseDuration } from "../../duration.ts";

/** A failure that the user asked for. */
export type Fault =
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "reset" }
  | { readonly kind: "stall"; readonly ms: number };

/** Faults by the number of the affected model request, from 1. */
export type Faults = ReadonlyMap<number, Fault>;

const HOW = "Write it as 529@2,reset@3,stall=5s@4: what happens, and to which request of the model";

/**
 * Parses the value of `--inject`, such as `529@2,reset@3,stall=5s@4`.
 *
 * @throws {CliError} for any other text
 */
export function parseFaults(text: string): Faults {
  const faults = new Map<number, Fault>();
  for (const part of text.split(",")) {
    const [, what = "", digits = ""] = /^([^@]+)@(\d{1,9})$/u.exec(part) ?? [];
    const [fault, number] = [faultOf(what), Number(digits)];
    if (fault === undefined || number === 0) throw faultsError(`does not take "${part}"`);
    if (faults.has(number)) throw faultsError(`says twice what happens to request ${number}`);
    faults.set(number, fault);
  }
  return faults;
}

function faultsError(why: string): CliError {
  return new CliError(`--inject ${why}`, { suggestion: HOW });
}

function faultOf(what: string): Fault | undefined {
  if (what === "reset") return { kind: "reset" };
  const [, duration] = /^stall=(.*)$/u.exec(what) ?? [];
  const ms = duration === undefined ? undefined : parseDuration(duration);
  if (ms !== undefined) return ms <= MAX_DELAY_MS ? { kind: "stall", ms } : undefined;
  return /^[45]\d\d$/u.test(what) ? { kind: "status", status: Number(what) } : undefined;
}

/** Error types of the API, by status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** Returns an error in the format of the Messages API. */
export function errorAnswer(
  status: number,
  { message, headers = {} }: {
    readonly message: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Response {
  const type = ERROR_TYPES[status] ?? "api_error";
  return Response.json({ type: "error", error: { type, message } }, { status, headers });
}
