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

/** What brings a child's transcripts home, and what keeps those that cannot come. */
interface Carriers {
  readonly forward: typeof forwardTranscripts;
  readonly keep: typeof keepTranscripts;
}

/** The private folder of one run, filled: the child's config dir, our settings and hooks, the prompt, a temp folder. */
export class Sandbox implements Disposable {
  readonly path: string;
  /** The child's `CLAUDE_CONFIG_DIR`. */
  readonly configDir: string;
  /** The config dir of a headless Claude Code that is asked about the session. */
  readonly helperDir: string;
  /** The file given to the child as `--settings`. */
  readonly settingsPath: string;
  /** The child's `CLAUDE_CODE_TMPDIR`. */
  readonly tempDir: string;
  /** The FIFO on which hooks announce themselves. */
  readonly fifoPath: string;
  /** Holds a file for each announced hook: its payload. */
  readonly payloadDir: string;
  /** Where shells open their stderr, if it is to be told from their stdout. */
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
  /** Undefined as long as there can be no transcript of a child's. */
  #carriers: Carriers | "loading" | undefined;
  /** The ids that the caller gave prompts, by those that they have in the transcript here. */
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
      for (const { path, text, runs } of contents.files) {
        const folder = parentOf(path);
        if (fileAt(folder) === undefined) Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
        Deno.writeTextFileSync(path, text, { mode: runs ? 0o700 : 0o600 });
      }
      makeFifo(this.fifoPath);
      makeFifo(`${this.payloadDir}/${END}${ANSWER_SUFFIX}`);
      if (this.bridges.length > 0) Deno.mkdirSync(parts.bridgeDir, { mode: 0o700 });
      for (const { path, isRelayed } of this.bridges) {
        const more = isRelayed ? [IN_SUFFIX, OUT_SUFFIX] : [];
        for (const suffix of [UP_SUFFIX, DOWN_SUFFIX, ...more]) makeFifo(`${path}${suffix}`);
      }
      linkUserFiles(contents, this.configDir);
      if (contents.keepsBackups) linkBackups(contents, this.configDir);
      this.resumed = copy(contents, this.configDir);
      if (this.resumed.size === 0) this.#refuseMissing(contents, places);
      if (owner.session !== undefined) {
        // What is nowhere at home comes home with what follows it.
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

  /** @throws {CliError} where there is a session to go on with, of which nothing was found */
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
   * Loads what brings transcripts home, while a child starts: to be called as soon as one may write some, and awaited before
   * anything is made of what it does. Whoever ends this program in between leaves the folder to a later sweep.
   */
  async expectTranscripts(): Promise<void> {
    if (this.#carriers !== undefined) return;
    this.#carriers = "loading";
    const { forwardTranscripts } = await import("../transcripts/forward_transcripts.ts");
    const { keepTranscripts } = await import("./private_folder.ts");
    this.#carriers = { forward: forwardTranscripts, keep: keepTranscripts };
  }

  /** Brings the session's transcript home, unless it is not to be kept. */
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
   * Brings home what the session's transcript has so far, while the child goes on: others may read it there, and go on
   * with it, as with `claude -p`. What goes wrong is told at the end, when it is tried again.
   *
   * @param upTo the id of the last line that the machines have heard of; all lines count without one
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
      // It is of use only where this program is killed, and what is home is found there in any case.
    }
  }

  /** Takes the id that the caller gave a prompt: at home the transcript has it in the place of its own. */
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
   * Brings the session's transcript home before the end of a child that writes no more to it, and says whether it is
   * there: from then on the session is as one of a run that is over.
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

  /** Removes the folder but for the transcripts, which a later sweep brings home, and says where they are. */
  keep(): string {
    if (typeof this.#carriers !== "object") return this.path;
    const path = this.#carriers.keep(this.path, this.#owner);
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
    for (const each of this.#owner.litter ?? []) removeEmpty(each);
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
