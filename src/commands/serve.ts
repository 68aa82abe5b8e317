import deno from "../../deno.json" with { type: "json" };
import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import { requireProc } from "../sandbox/processes/require_system.ts";
import { ROUTES } from "../serve/http/routes.ts";
import { serveHttp } from "../serve/http/serve_http.ts";
import { serverPlaces } from "../serve/places.ts";
import { holdServerFolder } from "../serve/server_folder.ts";
import { print } from "./report/print.ts";
import { reportError } from "./report/report_error.ts";

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
  using undo = new DisposableStack();
  const places = serverPlaces(env);
  undo.use(holdServerFolder(places));
  const server = serveHttp({
    at: { path: places.httpSocket },
    routes: ROUTES,
    context: { version: deno.version },
    onMistake: reportError,
  });
  undo.defer(server.cut);
  Deno.chmodSync(places.httpSocket, 0o600);
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let signals = 0;
  undo.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => {
    if (++signals === 1) first.resolve();
    else second.resolve();
  }));
  print(Deno.stdout, `${places.httpSocket}\n`);
  await first.promise;
  await Promise.race([server.close(), second.promise]);
  return 0;
}
