/** A call that has not returned. */
export interface OpenCall {
  readonly name: string;
  /** Since when it is at work, in milliseconds since the epoch; absent where it waits. */
  readonly since?: number;
  /** Whether it waits for a permission. */
  readonly asked?: true;
  /** How often it has been told. */
  readonly beats: number;
}
