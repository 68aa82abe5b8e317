// deno-lint-ignore no-explicit-any
type ErrorClass<E extends Error = Error> = abstract new (...args: any[]) => E;

export declare function assert(expr: unknown, msg?: string): asserts expr;
export declare function assertEquals<T>(actual: T, expected: T, msg?: string): void;
export declare function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
// deno-lint-ignore no-explicit-any
export declare function assertInstanceOf<T extends abstract new (...args: any[]) => any>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T>;
export declare function assertMatch(actual: string, expected: RegExp, msg?: string): void;
export declare function assertObjectMatch(
  // deno-lint-ignore no-explicit-any
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void;
export declare function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void;
export declare function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass?: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export declare function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass?: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
