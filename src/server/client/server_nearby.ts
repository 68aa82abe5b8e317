import { type ServerPlaces, serverPlaces } from "../places.ts";

/** What decides where a server is. */
const VARIABLES = ["XDG_RUNTIME_DIR", "TMPDIR"];

/** Where this user's server is, if it seems to be there: a socket is, which may be a dead one's. */
export function serverNearby(): ServerPlaces | undefined {
  try {
    const named = VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
    const env = Object.fromEntries(named.filter((each): each is [string, string] => !!each[1]));
    const places = serverPlaces(env);
    return Deno.lstatSync(places.runSocket).isSocket ? places : undefined;
  } catch {
    // Whatever is wrong with TMPDIR is told by a run that needs it.
    return undefined;
  }
}
