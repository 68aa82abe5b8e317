/** The child cannot be started or is not what it should be. */
export class DriverError extends Error {
  override readonly name = "DriverError";
  /** What the user can do about it. */
  readonly suggestion: string;

  constructor(message: string, options: { readonly suggestion: string; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.suggestion = options.suggestion;
  }
}
