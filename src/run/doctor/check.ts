/** What a check finds out about, in the order in which the checks are told. */
export type CheckName =
  | "platform"
  | "libc"
  | "pty"
  | "fifo"
  | "claude"
  | "login"
  | "api"
  | "leftovers"
  | "run";

/** What a check has found, as `--json` prints it. */
export interface Check {
  readonly name: CheckName;
  /** Whether all is well; so it is when the check was skipped. */
  readonly ok: boolean;
  readonly skipped?: true;
  /** What was found, in a few words; it never holds a secret. */
  readonly detail: string;
  /** What can be done about what is not well. */
  readonly suggestion?: string;
  /** The same for machines: names, versions, milliseconds, bytes. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The check that an error ended: its message, and what it suggests if it does. */
export function failedCheck(name: CheckName, error: unknown): Check {
  const { suggestion } = error as { readonly suggestion?: unknown };
  return {
    name,
    ok: false,
    detail: error instanceof Error ? error.message : String(error),
    ...(typeof suggestion === "string" ? { suggestion } : {}),
    data: {},
  };
}

/** A check that was not made, and why. */
export function skippedCheck(name: CheckName, why: string): Check {
  return { name, ok: true, skipped: true, detail: why, data: {} };
}
