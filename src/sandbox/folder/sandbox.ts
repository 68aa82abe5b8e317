import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import {
  ANSWER_SUFFIX,
  type Bridge,
  DOWN_SUFFIX,
  END,
  type FolderContents,
  folderParts,
  IN_SUFFIX,
  OUT_SUFFIX,
  UP_SUFFIX,
  USERS_PART,
} from "./folder_layout.ts";
import { folderFailure, type keepTranscripts, noteGivenId } from "./private_folder.ts";
import type { copyTranscripts } from "../transcripts/copy_transcripts.ts";
import { type Owner, writeOwner } from "./owner.ts";
import { findSessionHolder, holderAdvice, refuseHeldSession } from "./run_folder.ts";
import { removeEmpty, removeFolder } from "../remove_folder.ts";
import { nameOf, parentOf } from "../../paths.ts";
import { makeFolderIn } from "./run_places.ts";
import type { Forwarded, forwardTranscripts } from "../transcripts/forward_transcripts.ts";

/** The functions that forward a child's transcripts, and keep those that cannot be forwarded. */
interface Carriers {
  readonly forward: typeof forwardTranscripts;
  readonly keep: typeof keepTranscripts;
}

/** The private folder of one run, filled: the child's config dir, our settings and hooks, the prompt, a temp folder. */
export class Sandbox implements Disposable {
  readonly path: string;
  /** The child's `CLAUDE_CONFIG_DIR`. */
  readonly configDir: string;
  /** The config dir of the headless helper. */
  readonly helperDir: string;
  /** The file given to the child as `--settings`. */
  readonly settingsPath: string;
  /** The child's `CLAUDE_CODE_TMPDIR`. */
  readonly tempDir: string;
  /** The FIFO on which hooks announce themselves. */
  readonly fifoPath: string;
  /** Holds the payload of each announced hook. */
  readonly payloadDir: string;
  /** Where shells open their stderr, if it is reported separately from stdout. */
  readonly streamsDir: string;
  /** The beginning of every line on the FIFO. */
  readonly secret: string;
  /** The caller's MCP servers. */
  readonly bridges: readonly Bridge[];
  /** The file of the prompt, if the child reads it on fd 0. */
  readonly stdinPath: string | undefined;
  /** Sizes of the copied transcripts in bytes, by path below `projects/`. */
  readonly resumed: ReadonlyMap<string, number>;
  #owner: Owner;
  /** Undefined until a child may write a transcript. */
  #carriers: Carriers | "loading" | undefined;
  /** The ids that the caller gave messages, by their ids in the child's transcript. */
  readonly #given = new Map<string, string>();
  readonly #footholds: readonly string[];

  /**
   * Fills a folder that `makeRunFolder` made, and removes it if that fails.
   *
   * @param options.places the places where other runs may have their private folders
   * @param options.copy copies the transcripts of a session; needed to resume one
   * @throws {CliError} if it cannot be filled, another run has the session, or the session to resume does not exist
   * @throws {UnfitFileError} if a transcript to resume is not a regular file
   */
  constructor(
    owner: Owner,
    { contents, places, copy = () => new Map() }: {
      readonly contents: FolderContents;
      readonly places: readonly string[];
      readonly copy?: typeof copyTranscripts;
    },
  ) {
    this.#owner = owner;
    this.path = owner.path;
    const parts = folderParts(owner.path);
    this.configDir = parts.configDir;
    this.helperDir = parts.helperDir;
    this.settingsPath = parts.settingsPath;
    this.tempDir = parts.tempDir;
    this.fifoPath = parts.fifoPath;
    this.payloadDir = parts.payloadDir;
    this.streamsDir = parts.streamsDir;
    this.secret = contents.secret;
    this.bridges = contents.bridges.map((server, place) => ({
      server,
      path: `${parts.bridgeDir}/${place}`,
      isRelayed: server === contents.relayed,
    }));
    this.stdinPath = contents.stdinPath;
    this.#footholds = makePlaceholders(
      contents.footholds,
      nameOf(owner.path),
    );
    try {
      if (contents.isNewSession) refuseHeldSession(owner, places);
      for (const dir of [this.configDir, this.tempDir, this.payloadDir]) {
        Deno.mkdirSync(dir, { mode: 0o700 });
      }
      writeFiles(contents.files);
      this.#makeFifos(parts.bridgeDir);
      linkUserFiles(contents, this.configDir);
      if (contents.keepsBackups) linkBackups(contents, this.configDir);
      this.resumed = copy(contents, this.configDir);
      if (this.resumed.size === 0) this.#refuseMissing(contents, places);
      if (owner.session !== undefined) {
        // A transcript that is not in the user's config dir is forwarded completely.
        const resumed = contents.begun === undefined ? Object.fromEntries(this.resumed) : {};
        this.#owner = { ...owner, transcripts: { to: owner.session.configDir, resumed } };
        writeOwner(this.path, this.#owner);
      }
    } catch (cause) {
      this[Symbol.dispose]();
      if (cause instanceof CliError || cause instanceof UnfitFileError) throw cause;
      throw folderFailure(`Cannot fill the private folder ${this.path}`, {
        suggestion: `Look for free space and permissions in ${
          parentOf(parentOf(this.path))
        }, or set TMPDIR`,
        cause,
      });
    }
  }

  #makeFifos(bridgeDir: string): void {
    makeFifo(this.fifoPath);
    makeFifo(`${this.payloadDir}/${END}${ANSWER_SUFFIX}`);
    if (this.bridges.length > 0) Deno.mkdirSync(bridgeDir, { mode: 0o700 });
    for (const { path, isRelayed } of this.bridges) {
      const more = isRelayed ? [IN_SUFFIX, OUT_SUFFIX] : [];
      for (const suffix of [UP_SUFFIX, DOWN_SUFFIX, ...more]) makeFifo(`${path}${suffix}`);
    }
  }

  /** @throws {CliError} if the session to resume was not found */
  #refuseMissing(
    { resume, begun, userConfigDir }: FolderContents,
    places: readonly string[],
  ): void {
    if (resume === undefined || begun !== undefined) return;
    const holder = findSessionHolder(resume, {
      configDir: userConfigDir,
      before: this.#owner,
      places,
    });
    // Programs recognise these words of `claude -p` and begin a new session.
    throw new CliError(`No conversation found with session ID: ${resume}`, {
      suggestion: holder === undefined
        ? `Look for its id in ${userConfigDir}/projects`
        : holderAdvice(holder),
      failedBeforeStart: true,
    });
  }

  /**
   * Loads the modules that forward transcripts, while a child starts. Call it as soon as the child may write a transcript,
   * and await it before the child's output is used. If this program is ended in between, a later sweep forwards them.
   */
  async expectTranscripts(): Promise<void> {
    if (this.#carriers !== undefined) return;
    this.#carriers = "loading";
    const { forwardTranscripts } = await import("../transcripts/forward_transcripts.ts");
    const { keepTranscripts } = await import("./private_folder.ts");
    this.#carriers = { forward: forwardTranscripts, keep: keepTranscripts };
  }

  /** Forwards the session's transcript to the user's config dir, unless the session is not kept. */
  forward(): Forwarded {
    const { transcripts } = this.#owner;
    const carriers = this.#carriers;
    if (transcripts === undefined || carriers === undefined) {
      return { files: 0, left: 0, failures: [] };
    }
    if (carriers === "loading") {
      return {
        files: 0,
        left: 1,
        failures: ["Cannot move the transcript of a child that has just started"],
      };
    }
    return carriers.forward({ from: this.configDir, ...transcripts, given: this.#given });
  }

  /**
   * Copies the transcript so far to the user's config dir while the child runs, so that other programs can read and
   * resume it, as with `claude -p`. A failed copy is repeated at the end, and reported then.
   *
   * @param upTo the id of the last line that the conversation has received; without it all lines are forwarded
   */
  forwardSoFar(upTo?: string): void {
    const { transcripts } = this.#owner;
    const carriers = this.#carriers;
    if (transcripts === undefined || typeof carriers !== "object") return;
    const { files, brought } = carriers.forward({
      from: this.configDir,
      ...transcripts,
      given: this.#given,
      goesOn: { upTo },
    });
    if (files === 0 || brought === undefined) return;
    this.#owner = { ...this.#owner, transcripts: { ...transcripts, brought } };
    try {
      writeOwner(this.path, this.#owner);
    } catch {
      // A sweep needs it only if this program is killed, and it finds forwarded lines in any case.
    }
  }

  /** Records the id that the caller gave a message: the forwarded transcript has it in place of the child's id. */
  recordGivenId({ line, given }: { readonly line: string; readonly given: string }): void {
    if (this.#owner.transcripts === undefined) return;
    this.#given.set(line, given);
    try {
      noteGivenId(this.path, { line, given });
    } catch {
      // A sweep needs it only if this program is killed.
    }
  }

  /**
   * Forwards the transcript of a child that will not write to it again, before the child ends, and releases the session:
   * other runs can resume it from then on.
   *
   * @returns false if it could not be forwarded
   */
  forwardAndRelease(): boolean {
    if (this.forward().failures.length > 0) return false;
    const { session: _, ...owner } = this.#owner;
    try {
      writeOwner(this.path, owner);
    } catch {
      return false;
    }
    this.#owner = owner;
    return true;
  }

  /** Removes everything except the transcripts, which a later sweep forwards. Returns their folder. */
  keep(): string {
    if (typeof this.#carriers !== "object") return this.path;
    const path = this.#carriers.keep(this.path, this.#owner);
    this.#removeRest();
    return path;
  }

  /** Removes the folder as far as possible. A second call does nothing. */
  [Symbol.dispose](): void {
    this.remove();
  }

  /** Removes the folder, and returns the error if it cannot be removed. */
  remove(): Error | undefined {
    const problem = removeFolder(this.path);
    this.#removeRest();
    return problem;
  }

  /** Removes the run's folders outside of the private folder, and the folder of runs if no other run is in it. */
  #removeRest(): void {
    for (const foothold of this.#footholds) removeEmpty(foothold);
    for (const each of [this.path, ...this.#footholds]) removeEmpty(parentOf(each));
    for (const each of this.#owner.litter ?? []) removeEmpty(each);
  }
}

function writeFiles(files: FolderContents["files"]): void {
  for (const { path, text, runs } of files) {
    const folder = parentOf(path);
    if (fileAt(folder) === undefined) Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(path, text, { mode: runs ? 0o700 : 0o600 });
  }
}

/**
 * Folders of the user's config dir that a run reads only. They are linked, like `CLAUDE.md` and the other Markdown files,
 * which `CLAUDE.md` may include.
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

/** The folder that is read even without the source `user`, because settings select plugins. */
const ALWAYS_READ = "plugins";

/**
 * Links the user's files into the config dir of a run. If the run has its own folder of that name, the link is inside it:
 * Claude Code searches agents in subfolders too (2.1.330).
 */
function linkUserFiles(
  { userConfigDir: from, hidesUser = false }: Pick<FolderContents, "userConfigDir" | "hidesUser">,
  to: string,
): void {
  for (const name of namesIn(from)) {
    const linked = hidesUser
      ? name === ALWAYS_READ
      : LINKED_FOLDERS.includes(name) || name.endsWith(".md");
    if (!linked || fileAt(`${from}/${name}`) === undefined) continue;
    const place = fileAt(`${to}/${name}`) !== undefined
      ? `${to}/${name}/${USERS_PART}`
      : `${to}/${name}`;
    Deno.symlinkSync(Deno.realPathSync(`${from}/${name}`), place);
  }
}

/** The folder of a config dir with backups of edited files, a subfolder for each session. */
const BACKUPS = "file-history";

/** Links the user's folder of backups, and makes it if needed. */
function linkBackups({ userConfigDir: from }: Pick<FolderContents, "userConfigDir">, to: string) {
  const folder = `${from}/${BACKUPS}`;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  Deno.symlinkSync(Deno.realPathSync(folder), `${to}/${BACKUPS}`);
}

/**
 * Makes an empty folder in each of some folders of runs, so that these are not removed. If one is missing, Claude Code's
 * Bash sandbox puts a file in its place, and other runs cannot make it (2.1.330).
 *
 * @param name its name, which has the form of a private folder's name
 * @returns their paths
 */
function makePlaceholders(folders: readonly string[], name: string): readonly string[] {
  return folders.flatMap((runs) => {
    try {
      return [makeFolderIn(runs, name)];
    } catch {
      // This user cannot make a folder there, so no run of this user can.
      return [];
    }
  });
}
