/** A cassette cannot be written or read. */
export class CassetteError extends Error {
  override readonly name = "CassetteError";
  readonly exitCode = 2;
  /** What the user can do about it. */
  readonly suggestion: string;

  constructor(
    message: string,
    options: { readonly suggestion: string; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.suggestion = options.suggestion;
  }
}
