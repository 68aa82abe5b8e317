import { Poller } from "../../ffi/descriptors/poll.ts";
import { fileAt, namesIn } from "../../ffi/files/at_path.ts";
import { CliError, UnsupportedError } from "../cli_error.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { MessageJudge } from "./facts/judge_message.ts";
import { readFacts } from "./facts/read_facts.ts";
import { type Plan, plan } from "./plan/plan.ts";
import {
  type FoundSessions,
  type GatedPrompt,
  needsChild,
  type OutputSchema,
  type RunFacts,
} from "./plan/plan_facts.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { modesOf, sessionOf } from "./plan/decide.ts";
import { hasOtherHooks } from "./plan/conversation_options.ts";
import { type Settings, valuesOf } from "../sandbox/child/read_settings.ts";
import type { FolderContents, FolderFile } from "../sandbox/folder/folder_contents.ts";
import { makeRunFolder, removeRunFolder } from "../sandbox/folder/run_folder.ts";
import { Sandbox } from "../sandbox/folder/sandbox.ts";
import type { SweptFolder } from "../sandbox/folder/sweep.ts";
import { realPath } from "../sandbox/paths.ts";
import { foldersOfRuns } from "../sandbox/places/folder_of_runs.ts";
import { places } from "../sandbox/places/places.ts";
import type { UserConfig } from "../sandbox/user_config.ts";
import type { Entry } from "../claude/transcript/entry.ts";
import { projectSlug } from "../claude/transcript/files/project_slug.ts";

/** A run that only has to be started. */
export interface PreparedRun extends Omit<Plan, "contents"> {
  readonly options: RunOrder;
  readonly binary: string;
  readonly sandbox: Sandbox;
  /** What stands between the child and the API, if anything does; to be disposed of with the sandbox. */
  readonly relay?: ApiRelay;
  /** What structured answers have to look like, if some are wanted. */
  readonly output?: OutputSchema;
  /** What Claude Code reads for the run, the caller's among them, and before anything of ours is added. */
  readonly settings: readonly Settings[];
  readonly userConfig: UserConfig;
  /** The folder whose settings and servers are the project's. */
  readonly projectRoot: string;
  /** What becomes of the prompt: with an answer to it, no child is started. */
  readonly gated: GatedPrompt;
  /** Says of a message of the caller how it reaches the child, if it does; absent where there is only one. */
  readonly judge: MessageJudge | undefined;
  /** What earlier runs left, and what became of it before this one began. */
  readonly swept: readonly SweptFolder[];
  /** The lines that earlier runs of a resumed session wrote. */
  readonly earlier: readonly Entry[];
}

/**
 * Reads what there is to know, makes the run's private folder, plans the run and fills the folder.
 *
 * @throws {CliError} when there is no claude to start, no login, a prompt that must not go in, something that every
 * system has is missing, or the folder cannot be had
 */
export async function prepareRun(order: RunOrder): Promise<PreparedRun> {
  const facts = await readFacts(order);
  try {
    return await prepared(order, facts);
  } catch (error) {
    // What is told of such a run has the fields of the version.
    if (error instanceof CliError && error.failedBeforeStart) {
      error.claudeVersion = await versionOf(order, facts);
    }
    throw error;
  }
}

/**
 * Refuses what `claude -p` does and this program does not, as far as it hangs on nothing that the caller has yet to say.
 * Other problems are left to {@linkcode prepareRun}.
 *
 * @throws {UnsupportedError} when there is something of that kind
 */
export async function refuseUnsupported(order: RunOrder): Promise<void> {
  try {
    const facts = await readFacts(order);
    modesOf(order, facts);
    await shortenedIn(order, await foundSessions(order, facts));
  } catch (error) {
    if (error instanceof UnsupportedError) throw error;
  }
}

async function versionOf(
  order: RunOrder,
  { binary, version }: RunFacts,
): Promise<string | undefined> {
  const { knownVersion } = await import("../claude/program/known_version.ts");
  return version ?? await knownVersion(binary, order.env, order);
}

async function prepared(order: RunOrder, facts: RunFacts): Promise<PreparedRun> {
  const { binary, userConfig, settings, gated, folders, writable } = facts;
  await claimThread();
  const everywhere = places(order.env);
  const swept = await sweepAll(everywhere, userConfig.dir);
  const found = await foundSessions(order, facts);
  const session = { id: sessionOf(order, { ...facts, found }).id, configDir: userConfig.dir };
  const shortened = await shortenedIn(order, found);
  using undo = new DisposableStack();
  const owner = makeRunFolder({
    places: everywhere,
    runtimeDir: order.env["XDG_RUNTIME_DIR"],
    folders,
    writable,
    ...(order.persistSession ? { session } : {}),
  });
  undo.defer(() => removeRunFolder(owner));
  const isRelayed = order.exactStream === true || order.apiCassette !== undefined ||
    order.deterministic === true || order.record !== undefined;
  // Whatever is answered without a child asks nothing.
  const relay = isRelayed && needsChild(gated)
    ? undo.use(
      (await import("./api_relay.ts")).startApiRelay(order, {
        settings,
        sessionId: session.id,
      }),
    )
    : undefined;
  const { contents, ...planned } = plan(order, {
    ...facts,
    ...(relay === undefined ? {} : { relayVariables: relay.variables }),
    found,
    ...(shortened === undefined ? {} : { shortened }),
    folder: owner.path,
    runs: everywhere.flatMap(foldersOfRuns),
    secret: crypto.randomUUID(),
    pid: owner.pid,
    now: Date.now(),
  });
  const sandbox = undo.use(
    new Sandbox(owner, {
      contents,
      places: everywhere,
      ...await copierFor(contents),
    }),
  );
  if (planned.rendezvous !== undefined) await requireShortPath(planned.rendezvous.path);
  // Not before: a run that has the session, or had it and was killed, may have brought it home just now.
  if (contents.isNewSession) refuseKnownSession(session.id, userConfig.dir);
  const earlier = await earlierLines(sandbox, order);
  // From here on the folder is the caller's to remove.
  undo.move();
  const problem = planned.conversation.session.caller?.initialized?.error;
  return {
    ...planned,
    options: order,
    binary,
    sandbox,
    ...(relay === undefined ? {} : { relay }),
    ...(facts.output === undefined ? {} : { output: facts.output }),
    settings,
    userConfig,
    projectRoot: facts.projectRoot,
    gated,
    judge: await judgeOf(order, {
      ...facts,
      earlier,
      found,
      // Without a schema that is none a conversation goes on, as with claude -p.
      refusal: problem === facts.outputProblem ? undefined : problem,
    }),
    swept,
    earlier,
  };
}

/** Sweeps where runs have left something, or go on: nowhere else what sweeps is loaded. */
async function sweepAll(
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

/** What is left of a session that is resumed in part. */
async function shortenedIn(
  order: RunOrder,
  found: FoundSessions,
): Promise<FolderFile | undefined> {
  if (found.transcript === undefined) return undefined;
  const { resumedPart } = await import("./facts/resumed_session.ts");
  return resumedPart(order, found);
}

/** What copies transcripts into a private folder, where there are some. */
async function copierFor(
  { resume, begun }: FolderContents,
): Promise<Pick<ConstructorParameters<typeof Sandbox>[1], "copy">> {
  if (resume === undefined && begun === undefined) return {};
  const { copyTranscripts } = await import("../sandbox/folder/copy_transcripts.ts");
  return { copy: copyTranscripts };
}

async function foundSessions(
  order: RunOrder,
  facts: RunFacts,
): Promise<FoundSessions> {
  const { userConfig } = facts;
  const { resume, history, besideHistory = [] } = order;
  if (resume !== undefined && history !== undefined) {
    const slug = projectSlug(realPath(order.cwd));
    const besides = besideHistory.map(({ path, text }) => ({
      path: `${slug}/${resume}/${path}`,
      text,
    }));
    const path = `${slug}/${resume}.jsonl`;
    return { named: [resume], transcript: { path, text: history, besides } };
  }
  if (resume !== undefined || order.resumption === undefined) return {};
  const { findSessions } = await import("./facts/resumed_session.ts");
  return findSessions(order.resumption, {
    configDir: userConfig.dir,
    cwd: realPath(order.cwd),
  });
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
  const { lineId } = await import("../claude/transcript/parents_first.ts");
  const { parseEntry } = await import("../claude/transcript/entry.ts");
  // What is left out of a session that goes on in part is in it still, and in no fork.
  const { transcript } = order.forkSession ? {} : facts.found;
  const whole = transcript?.text.split("\n").flatMap((line) => parseEntry(line) ?? []) ?? [];
  return createMessageJudge(order, {
    ...facts,
    settings: valuesOf(facts.settings),
    mcpServers: facts.mcpServers.length,
    watchesPrompts: hasOtherHooks(order, { facts, event: "UserPromptSubmit" }),
    before: [...facts.earlier, ...whole].flatMap((entry) => lineId(entry) ?? []),
  });
}

/** What is still asked of the lines of the session that was copied into a sandbox, those of its subagents aside. */
async function earlierLines(
  { configDir, resumed }: Pick<Sandbox, "configDir" | "resumed">,
  { record }: Pick<RunOrder, "record">,
): Promise<readonly Entry[]> {
  if (resumed.size === 0) return [];
  const { parseEntry } = await import("../claude/transcript/entry.ts");
  const { readLines } = await import("../sandbox/transcripts/read_lines.ts");
  const { recalledEntry } = await import("../claude/transcript/recalled_entry.ts");
  const entries: Entry[] = [];
  for (const path of resumed.keys()) {
    if (!/^[^/]+\/[^/]+\.jsonl$/u.test(path)) continue;
    for (const line of readLines(`${configDir}/projects/${path}`)) {
      const entry = parseEntry(line);
      // A recording is played again with all that was said before.
      const recalled = entry === undefined || record !== undefined ? entry : recalledEntry(entry);
      if (recalled !== undefined) entries.push(recalled);
    }
  }
  return entries;
}

/**
 * Has Deno make the thread that waits for the child. It aborts the program when it cannot have one, and then there must
 * be no folder yet; a thread that it has it keeps for 10 s.
 */
async function claimThread(): Promise<void> {
  using poller = new Poller();
  await poller.wait([], 0);
}

/**
 * Refuses a session that is there already: the sandbox knows no other sessions, so Claude Code itself would not notice
 * that the id is taken.
 *
 * @param configDir the user's config dir
 * @throws {CliError} when there is a transcript of it
 */
function refuseKnownSession(sessionId: string, configDir: string): void {
  if (!isKnownSession(sessionId, configDir)) return;
  throw new CliError(`Error: Session ID ${sessionId} is already in use.`, {
    suggestion: `Give another --session-id, or go on with it: --resume ${sessionId}`,
    failedBeforeStart: true,
  });
}

/**
 * Sees to it that a socket can be at a path.
 *
 * @throws {CliError} when the path is too long for that
 */
async function requireShortPath(path: string): Promise<void> {
  const { MAX_SOCKET_PATH } = await import("../../ffi/descriptors/unix_socket.ts");
  if (new TextEncoder().encode(path).length <= MAX_SOCKET_PATH) return;
  throw new UnsupportedError(
    "Cannot deliver the prompt as it is: the private folder's path is longer than a socket's may be",
    { suggestion: "Set TMPDIR to a folder with a shorter path, or change the prompt's beginning" },
  );
}

/**
 * What the user should know before a run begins: of folders that earlier runs left and that could not be swept, one
 * sentence or none, and of flags and rules that have no effect.
 */
export function earlyWarnings(
  { swept, warnings }: Pick<PreparedRun, "swept" | "warnings">,
): readonly string[] {
  const unswept = swept.filter(({ verdict }) => verdict === "kept").slice(0, 1)
    .map(({ path, reason }) => `Cannot sweep what an earlier run left in ${path}: ${reason}`);
  return [...unswept, ...warnings];
}

/**
 * Whether the user has a transcript of a session.
 *
 * @param configDir the user's config dir
 */
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
 * Looks for what would keep a prompt from reaching the model as it is.
 *
 * @returns the first character that Claude Code may change, in words; plain ASCII is never looked at
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
