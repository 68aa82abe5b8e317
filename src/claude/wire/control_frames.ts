import type { AnyFrame } from "./any_frame.ts";
import type { CallerQuestion, ControlResponse } from "./control.ts";

/** The answer to a request that the caller made on stdin. */
export interface ControlResponseFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_response";
  /** Whether it was carried out, and what came of it. */
  readonly response: ControlResponse;
}

/** A question that the caller has to answer. */
export interface ControlRequestFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_request";
  /** By what it is answered. */
  readonly request_id: string;
  /** What is asked. */
  readonly request: CallerQuestion;
}

/** A question that nobody waits to have answered any more. */
export interface ControlCancelFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_cancel_request";
  /** The question. */
  readonly request_id: string;
}
