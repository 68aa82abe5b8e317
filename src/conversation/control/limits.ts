/** How long each stage of a run may take, in milliseconds. */
export interface Limits {
  /** The wall clock for the whole run. */
  readonly timeoutMs: number;
  /** How long to wait for the child to be ready for the prompt. */
  readonly startTimeoutMs: number;
  /** How long from there to the prompt being taken. */
  readonly deliveryTimeoutMs: number;
  /** How long there may be no sign of life; absent for as long as the wall clock allows. */
  readonly idleTimeoutMs?: number;
  /** How long the child may take to be idle once a hook announced the end. */
  readonly drainTimeoutMs: number;
  /** How long the child may take to end once it was told to. */
  readonly exitTimeoutMs: number;
}
