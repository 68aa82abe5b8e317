/** A request of the caller in the control protocol of the Agent SDKs. */
export interface ControlRequest {
  readonly id: string;
  /** Such as `interrupt`. */
  readonly subtype: string;
}

/** The answer to one. */
export type ControlResponse =
  | {
    readonly subtype: "success";
    readonly request_id: string;
    readonly response?: Readonly<Record<string, unknown>>;
    /** What the caller has yet to answer, where it was asked before it initialized; since 2.1.330. */
    readonly pending_permission_requests?: readonly unknown[];
    readonly pending_user_dialog_requests?: readonly unknown[];
  }
  | {
    readonly subtype: "error";
    readonly request_id: string;
    readonly error: string;
    /** Since 2.1.330. */
    readonly error_code?: string;
  };
