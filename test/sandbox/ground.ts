import { assert, assertEquals } from "@std/assert";
import { closeFd } from "../../ffi/descriptors/fd.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { openPidfd } from "../../ffi/processes/process.ts";
import { childFiles, type ChildFilesOptions } from "../../src/sandbox/child/child_files.ts";
import type { Environment } from "../../src/sandbox/environment.ts";
import { copyTranscripts } from "../../src/sandbox/transcripts/copy_transcripts.ts";
import { type FolderContents, folderParts } from "../../src/sandbox/folder/folder_layout.ts";
import { makeRunFolder, type RunFolderOptions } from "../../src/sandbox/folder/run_folder.ts";
import { folderOfRuns, listPlaces } from "../../src/sandbox/folder/run_places.ts";
import { type Owner, thisOwner, writeOwner } from "../../src/sandbox/folder/owner.ts";
import { sweep, type SweptFolder } from "../../src/sandbox/folder/sweep.ts";
import { Sandbox } from "../../src/sandbox/folder/sandbox.ts";

/** The parts of a sandbox that matter to a test; the others have plain defaults. */
export interface SandboxWish
  extends
    Partial<Omit<ChildFilesOptions, "secret">>,
    Partial<Pick<RunFolderOptions, "folders" | "writable">>,
    Partial<
      Pick<
        FolderContents,
        | "footholds"
        | "userConfigDir"
        | "hidesUser"
        | "keepsBackups"
        | "resume"
        | "begun"
        | "isNewSession"
      >
    > {
  readonly env?: Environment;
  readonly sessionId?: string;
  readonly persistSession?: boolean;
}

/** The files of a child for which nothing special is wanted. */
export const PLAIN_FILES = {
  pid: 4711,
  secret: "s3cret",
  hooks: ["Stop"],
  held: [],
  asksCost: false,
  userClaudeJson: undefined,
  userSettings: undefined,
  callerSettings: {},
  memoryPath: "/m/",
  plugins: {},
  folders: ["/w"],
  exposed: [],
  hidden: [],
  apiKey: undefined,
} as const satisfies ChildFilesOptions;

/** A temp folder with a user's config dir, removed at the end of the test. */
export class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly user = `${this.path}/user`;
  readonly tmp: string;

  constructor(tmpName = "tmp") {
    this.tmp = `${this.path}/${tmpName}`;
    Deno.mkdirSync(this.user);
    Deno.mkdirSync(this.tmp);
  }

  /** Makes and fills a run's private folder. */
  sandbox(wish: SandboxWish = {}): Sandbox {
    const { env = { TMPDIR: this.tmp }, folders = ["/w"], writable = ["/w"], footholds = [] } =
      wish;
    const { userConfigDir = this.user, sessionId = "s1", persistSession = true } = wish;
    const session = { id: sessionId, configDir: userConfigDir };
    const owner = makeRunFolder({
      places: listPlaces(env),
      folders,
      writable,
      ...(persistSession ? { session } : {}),
    });
    const parts = folderParts(owner.path);
    const secret = crypto.randomUUID();
    const files = childFiles(parts, {
      ...PLAIN_FILES,
      pid: Deno.pid,
      hooks: ["Stop", "PermissionRequest"],
      ...wish,
      secret,
      folders,
      exposed: footholds,
      hidden: footholds,
    });
    const contents: FolderContents = {
      bridges: [],
      files,
      ...(wish.stdin === undefined ? {} : { stdinPath: parts.promptPath }),
      secret,
      footholds,
      userConfigDir,
      hidesUser: wish.hidesUser ?? false,
      ...(wish.keepsBackups ? { keepsBackups: true } : {}),
      ...(wish.resume === undefined ? {} : { resume: wish.resume }),
      ...(wish.begun === undefined ? {} : { begun: wish.begun }),
      isNewSession: wish.isNewSession ?? false,
    };
    return new Sandbox(owner, { contents, places: listPlaces(env), copy: copyTranscripts });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** No process has this pid: it is over the kernel's limit (proc(5), pid_max). */
export const NOBODY = 4_194_305;

/** A temp folder with private folders of runs, and a user's config dir. */
export class SweepGround extends Ground {
  readonly runs = folderOfRuns(this.tmp);

  /** Makes the private folder of a killed run, or of the given owner. */
  leave(
    owner: Partial<Owner> | "missing" | "broken" = {},
    files: Readonly<Record<string, string>> = {},
  ): string {
    const { pid = NOBODY, startTime = "1" } = typeof owner === "object" ? owner : {};
    const path = `${this.runs}/${pid}-${startTime}-0123abcd`;
    const { own } = folderParts(path);
    Deno.mkdirSync(this.runs, { recursive: true, mode: 0o700 });
    Deno.mkdirSync(path, { mode: 0o700 });
    this.write({ [`${own}/prompt`]: "Hello" });
    if (owner === "broken") this.write({ [`${own}/owner.json`]: '{"pid":1' });
    if (typeof owner === "object") {
      const transcripts = { to: this.user, resumed: {} };
      const dead = { ...thisOwner(), pid, startTime, path, transcripts };
      writeOwner(path, { ...dead, ...owner });
    }
    this.leaveFiles(path, files);
    return path;
  }

  /** Writes transcripts into a private folder. */
  leaveFiles(path: string, files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      this.write({ [`${folderParts(path).configDir}/projects/${name}`]: text });
    }
  }

  /** Writes transcripts of the user by their name, or other files by their absolute path. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = name.startsWith("/") ? name : `${this.user}/projects/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
  }

  transcript(name: string): string {
    return Deno.readTextFileSync(`${this.user}/projects/${name}`);
  }

  sweep(options: { readonly dryRun?: boolean } = {}): readonly SweptFolder[] {
    return sweep({ places: [this.tmp], userConfigDir: this.user, ...options });
  }

  /** Sweeps the only folder. */
  sweepOne(options: { readonly dryRun?: boolean } = {}): Omit<SweptFolder, "path"> {
    const [swept, ...more] = this.sweep(options);
    assertEquals(more, []);
    assert(swept !== undefined, "nothing was found");
    const { path: _, ...rest } = swept;
    return rest;
  }

  get left(): readonly string[] {
    const list = (folder: string) =>
      [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`);
    return list(this.tmp).flatMap((path) => path === this.runs ? list(path) : path);
  }
}

/** Waits until a process has ended, reaped or not. */
export async function untilEnded(pid: number): Promise<void> {
  const fd = openPidfd(pid);
  using poller = new Poller();
  await poller.wait([{ fd, read: true }], -1);
  closeFd(fd);
}

/** The results of sweeps. */
export const REMOVED = { verdict: "removed", reason: "its run was killed", rescued: 0 } as const;
export const RESCUED = {
  verdict: "removed",
  reason: "its run could not move its transcript",
  rescued: 1,
} as const;
