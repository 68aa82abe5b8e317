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
  /** Holds a file for each announced hook: its payload. */
  readonly payloadDir: string;
  /** Where shells open their stderr, if it is reported separately from stdout. */
  readonly streamsDir: string;
  /** What every line on the FIFO begins with. */
  readonly secret: string;
  /** The MCP servers of the caller's, and the path of their FIFOs without what tells them apart. */
  readonly bridges: readonly Bridge[];
  /** The prompt as a file, when it goes in on fd 0. */
  readonly stdinPath: string | undefined;
  /** Bytes of transcripts that were copied in, by their path below `projects/`. */
  readonly resumed: ReadonlyMap<string, number>;
  #owner: Owner;
  /** Undefined until a child may write a transcript. */
  #carriers: Carriers | "loading" | undefined;
  /** The ids that the caller gave messages, by their ids in the child's transcript. */
  readonly #given = new Map<string, string>();
  readonly #footholds: readonly string[];

  /**
   * Fills a folder that `makeRunFolder` made, and removes it when it cannot be filled.
   *
   * @param options.places the places where other runs may have their private folders
   * @param options.copy copies the transcripts of a session that goes on; not needed for any other
   * @throws {CliError} when it cannot be filled, another run has the session, or the one to resume does not exist
   * @throws {UnfitFileError} when something else stands where a transcript to resume should be
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
    // The words of `claude -p`, by which programs know that they have to begin anew.
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
        failures: ["Cannot bring home what a child wrote as it started"],
      };
    }
    return carriers.forward({ from: this.configDir, ...transcripts, given: this.#given });
  }

  /**
   * Forwards the transcript so far while the child runs, so that other programs can read and resume it, as with
   * `claude -p`. Failures are reported at the end, when it is tried again.
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
      // It is of use only where this program is killed.
    }
  }

  /**
   * Forwards the transcript of a child that writes no more to it, before the child ends, and gives up the session: other
   * runs may resume it then.
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

/** The one of them that is read whatever `--setting-sources` says: settings name what counts there. */
const ALWAYS_READ = "plugins";

/**
 * Links what the user wrote for Claude Code into the config dir of a run. What the run has a folder of its own for
 * becomes a part of that: agents are looked for in folders further down too (2.1.330).
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

/** Of a config dir, the folder with what files were before they were edited, a folder a session. */
const BACKUPS = "file-history";

/** Links that folder of the user's, and makes it where there is none. */
function linkBackups({ userConfigDir: from }: Pick<FolderContents, "userConfigDir">, to: string) {
  const folder = `${from}/${BACKUPS}`;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  Deno.symlinkSync(Deno.realPathSync(folder), `${to}/${BACKUPS}`);
}

/**
 * Makes an empty folder in each of these folders of runs. As long as it is there, so is the folder of runs: in the place
 * of one that is missing Claude Code's Bash sandbox puts a file, so that other runs could not make it
 * (2.1.330).
 *
 * @param name what to call it: a private folder's name, as they stand beside those
 * @returns their paths
 */
function makePlaceholders(folders: readonly string[], name: string): readonly string[] {
  return folders.flatMap((runs) => {
    try {
      return [makeFolderIn(runs, name)];
    } catch {
      // Where this user can make no folder, no run of this user's can.
      return [];
    }
  });
}
