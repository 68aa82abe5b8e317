/** What is put into a run's private folder before the child is started. */
export interface FolderContents {
  /** Files, in the order in which they are written. */
  readonly files: readonly FolderFile[];
  /** The one of them that the child reads as its fd 0; absent when the prompt goes in otherwise. */
  readonly stdinPath?: string;
  /** The MCP servers of the caller's, by their names: each gets two FIFOs, which are called after its place. */
  readonly bridges: readonly string[];
  /** The one of them that is a program behind its bridge, which gets two FIFOs more. */
  readonly relayed?: string;
  /** What every line on the FIFO of the hooks begins with, by the script among the files. */
  readonly secret: string;
  /** Folders of runs that are closed to the run's tools, or hidden from them: an empty folder in each keeps its place. */
  readonly footholds: readonly string[];
  /** The user's config dir: what the user wrote for Claude Code is linked from there, transcripts come from there. */
  readonly userConfigDir: string;
  /** Whether the child is to see nothing there that `--setting-sources` leaves out without the source `user`. */
  readonly hidesUser?: boolean;
  /** Whether the child keeps there, and finds there, what files were before it edited them. */
  readonly keepsBackups?: true;
  /** The session to be resumed: its transcript is copied in. */
  readonly resume?: string;
  /** What stands in its place where a part of it is resumed; a path below `projects/`. */
  readonly shortened?: FolderFile;
  /** The transcript with which it is resumed, where there is none at home; a path below `projects/`. */
  readonly begun?: FolderFile & { readonly besides?: readonly FolderFile[] };
  /** Whether nobody may have had the session's id before. */
  readonly isNewSession: boolean;
}

/** A file that only its owner may read. */
export interface FolderFile {
  readonly path: string;
  readonly text: string;
  /** Whether it is a program. */
  readonly runs?: true;
}

/** What the user's own is called in a folder of the config dir that holds something of the run's too. */
export const USERS_PART = "user";

/** What a bridge's FIFO towards the caller is called after the bridge's place, and the one towards the child. */
export const UP_SUFFIX = ".up";
export const DOWN_SUFFIX = ".down";

/** The same of the FIFOs between this program and a server that is a program behind its bridge. */
export const IN_SUFFIX = ".in";
export const OUT_SUFFIX = ".out";

/** What the FIFO of a hook that waits for an answer is called, after its payload. */
export const ANSWER_SUFFIX = ".answer";
/**
 * What the hook that waits at the end of a session is marked with, and its payload called, which is always short: some
 * 400 bytes. Its FIFO is there before it, since a shell makes one by a program.
 */
export const END = "end";

/** An MCP server that the child reaches by FIFOs. */
export interface Bridge {
  readonly server: string;
  /** The path of the FIFOs, without what tells them apart. */
  readonly path: string;
  /** Whether a program behind it is the server. */
  readonly isRelayed: boolean;
}
