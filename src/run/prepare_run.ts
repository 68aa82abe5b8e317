import { Poller } from "../../ffi/descriptors/poll.ts";
import { fileAt, namesIn } from "../../ffi/files/at_path.ts";
import { CliError, UnsupportedError } from "../cli_error.ts";
import { definedFields } from "../defined_fields.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { MessageJudge } from "./facts/judge_message.ts";
import { readFacts } from "./facts/read_facts.ts";
import { type Plan, plan } from "./plan/plan.ts";
import { type FoundSessions, needsChild, type RunFacts } from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { modesOf, sessionOf } from "./plan/decide.ts";
import { hasOtherHooks } from "./plan/conversation_options.ts";
import { valuesOf } from "../sandbox/child/read_settings.ts";
import type { FolderContents, FolderFile } from "../sandbox/folder/folder_layout.ts";
import { makeRunFolder, removeRunFolder } from "../sandbox/folder/run_folder.ts";
import { Sandbox } from "../sandbox/folder/sandbox.ts";
import type { SweptFolder } from "../sandbox/folder/sweep.ts";
import { realPath } from "../paths.ts";
import { foldersOfRuns, listPlaces } from "../sandbox/folder/run_places.ts";
import type { Entry } from "../claude/transcript/entry.ts";
import { projectSlug } from "../claude/transcript/session_files.ts";

/** A run whose child can be started. */
export interface PreparedRun
  extends
    Omit<Plan, "contents">,
    Pick<RunFacts, "binary" | "output" | "settings" | "userConfig" | "projectRoot" | "gated"> {
  readonly options: RunOrder;
  readonly sandbox: Sandbox;
  /** The relay between the child and the API, to be disposed of after the sandbox. */
  readonly relay?: ApiRelay;
  /** Decides how each message of a conversation reaches the child; undefined for a run of one prompt. */
  readonly judge: MessageJudge | undefined;
  /** The folders of earlier runs that were found, and the outcome for each. */
  readonly swept: readonly SweptFolder[];
  /** The transcript lines of the resumed session that are needed again. */
  readonly earlier: readonly Entry[];
}

/**
 * Reads the facts, makes the private folder, plans the run and writes the folder's files.
 *
 * @throws {CliError} when facts are missing (see {@linkcode readFacts}), the order cannot be carried out, or the folder
 * cannot be made
 */
export async function prepareRun(order: RunOrder): Promise<PreparedRun> {
  const facts = await readFacts(order);
  try {
    return await prepareWith(order, facts);
  } catch (error) {
    // The result of a run that has not begun also names the version.
    if (error instanceof CliError && error.failedBeforeStart) {
      const { cachedVersion } = await import("../claude/program/claude_version.ts");
      error.claudeVersion = facts.version ?? await cachedVersion(facts.binary, order.env, order);
    }
    throw error;
  }
}

/**
 * Refuses an order that `claude -p` can carry out and this program cannot. It does not report other problems, or
 * problems that depend on later messages; {@linkcode prepareRun} does.
 *
 * @throws {UnsupportedError} when the order is refused
 */
export async function refuseUnsupported(order: RunOrder): Promise<void> {
  try {
    const facts = await readFacts(order);
    modesOf(order, facts);
    await readResumedPart(order, await findSessionsOf(order, facts));
  } catch (error) {
    if (error instanceof UnsupportedError) throw error;
  }
}

async function prepareWith(order: RunOrder, facts: RunFacts): Promise<PreparedRun> {
  const { binary, userConfig, settings, projectRoot, gated } = facts;
  await claimThread();
  const everywhere = listPlaces(order.env);
  const swept = await sweepUsedPlaces(everywhere, userConfig.dir);
  const found = await findSessionsOf(order, facts);
  const session = { id: sessionOf(order, { ...facts, found }).id, configDir: userConfig.dir };
  const shortened = await readResumedPart(order, found);
  using undo = new DisposableStack();
  const owner = makeRunFolder({
    places: everywhere,
    runtimeDir: order.env["XDG_RUNTIME_DIR"],
    folders: facts.folders,
    writable: facts.writable,
    ...definedFields({ session: order.persistSession ? session : undefined }),
  });
  undo.defer(() => removeRunFolder(owner));
  const startsChild = needsChild(gated);
  const relay = startsChild ? await startRelayFor(order, { settings, session }) : undefined;
  if (relay !== undefined) undo.use(relay);
  const { contents, ...planned } = plan(order, {
    ...facts,
    found,
    folder: owner.path,
    runs: everywhere.flatMap(foldersOfRuns),
    secret: crypto.randomUUID(),
    pid: owner.pid,
    now: Date.now(),
    ...definedFields({ relayVariables: relay?.variables, shortened }),
  });
  const copy = await loadCopier(contents);
  const sandbox = undo.use(
    new Sandbox(owner, { contents, places: everywhere, ...definedFields({ copy }) }),
  );
  if (planned.rendezvous !== undefined) await requireShortPath(planned.rendezvous.path);
  // Checked only now: another run may have moved the session's transcript to the user's config dir a moment ago.
  if (contents.isNewSession) refuseKnownSession(session.id, userConfig.dir);
  const earlier = await readEarlierEntries(sandbox, order);
  const problem = planned.conversation.session.caller?.initialized?.error;
  const judge = await judgeOf(order, {
    ...facts,
    earlier,
    found,
    // As in `claude -p`, a conversation continues without an invalid schema.
    refusal: problem === facts.outputProblem ? undefined : problem,
  });
  // From here on, the caller has to remove the folder.
  undo.move();
  return {
    ...planned,
    options: order,
    binary,
    sandbox,
    settings,
    userConfig,
    projectRoot,
    gated,
    judge,
    swept,
    earlier,
    ...definedFields({ relay, output: facts.output }),
  };
}

/** Starts the relay between the child and the API if the order needs one. */
async function startRelayFor(
  order: RunOrder,
  { settings, session }: Pick<RunFacts, "settings"> & { readonly session: { readonly id: string } },
): Promise<ApiRelay | undefined> {
  const isRelayed = order.exactStream || order.deterministic || order.apiCassette !== undefined ||
    order.record !== undefined;
  if (!isRelayed) return undefined;
  const { startApiRelay } = await import("./api_relay.ts");
  return startApiRelay(order, { settings, sessionId: session.id });
}

/** Sweeps the places in which there are folders of runs. */
async function sweepUsedPlaces(
  everywhere: readonly string[],
  userConfigDir: string,
): Promise<readonly SweptFolder[]> {
  const used = everywhere.filter((place) =>
    foldersOfRuns(place).some((runs) => fileAt(runs) !== undefined)
  );
  if (used.length === 0) return [];
  const { sweep } = await import("../sandbox/folder/sweep.ts");
  return sweep({ places: used, userConfigDir });
}

async function readResumedPart(
  order: RunOrder,
  found: FoundSessions,
): Promise<FolderFile | undefined> {
  if (found.transcript === undefined) return undefined;
  const { resumedPart } = await import("./facts/resumed_session.ts");
  return resumedPart(order, found);
}

/** Loads the function that copies transcripts into the private folder if there are some. */
async function loadCopier(
  { resume, begun }: FolderContents,
): Promise<ConstructorParameters<typeof Sandbox>[1]["copy"]> {
  if (resume === undefined && begun === undefined) return undefined;
  return (await import("../sandbox/transcripts/copy_transcripts.ts")).copyTranscripts;
}

async function findSessionsOf(
  order: RunOrder,
  { userConfig }: RunFacts,
): Promise<FoundSessions> {
  const { resume, resumption, history, besideHistory = [] } = order;
  if (resume !== undefined && history !== undefined) {
    const slug = projectSlug(realPath(order.cwd));
    const besides = besideHistory.map(({ path, text }) => ({
      path: `${slug}/${resume}/${path}`,
      text,
    }));
    const path = `${slug}/${resume}.jsonl`;
    return { named: [resume], transcript: { path, text: history, besides } };
  }
  if (resume !== undefined || resumption === undefined) return {};
  const { findSessions } = await import("./facts/resumed_session.ts");
  return findSessions(resumption, { configDir: userConfig.dir, cwd: realPath(order.cwd) });
}

async function judgeOf(
  order: RunOrder,
  facts:
    & RunFacts
    & Pick<PreparedRun, "earlier">
    & { readonly found: FoundSessions; readonly refusal: string | undefined },
): Promise<MessageJudge | undefined> {
  if (order.prompt !== undefined) return undefined;
  const { createMessageJudge } = await import("./facts/judge_message.ts");
  return createMessageJudge(order, {
    ...facts,
    settings: valuesOf(facts.settings),
    mcpServers: facts.mcpServers.length,
    watchesPrompts: hasOtherHooks(order, { facts, event: "UserPromptSubmit" }),
    // A session that is resumed in part keeps the ids of all its lines, a fork does not.
    transcript: order.forkSession ? undefined : facts.found.transcript?.text,
  });
}

/** The lines of the session that was copied into a sandbox, without those of subagents. */
async function readEarlierEntries(
  { configDir, resumed }: Pick<Sandbox, "configDir" | "resumed">,
  { record }: Pick<RunOrder, "record">,
): Promise<readonly Entry[]> {
  if (resumed.size === 0) return [];
  const { readEntries } = await import("./facts/resumed_session.ts");
  const own = [...resumed.keys()].filter((path) => /^[^/]+\/[^/]+\.jsonl$/u.test(path));
  // A recording keeps complete lines, so that it can be replayed.
  return own.flatMap((path) =>
    readEntries(`${configDir}/projects/${path}`, { trims: record === undefined })
  );
}

/**
 * Makes Deno start the thread that will wait for the child. Deno aborts the program if it cannot start one, so this
 * happens before the folder is created. Deno keeps an idle thread for 10 s.
 */
async function claimThread(): Promise<void> {
  using poller = new Poller();
  await poller.wait([], 0);
}

/**
 * Refuses to begin a session whose id is taken. Claude Code cannot notice this, because the sandbox has no other
 * sessions.
 *
 * @param configDir the user's config dir
 */
function refuseKnownSession(sessionId: string, configDir: string): void {
  if (!isKnownSession(sessionId, configDir)) return;
  throw new CliError(`Error: Session ID ${sessionId} is already in use.`, {
    suggestion: `Give another --session-id, or go on with it: --resume ${sessionId}`,
    failedBeforeStart: true,
  });
}

/** Refuses a path that is too long for a socket. */
async function requireShortPath(path: string): Promise<void> {
  const { MAX_SOCKET_PATH } = await import("../../ffi/descriptors/unix_socket.ts");
  if (new TextEncoder().encode(path).length <= MAX_SOCKET_PATH) return;
  throw new UnsupportedError(
    "Cannot deliver the prompt as it is: the private folder's path is longer than a socket's may be",
    { suggestion: "Set TMPDIR to a folder with a shorter path, or change the prompt's beginning" },
  );
}

/** Warnings before a run begins: about the first folder that could not be swept, and about flags, rules and settings. */
export function earlyWarnings(
  { swept, warnings }: Pick<PreparedRun, "swept" | "warnings">,
): readonly string[] {
  const unswept = swept.filter(({ verdict }) => verdict === "kept").slice(0, 1)
    .map(({ path, reason }) => `Cannot sweep what an earlier run left in ${path}: ${reason}`);
  return [...unswept, ...warnings];
}

/** Whether a transcript of a session is in the user's config dir. */
export function isKnownSession(sessionId: string, configDir: string): boolean {
  return namesIn(`${configDir}/projects`).some((slug) => {
    try {
      return Deno.lstatSync(`${configDir}/projects/${slug}/${sessionId}.jsonl`) !== undefined;
    } catch {
      return false;
    }
  });
}

/**
 * Checks whether a prompt reaches the model unchanged.
 *
 * @returns a description of the first character that Claude Code may change
 * @throws {CliError} when a paste would not deliver the prompt
 */
export async function checkDelivery(
  { prompt, inject }: Pick<RunOrder, "inject"> & { readonly prompt: string },
): Promise<string | undefined> {
  const refusal = inject === "paste"
    ? (await import("../conversation/terminal/paste.ts")).pasteRefusal(prompt)
    : undefined;
  if (refusal !== undefined) {
    throw new CliError(`Cannot paste the prompt: ${refusal}`, {
      suggestion: "Leave out --inject paste: on stdin every prompt goes in as it is",
    });
  }
  if (/^[\t\n\x20-\x7e]*$/u.test(prompt)) return undefined;
  const { firstAlteredCharacter } = await import(
    "../conversation/control/prompt/first_altered_character.ts"
  );
  const found = firstAlteredCharacter(prompt);
  return found && `${found.name} at character ${found.offset}`;
}
