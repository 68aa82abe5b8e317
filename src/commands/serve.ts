import deno from "../../deno.json" with { type: "json" };
import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { holdConversation } from "../library/hold_conversation.ts";
import { currentFolder } from "../run/facts/current_folder.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import { makePrivateFolder } from "../sandbox/folder/private_folder.ts";
import { sweep } from "../sandbox/folder/sweep.ts";
import { removeEmpty, removeFolder } from "../sandbox/on_disk.ts";
import { parentOf } from "../sandbox/paths.ts";
import { places as temporaryPlaces } from "../sandbox/places/places.ts";
import { requireProc } from "../sandbox/processes/require_system.ts";
import { locateUserConfig } from "../sandbox/user_config.ts";
import { Registry } from "../serve/conversations/registry.ts";
import { ROUTES } from "../serve/http/routes.ts";
import { serveHttp } from "../serve/http/serve_http.ts";
import { serverPlaces } from "../serve/places.ts";
import { holdServerFolder } from "../serve/server_folder.ts";
import { listenForRuns } from "../serve/runs/listen_for_runs.ts";
import { print } from "./report/print.ts";
import { reportError } from "./report/report_error.ts";
import { performHanded } from "./run/perform_handed.ts";

/** How many conversations and runs there may be at once. */
const MOST = 32;

/**
 * Holds conversations for other programs until it is told to stop: the first line of stdout says where it listens.
 *
 * The first SIGTERM, SIGINT or SIGHUP lets what is under way come to its end, the second one ends it.
 *
 * @returns the exit code
 * @throws {CliError} when another server of this user's lives, or there is no place to listen at
 */
export async function serve(): Promise<number> {
  const env = callerEnvironment();
  requireProc();
  const all = temporaryPlaces(env);
  sweep({ places: all, userConfigDir: locateUserConfig(env).dir });
  await using undo = new AsyncDisposableStack();
  const places = serverPlaces(env);
  undo.use(holdServerFolder(places));
  const folder = undo.adopt(makePrivateFolder(all[0]).path, (path) => {
    removeFolder(path);
    removeEmpty(parentOf(path));
  });
  const registry = undo.use(
    new Registry({ hold: holdConversation, env, cwd: currentFolder(), folder, most: MOST }),
  );
  const server = serveHttp({
    at: { path: places.httpSocket },
    routes: ROUTES,
    context: { version: deno.version, registry, startedAt: Date.now() },
    onMistake: reportError,
  });
  undo.defer(server.cut);
  Deno.chmodSync(places.httpSocket, 0o600);
  // Whatever run is beyond the limit of a file's size: it fails as on a full disk, and does not kill.
  undo.use(listenToSignals(["SIGXFSZ"], () => {}));
  const runs = undo.use(listenForRuns({
    at: { path: places.runSocket },
    perform: (run) => performHanded(run, { hold: holdConversation }),
    onMistake: reportError,
  }));
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let signals = 0;
  undo.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => {
    if (++signals === 1) first.resolve();
    else second.resolve();
  }));
  print(Deno.stdout, `${places.httpSocket}\n`);
  await first.promise;
  const drained = Promise.all([registry.drain(), runs.close()]).then(() => server.close());
  await Promise.race([drained, second.promise]);
  return 0;
}
