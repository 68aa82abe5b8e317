import deno from "../../../deno.json" with { type: "json" };
import { LibcError } from "../../../ffi/errno.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import type { ServeOptions, ServeUnitOptions } from "../arguments/parsed_arguments.ts";
import { holdConversation } from "../../library/hold_conversation.ts";
import { conversationRequest } from "../../library/library_request.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/sweep.ts";
import { absolutePath } from "../../paths.ts";
import { requireProc } from "../../sandbox/require_system.ts";
import {
  type ConversationProfile,
  PROFILE_SCHEMA,
  profileError,
  readProfiles,
} from "../../server/server_profiles.ts";
import { ConversationRegistry } from "../../server/conversations/conversation_registry.ts";
import { AgentConversation, agentRoutes } from "../../server/http/agentapi.ts";
import { PAGE_ROUTE } from "../../server/http/status_page.ts";
import { BODY_LIMITS } from "../../server/http/request_body.ts";
import { FileReserve, type HttpServer } from "../../server/http/http_server.ts";
import {
  createAuthorizer,
  hasToken,
  type HttpOptions,
  serveHttp,
} from "../../server/http/serve_http.ts";
import { ROUTES } from "../../server/http/routes.ts";
import { type ServerPlaces, serverPlaces } from "../../server/server_places.ts";
import { Pool } from "../../server/pool/pool.ts";
import { claimServerFolder, createInServerFolder, writeToken } from "../../server/server_folder.ts";
import { RunListener } from "../../server/delegation/delegation_server.ts";
import { catchUncaughtErrors } from "../../server/uncaught_errors.ts";
import {
  createUnits,
  findUnitFolder,
  installUnits,
  takeInheritedSocket,
  uninstallUnits,
} from "../../server/systemd_units.ts";
import { listenError, reportError } from "../report/report_error.ts";
import { print } from "../report/print.ts";
import { attendBackground } from "./background_server.ts";
import { performDelegated } from "../run/perform_delegated.ts";
import { CliError } from "../../cli_error.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** How long clients may take to read the last answers, in milliseconds. */
const CLOSE_MS = 10_000;

/**
 * Signals whose default action ends a program, and that are never meant for a server. SIGXFSZ arrives when a run writes
 * beyond the file size limit. If it is ignored, the write fails as on a full disk. A tool of a run may send the others
 * to its parent, which must not end other runs.
 */
const IGNORED_SIGNALS = [
  "SIGXFSZ",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGIO",
  "SIGPWR",
  "SIGSTKFLT",
] as const;

function log(text: string): void {
  print(Deno.stderr, `claude-print: ${text}\n`);
}

/**
 * Logs errors of the system without a stack, because Deno 2.9.6 panics when it formats a stack while no file can be
 * opened.
 */
function logInternalError(error: unknown): void {
  if (error instanceof LibcError) log(error.message);
  else reportError(error);
}

/**
 * Holds conversations for other programs until a signal arrives. The first lines of stdout name the addresses on which
 * it listens.
 *
 * After the first SIGTERM, SIGINT or SIGHUP, the server waits for the current turns. A second one or SIGQUIT ends them.
 *
 * @returns the exit code
 * @throws {CliError} when another server of this user is running, or it cannot listen
 */
export async function serve(options: ServeOptions): Promise<number> {
  const env = callerEnvironment();
  requireProc();
  const cwd = currentFolder();
  const inherited = takeInheritedSocket(env, { pid: Deno.pid });
  await using undo = new AsyncDisposableStack();
  const [stopping, stoppingNow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stop = (now: boolean) => {
    stopping.resolve();
    if (now) stoppingNow.resolve();
  };
  let signals = 0;
  // The listeners stay until all other steps are undone, because a signal must not end the program before its children
  // have ended.
  undo.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"], (signal) => {
    stop(++signals > 1 || signal === "SIGQUIT");
  }));
  const places = serverPlaces(env);
  undo.use(claimServerFolder(places, { inherits: inherited !== undefined }));
  const { path: folder } = undo.use(borrowFolder(env));
  const profiles = options.profiles === undefined
    ? []
    : readProfiles(absolutePath(options.profiles, cwd));
  const pool = options.warm === 0 ? undefined : undo.use(new Pool({ ...options, report: log }));
  for (const profile of profiles) await prewarm(profile, { pool, env, cwd });
  const hold: typeof holdConversation = pool === undefined
    ? holdConversation
    : (request, options) => pool.hold(request, options);
  const registry = undo.use(
    new ConversationRegistry({ hold, env, cwd, folder, limit: options.conversations }),
  );
  const agent = options.agentArgs === undefined
    ? undefined
    : undo.use(await AgentConversation.open(registry, createAgentProfile(options.agentArgs)));
  const delegated = { total: 0, running: 0 };
  const { servers, url } = listenForHttp(options.tcp, {
    places,
    undo,
    routes: [...ROUTES, ...(agent === undefined ? [] : agentRoutes(agent))],
    context: {
      version: deno.version,
      registry,
      pool,
      limits: BODY_LIMITS,
      startedAt: Date.now(),
      delegated,
      listening: () => ({
        socket: places.httpSocket,
        ...(url === undefined ? {} : { url, token_file: places.token }),
      }),
      stop: ({ now }) => stop(now),
    },
    reserve: undo.use(new FileReserve({ runs: () => registry.activeCount + runs.runCount })),
    onInternalError: logInternalError,
  });
  undo.use(listenToSignals(IGNORED_SIGNALS, () => {}));
  const runs = undo.use(createInServerFolder(places, () =>
    new RunListener({
      at: inherited === undefined ? { path: places.runSocket } : { fd: inherited },
      perform: (run) => {
        delegated.total++;
        delegated.running++;
        return performDelegated(run, { hold, log }).finally(() => delegated.running--);
      },
      onInternalError: logInternalError,
    })));
  undo.use(catchUncaughtErrors(logInternalError));
  if (options.backgroundMs !== undefined) {
    undo.use(attendBackground({
      idleMs: options.backgroundMs,
      pool,
      activeCount: () => registry.activeCount + delegated.running,
      totalCount: () => delegated.total + (pool?.counts.started ?? 0) + (pool?.counts.waited ?? 0),
      end: () => stop(false),
      onInternalError: logInternalError,
    }));
  }
  const page = url === undefined ? [] : [`${url} (its token: ${places.token})`];
  print(Deno.stdout, `${[places.httpSocket, ...page].join("\n")}\n`);
  await stopping.promise;
  const drain = async () => {
    await Promise.all([registry.drain(), runs.close()]);
    const closed = Promise.all(servers.map((server) => server.close()));
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
  };
  await Promise.race([drain(), stoppingNow.promise]);
  return 0;
}

/**
 * Starts a warm child for a profile.
 *
 * @throws {CliError} when the pool cannot do so
 */
async function prewarm(
  { profile, name }: ReturnType<typeof readProfiles>[number],
  { pool, env, cwd }: {
    readonly pool: Pool | undefined;
    readonly env: Environment;
    readonly cwd: string;
  },
): Promise<void> {
  const { args, text, json } = profile;
  const request = text || json
    ? {
      ...await conversationRequest(args, {}),
      omitsThinking: true as const,
      ...(text ? { answerAlone: true } : {}),
    }
    : await conversationRequest(args, profile);
  const surroundings = { env: { ...env, ...profile.env }, cwd: profile.cwd ?? cwd };
  const why = profile.record ? "its start is recorded" : await pool?.prewarm(request, surroundings);
  if (why !== undefined) throw profileError(name, why);
}

/** Creates the profile for clients of agentapi, which cannot answer permission requests. */
function createAgentProfile(args: readonly string[]): ConversationProfile {
  return { ...PROFILE_SCHEMA.parse({}), args: [...args], asks: false };
}

/**
 * Serves HTTP on the socket, and on TCP if the options name an address.
 *
 * @returns the servers, and the URL of the one on TCP
 */
function listenForHttp(
  tcp: ServeOptions["tcp"],
  { places, undo, ...options }: Omit<HttpOptions, "at"> & {
    readonly places: ServerPlaces;
    readonly undo: AsyncDisposableStack;
  },
): { readonly servers: readonly HttpServer[]; readonly url?: string } {
  const abort = (server: HttpServer) => server.abort();
  const create = <Created>(one: () => Created) => createInServerFolder(places, one);
  const at = { path: places.httpSocket };
  const local = undo.adopt(create(() => serveHttp({ ...options, at })), abort);
  if (tcp === undefined) return { servers: [local] };
  const remote = undo.adopt(
    listenOnTcp(tcp, {
      ...options,
      routes: [PAGE_ROUTE, ...options.routes],
      token: create(() => writeToken(places.token)),
    }),
    abort,
  );
  const host = tcp.hostname.includes(":") ? `[${tcp.hostname}]` : tcp.hostname;
  return { servers: [local, remote], url: `http://${host}:${remote.port}` };
}

function listenOnTcp(
  at: { readonly hostname: string; readonly port: number },
  { token, ...shared }: Omit<HttpOptions, "at"> & { readonly token: string },
): HttpServer {
  const { hostname, port } = at;
  try {
    return serveHttp({
      ...shared,
      at,
      refuse: createAuthorizer({ token, hostname }),
      isAuthenticated: (request) => hasToken(request, token),
    });
  } catch (cause) {
    throw listenError(cause, {
      hostname,
      port,
      suggestion: "Give --port 0 for a free one, and --bind an address of this machine",
    });
  }
}

/**
 * Variables that a unit passes on, so that the server is the same program with the same Claude Code. There are no
 * credentials among them.
 */
const KEPT_VARIABLES = ["PATH", "CLAUDE_CONFIG_DIR", "DENO_DIR"];

const INSTALLED = `
Start it, now and whenever you log in, the first time that a run asks for it:
  systemctl --user daemon-reload
  systemctl --user enable --now claude-print.socket
or at once, for those who speak HTTP:
  systemctl --user enable --now claude-print.service
What it says: journalctl --user -u claude-print
`;

const UNINSTALLED = `
If it is running, stop it:
  systemctl --user stop claude-print.socket claude-print.service
  systemctl --user daemon-reload
`;

/**
 * Writes or removes the systemd units of this user's server, and prints the next commands to type. Starts and stops
 * nothing.
 *
 * @param options.flags the flags of the server
 * @returns the exit code
 * @throws {CliError} when a foreign unit has the same name, or the user has no systemd instance
 */
export function serveUnit(
  { action, flags }: ServeUnitOptions,
): number {
  const env = callerEnvironment();
  const folder = findUnitFolder(env);
  const units = createUnits({
    program: thisProgram(),
    flags,
    env: Object.fromEntries(KEPT_VARIABLES.flatMap((name) => variableEntry(env, name))),
    umask: Deno.umask(),
  });
  if (action === "uninstall") {
    const removed = uninstallUnits(folder, units.map(({ name }) => name));
    if (removed.length === 0) printLinesVisibly(`There is nothing to remove in ${folder}`);
    else printLinesVisibly(...removed.map((path) => `Removed ${path}`), UNINSTALLED);
    return 0;
  }
  if (!(env["XDG_RUNTIME_DIR"] ?? "").startsWith("/")) {
    throw new CliError("Cannot install the server: XDG_RUNTIME_DIR is not set", {
      suggestion: "Log in as yourself, not by su or sudo: systemd has no place for a socket here",
    });
  }
  printLinesVisibly(...installUnits(folder, units).map((path) => `Installed ${path}`), INSTALLED);
  return 0;
}

function variableEntry(env: Environment, name: string): readonly (readonly [string, string])[] {
  const value = env[name];
  return value === undefined ? [] : [[name, value]];
}

function printLinesVisibly(...lines: readonly string[]): void {
  print(Deno.stdout, `${escapeInvisible(lines.join("\n").trimEnd(), { keep: "\n" })}\n`);
}
