import { childFiles, type ChildFilesOptions } from "../../src/sandbox/child/child_files.ts";
import type { Environment } from "../../src/sandbox/environment.ts";
import { copyTranscripts } from "../../src/sandbox/folder/copy_transcripts.ts";
import type { FolderContents } from "../../src/sandbox/folder/folder_contents.ts";
import { folderParts } from "../../src/sandbox/folder/folder_parts.ts";
import { makeRunFolder, type RunFolderOptions } from "../../src/sandbox/folder/run_folder.ts";
import { places } from "../../src/sandbox/places/places.ts";
import { Sandbox } from "../../src/sandbox/folder/sandbox.ts";

/** What a sandbox may be made of in a test; what is left out is as plain as can be. */
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
      places: places(env),
      folders,
      writable,
      ...(persistSession ? { session } : {}),
    });
    const parts = folderParts(owner.path);
    const secret = crypto.randomUUID();
    const files = childFiles(parts, {
      pid: Deno.pid,
      hooks: ["Stop", "PermissionRequest"],
      held: [],
      asksCost: false,
      userClaudeJson: undefined,
      userSettings: undefined,
      callerSettings: {},
      memoryPath: "/m/",
      plugins: {},
      apiKey: undefined,
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
    return new Sandbox(owner, { contents, places: places(env), copy: copyTranscripts });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
