/** A run's surroundings are not what it needs: no login, no writable folder, an unreadable file. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  /** What the user can do about it. */
  readonly suggestion: string;

  constructor(message: string, options: { readonly suggestion: string; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.suggestion = options.suggestion;
  }
}
