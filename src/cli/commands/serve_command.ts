import deno from "../../../deno.json" with { type: "json" };
import { LibcError } from "../../../ffi/errno.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import type { ServeOptions, ServeUnitOptions } from "../arguments/parsed_arguments.ts";
import { holdConversation } from "../../library/hold_conversation.ts";
import { conversationRequest } from "../../library/library_request.ts";
import { currentFolder, thisProgram } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/borrow_folder.ts";
import { absolutePath } from "../../sandbox/paths.ts";
import { requireProc } from "../../sandbox/processes/require_system.ts";
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
import { serverPlaces } from "../../server/server_places.ts";
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
import { performDelegated } from "../run/perform_delegated.ts";
import { CliError } from "../../cli_error.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** How long the last answers may take to be read, in milliseconds. */
const CLOSE_MS = 10_000;

/** Signals that would end a program which does not listen to them, and that nobody sends to a server. */
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

/**
 * Holds conversations for other programs until it is told to stop: the first line of stdout says where it listens.
 *
 * The first SIGTERM, SIGINT or SIGHUP lets what is under way come to its end, the second one ends it, and so does SIGQUIT.
 *
 * @returns the exit code
 * @throws {CliError} when another server of this user's lives, or there is no place to listen at
 */
export async function serve(options: ServeOptions): Promise<number> {
  const env = callerEnvironment();
  requireProc();
  const tell = (text: string) => void print(Deno.stderr, `claude-print: ${text}\n`);
  // Of what the system refuses the stack tells nothing, and Deno 2.9.6 panics where it is to tell it while there can be no
  // more open files.
  const onInternalError = (error: unknown) => {
    if (error instanceof LibcError) tell(error.message);
    else reportError(error);
  };
  const cwd = currentFolder();
  const inherited = takeInheritedSocket(env, { pid: Deno.pid });
  await using undo = new AsyncDisposableStack();
  const places = serverPlaces(env);
  undo.use(claimServerFolder(places, { inherits: inherited !== undefined }));
  const { path: folder } = undo.use(borrowFolder(env));
  const profiles = options.profiles === undefined
    ? []
    : readProfiles(absolutePath(options.profiles, cwd));
  const pool = options.warm === 0 ? undefined : undo.use(new Pool({ ...options, report: tell }));
  for (const { profile, name } of profiles) {
    const { args, text, json } = profile;
    const request = text || json
      ? {
        ...await conversationRequest(args, {}),
        omitsThinking: true as const,
        ...(text ? { answerAlone: true } : {}),
      }
      : await conversationRequest(args, profile);
    const surroundings = { env: { ...env, ...profile.env }, cwd: profile.cwd ?? cwd };
    const why = profile.record
      ? "its start is recorded"
      : await pool?.prewarm(request, surroundings);
    if (why !== undefined) throw profileError(name, why);
  }
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
  const shared = {
    routes: [...ROUTES, ...(agent === undefined ? [] : agentRoutes(agent))],
    context: {
      version: deno.version,
      registry,
      pool,
      limits: BODY_LIMITS,
      startedAt: Date.now(),
      delegated,
    },
    reserve: undo.use(new FileReserve({ runs: () => registry.activeCount + runs.runCount })),
    onInternalError,
  };
  const make = <Made>(one: () => Made) => createInServerFolder(places, one);
  const servers = [
    undo.adopt(make(() => serveHttp({ ...shared, at: { path: places.httpSocket } })), cut),
  ];
  const told = [places.httpSocket];
  if (options.tcp !== undefined) {
    const server = undo.adopt(
      listen(options.tcp, {
        ...shared,
        routes: [PAGE_ROUTE, ...shared.routes],
        token: make(() => writeToken(places.token)),
      }),
      cut,
    );
    servers.push(server);
    const { hostname } = options.tcp;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    told.push(`http://${host}:${server.port} (its token: ${places.token})`);
  }
  // A run beyond the limit of a file's size fails as on a full disk, and what a tool sends to whoever has started its
  // Claude Code ends nobody else's.
  undo.use(listenToSignals(IGNORED_SIGNALS, () => {}));
  const runs = undo.use(make(() =>
    new RunListener({
      at: inherited === undefined ? { path: places.runSocket } : { fd: inherited },
      perform: (run) => {
        delegated.total++;
        delegated.running++;
        return performDelegated(run, { hold, log: tell }).finally(() => delegated.running--);
      },
      onInternalError,
    })
  ));
  undo.use(catchUncaughtErrors(onInternalError));
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let signals = 0;
  undo.use(listenToSignals(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"], (signal) => {
    first.resolve();
    if (++signals > 1 || signal === "SIGQUIT") second.resolve();
  }));
  print(Deno.stdout, `${told.join("\n")}\n`);
  await first.promise;
  const drain = async () => {
    await Promise.all([registry.drain(), runs.close()]);
    const closed = Promise.all(servers.map((server) => server.close()));
    // Whoever still reads what was said may do so for a while.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
  };
  await Promise.race([drain(), second.promise]);
  return 0;
}

/** Who knows agentapi alone cannot be asked for a permission. */
function createAgentProfile(args: readonly string[]): ConversationProfile {
  return { ...PROFILE_SCHEMA.parse({}), args: [...args], asks: false };
}

function cut(server: HttpServer): void {
  server.abort();
}

function listen(
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

/** What of the caller's environment a server needs to be the same program with the same Claude Code; no credentials. */
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
 * Writes the units of systemd by which the server of this user is started, or removes them, and says what to type then.
 * Nothing is started or stopped.
 *
 * @param options.flags what the server is started with
 * @returns the exit code
 * @throws {CliError} when somebody else's unit is in the place of one, or systemd would start it for nobody
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
