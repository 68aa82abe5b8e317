import type { KnownTraces } from "./traces/known_traces.ts";

/**
 * What is known of the machine that this program runs on, and of its user.
 *
 * @param options.cwd the folder that is worked in, where that is known
 */
export function ownTraces(
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
): Partial<KnownTraces> {
  const given = (...names: readonly string[]) =>
    names.flatMap((name) => env[name] === undefined || env[name] === "" ? [] : [env[name]]);
  return {
    projects: cwd === undefined ? [] : [cwd],
    homes: given("HOME"),
    users: given("USER", "LOGNAME"),
    hosts: [...given("HOSTNAME"), ...ownHost()],
  };
}

function ownHost(): readonly string[] {
  try {
    return [Deno.hostname()];
  } catch {
    return [];
  }
}
