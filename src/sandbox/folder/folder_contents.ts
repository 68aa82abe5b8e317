/** What is put into a run's private folder before the child is started. */
export interface FolderContents {
  /** Files, in the order in which they are written. */
  readonly files: readonly FolderFile[];
  /** The one of them that the child reads as its fd 0; absent when the prompt goes in otherwise. */
  readonly stdinPath?: string;
  /** The MCP servers of the caller's, by their names: each gets two FIFOs, which are called after its place. */
  readonly bridges: readonly string[];
  /** What every line on the FIFO of the hooks begins with, by the script among the files. */
  readonly secret: string;
  /** Folders of runs that the run's tools may write to: an empty folder in each keeps its place. */
  readonly exposed: readonly string[];
  /** The user's config dir: what the user wrote for Claude Code is linked from there, transcripts come from there. */
  readonly userConfigDir: string;
  /** The session to be resumed: its transcript is copied in. */
  readonly resume?: string;
  /** What stands in its place where a part of it is resumed; a path below `projects/`. */
  readonly shortened?: FolderFile;
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
