/** A request of the caller in the control protocol of the Agent SDKs. */
export interface ControlRequest {
  readonly id: string;
  /** Such as `interrupt`. */
  readonly subtype: string;
  /** The names of its other fields that say something. */
  readonly fields: readonly string[];
}

/** The answer to a request of the caller. */
export type ControlResponse =
  | {
    /** It was carried out. */
    readonly subtype: "success";
    /** The id that the caller gave the request. */
    readonly request_id: string;
    /** What came of it, where something did. */
    readonly response?: Readonly<Record<string, unknown>>;
    /** What the caller has yet to answer, where it was asked before it initialized; since 2.1.330. */
    readonly pending_permission_requests?: readonly unknown[];
    /** The same of questions on the screen. */
    readonly pending_user_dialog_requests?: readonly unknown[];
  }
  | {
    /** It was not carried out. */
    readonly subtype: "error";
    /** The id that the caller gave the request. */
    readonly request_id: string;
    /** Why not. */
    readonly error: string;
    /** What sort of reason that is; since 2.1.330. */
    readonly error_code?: string;
  };
