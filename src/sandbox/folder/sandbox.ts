import { ERRNO } from "../../../ffi/errno.ts";
import { makeFifo } from "../../../ffi/fifo.ts";
import { UnfitFileError } from "../../../ffi/regular_file.ts";
import { absoluteDir } from "../absolute_dir.ts";
import { partsOf } from "./folder_parts.ts";
import { folderOfRuns, ForeignFolderError, makeFolderIn } from "./folder_of_runs.ts";
import { type Forwarded, forwardTranscripts } from "./forward_transcripts.ts";
import { type HookEvent, hookScript, hookSettings } from "../child/hooks.ts";
import { isBelow } from "./is_below.ts";
import type { JsonObject } from "../json_object.ts";
import { keepTranscripts } from "./keep_transcripts.ts";
import { openFolder } from "./open_folder.ts";
import { type OwnedSession, type Owner, thisOwner, writeOwner } from "./owner.ts";
import { places } from "./places.ts";
import { isOpen, placesFor } from "./places_for.ts";
import { privateFolderName } from "./private_folder.ts";
import { readTranscript } from "./read_transcript.ts";
import { removeEmpty } from "./remove_empty.ts";
import { removeFolder } from "./remove_folder.ts";
import { runSettings } from "../child/run_settings.ts";
import { SandboxError } from "../sandbox_error.ts";
import { seededClaudeJson } from "../child/seeded_claude_json.ts";
import { adviceOn, findSessionHolder } from "./session_holder.ts";
import type { Environment } from "../environment.ts";
import type { UserConfig } from "../user_config.ts";

/** What a sandbox is made of. */
export interface SandboxOptions {
  /** The caller's environment. */
  readonly env: Environment;
  readonly userConfig: UserConfig;
  /** The user's own `.claude.json` and `settings.json`, where they exist. */
  readonly userClaudeJson: JsonObject | undefined;
  readonly userSettings: JsonObject | undefined;
  /** The caller's `--settings`. */
  readonly callerSettings: JsonObject;
  /** Where the project's automatic memory is kept, unless settings name another place. */
  readonly memoryPath: string;
  /** Real paths of the working directory, of the root of its git repository, and of every added directory. */
  readonly folders: readonly string[];
  /** Real paths of all folders that the run's tools may write to. */
  readonly writable: readonly string[];
  /** The hooks this run needs. */
  readonly hooks: readonly HookEvent[];
  /** How many MCP servers the first request has to wait for, and where the debug log goes if not into the sandbox. */
  readonly mcpServers: number;
  readonly debugFile?: string;
  /** Whether a debug log is wanted in any case. */
  readonly logged: boolean;
  /** The prompt that the child reads as its fd 0; absent when it goes in otherwise. */
  readonly stdin?: string;
  /** The session to be resumed: its transcript is copied in. */
  readonly resume?: string;
  /** The session's id. */
  readonly sessionId: string;
  /** Whether nobody has had that id before. */
  readonly isNewSession: boolean;
  /** Whether the session's transcript is to be forwarded. */
  readonly persistSession: boolean;
}

/**
 * Folders of the user's config dir that `claude -p` reads and a run only reads: linked, not copied. So are
 * `CLAUDE.md` and the other Markdown files beside it, which it may include.
 */
const LINKED_FOLDERS = [
  "agents",
  "commands",
  "output-styles",
  "plugins",
  "routines",
  "rules",
  "skills",
  "workflows",
];

/** Settings that start the user's own programs, which `claude -p` does not do or a run must not do. */
const DROPPED_SETTINGS = ["hooks", "statusLine"];

/** How many characters of a folder's name nobody can guess. */
const RANDOM_LENGTH = 8;

/** The private folder of one run: the child's config dir, our settings and hooks, the prompt, a temp folder. */
export class Sandbox implements Disposable {
  readonly path: string;
  /** The child's `CLAUDE_CONFIG_DIR`. */
  readonly configDir: string;
  /** The file given to the child as `--settings`. */
  readonly settingsPath: string;
  /** The child's `CLAUDE_CODE_TMPDIR`. */
  readonly tempDir: string;
  /** The FIFO on which hooks announce themselves. */
  readonly fifoPath: string;
  /** Holds a file for each announced hook: its payload. */
  readonly payloadDir: string;
  /** The child's debug log, when there are MCP servers to wait for or somebody wants one. */
  readonly debugFile: string | undefined;
  /** What every line on the FIFO begins with. */
  readonly secret: string;
  /** Where the child is to listen if the prompt goes in by its rendezvous socket. */
  readonly rendezvousPath: string;
  /** The prompt as a file, when it goes in on fd 0. */
  readonly stdinPath: string | undefined;
  /** Bytes of transcripts that were copied in, by their path below `projects/`. */
  readonly resumed: ReadonlyMap<string, number>;
  #owner: Owner;
  readonly #footholds: readonly string[];

  /**
   * Builds the folder in `$TMPDIR`, or where the run's tools cannot write if they can write there. Nobody else can read
   * it, and the run's tools only what Claude Code itself may tell them to read.
   *
   * @throws {SandboxError} when the folder cannot be made or the session to resume does not exist
   */
  constructor(options: SandboxOptions) {
    const all = places(options.env);
    const [tmp] = all;
    try {
      const session = { id: options.sessionId, configDir: absoluteDir(options.userConfig.dir) };
      this.#owner = makeFolder(placesFor(all, options), {
        tmp,
        ...(options.persistSession ? { session } : {}),
      });
    } catch (cause) {
      if (cause instanceof SandboxError) throw cause;
      throw new SandboxError(`Cannot create a private folder in ${tmp}: ${reason(cause)}`, {
        suggestion: remedy(cause) ?? "Set TMPDIR to a folder you can write to",
        cause,
      });
    }
    this.path = this.#owner.path;
    const { own, configDir, tempDir: childTmp } = partsOf(this.path);
    const exposed = all.filter((place) =>
      isOpen(place, options.writable) &&
      // A run in the temp folder of another one must not be closed with that.
      ![this.path, ...options.folders].some((path) => isBelow(path, folderOfRuns(place)))
    );
    this.#footholds = takeFootholds(exposed, this.path.slice(this.path.lastIndexOf("/") + 1));
    this.configDir = configDir;
    this.settingsPath = `${own}/settings.json`;
    this.tempDir = childTmp;
    this.fifoPath = `${own}/hooks.fifo`;
    this.payloadDir = `${own}/payloads`;
    this.rendezvousPath = `${own}/rv.sock`;
    this.secret = crypto.randomUUID();
    const gated = options.mcpServers > 0;
    this.debugFile = options.debugFile ??
      (gated || options.logged ? `${own}/debug.log` : undefined);
    this.stdinPath = options.stdin === undefined ? undefined : `${own}/prompt`;
    try {
      if (options.isNewSession) refuseHeldSession(this.#owner, all);
      for (const dir of [this.configDir, this.tempDir, this.payloadDir]) {
        Deno.mkdirSync(dir, { mode: 0o700 });
      }
      const scriptPath = `${own}/hook`;
      write(scriptPath, hookScript(this.secret));
      write(
        this.settingsPath,
        JSON.stringify(
          runSettings(options.callerSettings, {
            hooks: hookSettings(scriptPath, {
              events: options.hooks,
              held: gated,
            }),
            memoryPath: options.memoryPath,
            outOfReach: [own, ...exposed.map(folderOfRuns)],
            readOnly: [configDir],
          }),
        ),
      );
      write(
        `${this.configDir}/.claude.json`,
        JSON.stringify(seededClaudeJson(options.userClaudeJson, {
          folders: options.folders,
          apiKey: options.env["ANTHROPIC_API_KEY"],
        })),
      );
      if (options.userSettings !== undefined) {
        const kept = Object.entries(options.userSettings)
          .filter(([name]) => !DROPPED_SETTINGS.includes(name));
        write(`${this.configDir}/settings.json`, JSON.stringify(Object.fromEntries(kept)));
      }
      if (this.stdinPath !== undefined) write(this.stdinPath, options.stdin ?? "");
      makeFifo(this.fifoPath);
      linkUserFiles(options.userConfig.dir, this.configDir);
      this.resumed = options.resume === undefined ? new Map() : copySession(options.resume, {
        from: options.userConfig.dir,
        to: this.configDir,
        owner: this.#owner,
        places: all,
      });
      if (options.persistSession) {
        const transcripts = {
          to: absoluteDir(options.userConfig.dir),
          resumed: Object.fromEntries(this.resumed),
        };
        this.#owner = { ...this.#owner, transcripts };
        writeOwner(this.path, this.#owner);
      }
    } catch (cause) {
      this[Symbol.dispose]();
      if (cause instanceof SandboxError || cause instanceof UnfitFileError) throw cause;
      throw new SandboxError(`Cannot fill the private folder ${this.path}: ${reason(cause)}`, {
        suggestion: remedy(cause) ??
          `Look for free space and permissions in ${parentOf(parentOf(this.path))}, or set TMPDIR`,
        cause,
      });
    }
  }

  /** Brings the session's transcript home, unless it is not to be kept. */
  forward(): Forwarded {
    const { transcripts } = this.#owner;
    if (transcripts === undefined) return { files: 0, left: 0, failures: [] };
    return forwardTranscripts({ from: this.configDir, ...transcripts });
  }

  /** Removes the folder but for the transcripts, which a later sweep brings home, and says where they are. */
  keep(): string {
    const path = keepTranscripts(this.path, this.#owner);
    this.#removeRest();
    return path;
  }

  /** Removes the folder and everything in it, as far as it can be removed; a second call does nothing. */
  [Symbol.dispose](): void {
    this.remove();
  }

  /** Removes the folder and says why it could not, if it could not. */
  remove(): Error | undefined {
    const problem = removeFolder(this.path);
    this.#removeRest();
    return problem;
  }

  /** Removes what is not in the folder, and the folder of runs if there is no other run. */
  #removeRest(): void {
    for (const foothold of this.#footholds) removeEmpty(foothold);
    for (const each of [this.path, ...this.#footholds]) removeEmpty(parentOf(each));
    if (this.#owner.litter !== undefined) removeEmpty(this.#owner.litter);
  }
}

/** Refuses, as ssh(1) and sudo(8) do, a place where another user could put a folder of theirs in the place of ours. */
function refuseOpenFolder(tmp: string): void {
  const open = openFolder(tmp);
  if (open === undefined) return;
  throw new SandboxError(
    `Cannot create a private folder in ${tmp}: every user can rename what is in ${open}`,
    { suggestion: `Set its sticky bit: chmod +t ${open}, or set TMPDIR to a folder of your own` },
  );
}

/** The session that is to come home from a run. */
type NewSession = Omit<OwnedSession, "since">;

/**
 * The run's folder, in the first place that will do.
 *
 * @param options.tmp `TMPDIR`, in which 2.1.197 makes a folder, whatever it is told
 */
function makeFolder(
  candidates: readonly string[],
  { tmp, session }: { readonly tmp: string; readonly session?: NewSession },
): Owner {
  const litter = `${tmp}/claude-${Deno.uid()}`;
  let failure: unknown;
  for (const place of candidates) {
    try {
      refuseOpenFolder(place);
      return makePrivateFolder(place, {
        ...(session === undefined ? {} : { session }),
        ...(exists(litter) ? {} : { litter }),
      });
    } catch (cause) {
      failure = cause;
      // Who names a folder is told what is wrong with it, unless another user keeps us out of there.
      if (place === tmp && !(cause instanceof ForeignFolderError)) break;
    }
  }
  throw failure;
}

/**
 * A folder named with pid and start time of its owner, whose file is the first thing in it.
 *
 * @param options.session the session that is to come home from it
 * @param options.litter what the run may leave elsewhere
 */
export function makePrivateFolder(
  place: string,
  { session, litter }: { readonly session?: NewSession; readonly litter?: string } = {},
): Owner {
  const self = thisOwner();
  const random = crypto.randomUUID().slice(0, RANDOM_LENGTH);
  const path = makeFolderIn(place, privateFolderName({ ...self, random }));
  const owner = {
    ...self,
    path,
    ...(litter === undefined ? {} : { litter }),
    ...(session === undefined ? {} : {
      session: { ...session, since: performance.timeOrigin + performance.now() },
    }),
  };
  try {
    Deno.mkdirSync(partsOf(path).own, { mode: 0o700 });
    writeOwner(path, owner);
  } catch (error) {
    removeFolder(path);
    removeEmpty(parentOf(path));
    throw error;
  }
  return owner;
}

/** The sandbox knows no other sessions, so Claude Code itself would not notice that the id is taken. */
function refuseHeldSession(owner: Owner, all: readonly string[]): void {
  if (owner.session === undefined) return;
  const { id, configDir } = owner.session;
  const holder = findSessionHolder(id, { configDir, before: owner, places: all });
  if (holder === undefined) return;
  throw new SandboxError(`Cannot begin the session ${id}: its id is already in use`, {
    suggestion: `${adviceOn(holder)}, or give another --session-id`,
  });
}

/**
 * An empty folder in the folder of runs of each of these places. As long as it is there, so is the folder of runs: in
 * the place of one that is missing Claude Code's Bash sandbox puts a file, so that other runs could not make it (2.1.197
 * and 2.1.330).
 */
function takeFootholds(exposed: readonly string[], name: string): readonly string[] {
  return exposed.flatMap((place) => {
    try {
      return [makeFolderIn(place, name)];
    } catch {
      // Where this user can make no folder, no run of this user's can.
      return [];
    }
  });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function write(path: string, text: string): void {
  Deno.writeTextFileSync(path, text, { mode: 0o600 });
}

function linkUserFiles(from: string, to: string): void {
  for (const name of namesIn(from)) {
    const linked = LINKED_FOLDERS.includes(name) || name.endsWith(".md");
    if (!linked || !exists(`${from}/${name}`)) continue;
    Deno.symlinkSync(Deno.realPathSync(`${from}/${name}`), `${to}/${name}`);
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Copies a session's transcript, and its folder of subagents and results, into the sandbox. */
function copySession(
  session: string,
  { from, to, owner, places }: {
    readonly from: string;
    readonly to: string;
    readonly owner: Owner;
    readonly places: readonly string[];
  },
): ReadonlyMap<string, number> {
  const copied = new Map<string, number>();
  for (const slug of namesIn(`${from}/projects`)) {
    const source = `${from}/projects/${slug}/${session}.jsonl`;
    if (!exists(source)) continue;
    copyTree(`${from}/projects`, `${to}/projects`, `${slug}/${session}.jsonl`, copied);
    if (exists(`${from}/projects/${slug}/${session}`)) {
      copyTree(`${from}/projects`, `${to}/projects`, `${slug}/${session}`, copied);
    }
  }
  if (copied.size === 0) {
    const holder = findSessionHolder(session, { configDir: from, before: owner, places });
    throw new SandboxError(`Cannot resume the session "${session}": it has no transcript`, {
      suggestion: holder === undefined ? `Look for its id in ${from}/projects` : adviceOn(holder),
    });
  }
  return copied;
}

/** Copies a file, or a folder with the files and folders in it: links there and FIFOs belong to no session. */
function copyTree(from: string, to: string, path: string, copied: Map<string, number>): void {
  if (Deno.statSync(`${from}/${path}`).isDirectory) {
    Deno.mkdirSync(`${to}/${path}`, { recursive: true, mode: 0o700 });
    for (const { name, isFile, isDirectory } of Deno.readDirSync(`${from}/${path}`)) {
      if (isFile || isDirectory) copyTree(from, to, `${path}/${name}`, copied);
    }
    return;
  }
  Deno.mkdirSync(`${to}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true, mode: 0o700 });
  const bytes = readTranscript(`${from}/${path}`);
  Deno.writeFileSync(`${to}/${path}`, bytes, { mode: 0o600 });
  copied.set(path, bytes.length);
}

function namesIn(dir: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}

/** What to do where another place would not help: a file may not be as large as it would have to be, anywhere. */
function remedy(cause: unknown): string | undefined {
  return cause instanceof Error && cause.message.includes(`(os error ${ERRNO.EFBIG})`)
    ? "Raise the limit of the size of files: ulimit -f"
    : undefined;
}

function reason(cause: unknown): string {
  if (cause instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (cause instanceof Deno.errors.NotFound || cause instanceof Deno.errors.NotADirectory) {
    return "no such folder";
  }
  if (cause instanceof Deno.errors.NotCapable) {
    return "Deno lets this program write to no such place";
  }
  return cause instanceof Error ? cause.message : String(cause);
}
