const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;

/** Whether a value can be the id of a session, which is a part of paths and arguments. */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}
