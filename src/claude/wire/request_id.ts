/** By what a request of the control protocol is known, and what the answer to it has to name. */
export interface RequestId {
  /** By what it is known here: the id that it was given, if that is text. */
  readonly id: string;
  /** Where it is none: the id that it was given, or none if it was given none (2.1.330). */
  readonly given?: GivenId;
}

/** The field of a request, or of the answer to one, that has its id. */
export interface GivenId {
  readonly request_id?: unknown;
}

/** By what a request is known, or one that is answered. */
export function requestId({ request_id: id }: GivenId): RequestId {
  return typeof id === "string"
    ? { id }
    : { id: `request_id ${JSON.stringify(id)}`, given: id === undefined ? {} : { request_id: id } };
}

/** What the answer to a request has to name. */
export function givenId({ id, given = { request_id: id } }: RequestId): GivenId {
  return given;
}
