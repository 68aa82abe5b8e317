/**
 * A test, or a step of one, that is left out where the machine lacks what it needs.
 *
 * Its name then ends with what is lacking, from which `deno task test` makes one line for each lack.
 *
 * @param lack what the machine lacks, such as "busybox"; undefined if nothing
 */
export function unlessLacking<T extends { readonly name: string }>(
  lack: string | undefined,
  test: T,
): T & { readonly ignore: boolean } {
  if (lack === undefined) return { ...test, ignore: false };
  return { ...test, name: `${test.name} (lacks ${lack})`, ignore: true };
}
