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
  }
  | {
    readonly subtype: "error";
    readonly request_id: string;
    readonly error: string;
    readonly error_code?: string;
  };
