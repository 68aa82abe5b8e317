/** One line of stream-json. Consumers must expect fields that are not named here. */
export interface AnyFrame {
  /** What kind of frame it is. */
  readonly type: string;
  /** Fields differ between versions of Claude Code, and the API adds its own. */
  readonly [field: string]: unknown;
}
