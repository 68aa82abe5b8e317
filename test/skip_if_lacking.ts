/**
 * A test, or a step of one, that is left out where the machine lacks what it needs. `deno task test` says so at its end;
 * with TEST_NEEDS_ALL=1 a lack is an error.
 *
 * @param lack what the machine lacks, such as "busybox"; undefined if nothing
 */
export function skipIfLacking<T extends { readonly name: string }>(
  lack: string | undefined,
  test: T,
): T & { readonly ignore: boolean } {
  if (lack === undefined) return { ...test, ignore: false };
  const name = `${test.name} (lacks ${lack})`;
  if (Deno.env.get("TEST_NEEDS_ALL") === "1") throw new Error(`Cannot test "${name}"`);
  const lacks = Deno.env.get("TEST_LACKS");
  if (lacks !== undefined) Deno.writeTextFileSync(lacks, `${lack}\n`, { append: true });
  return { ...test, name, ignore: true };
}
