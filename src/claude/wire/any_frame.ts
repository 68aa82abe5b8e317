/** One line of stream-json. Consumers must expect further fields. */
export interface AnyFrame {
  /** The type of the frame. */
  readonly type: string;
  /** Further fields depend on the version of Claude Code and on the API. */
  readonly [field: string]: unknown;
}
