import type { CommandName } from "./command_shapes.ts";
import type { RunRequest } from "./run_request.ts";

/** The options of `claude-print doctor`. */
export type DoctorOptions = {
  /** Do not contact the API. */
  readonly offline: boolean;
  /** Send one real prompt. */
  readonly run: boolean;
  readonly json: boolean;
  readonly claudeBinary?: string;
};

/** The options of `claude-print sweep`. */
export type SweepRequest = {
  /** Only report, do not remove anything. */
  readonly dryRun: boolean;
  readonly json: boolean;
};

/** The options of `claude-print learn`. */
export type LearnRequest = {
  /** Only report whether the version is known. */
  readonly check: boolean;
  readonly claudeBinary?: string;
};

/** The options of `claude-print shim`. `status` without a folder searches PATH. */
export type ShimOptions =
  | { readonly action: "install" | "remove"; readonly dir: string }
  | { readonly action: "status"; readonly dir?: string };

/** The options of `claude-print cassette`; `dir` is the cassette's folder. */
export type CassetteOptions =
  | { readonly action: "svg"; readonly dir: string }
  | {
    readonly action: "replay";
    readonly dir: string;
    /** The size of the pieces in which output is replayed, in bytes; if absent, output is replayed as recorded. */
    readonly split?: number;
    /** Behave as the recorded program. If absent, replay the recording through this program. */
    readonly asProgram?: ProgramReplayOptions & {
      /** The command line that the caller gives `claude`. */
      readonly args: readonly string[];
    };
  }
  | { readonly action: "program"; readonly dir: string; readonly asProgram: ProgramReplayOptions }
  | {
    readonly action: "info";
    readonly dir: string;
    readonly json: boolean;
  }
  | {
    readonly action: "diff";
    readonly dir: string;
    /** The folder of the cassette to compare with. */
    readonly other: string;
    readonly json: boolean;
  }
  | { readonly action: "fork" } & ForkOptions
  | {
    readonly action: "scrub";
    readonly paths: readonly string[];
    readonly inputName?: string;
    /** Also blank the texts of the user, or of the model. */
    readonly prompts: boolean;
    readonly answers: boolean;
    /** Further names to remove. */
    readonly names: readonly string[];
    /** The folder for the results; absent to scrub in place. */
    readonly out?: string;
  }
  | { readonly action: "lint"; readonly paths: readonly string[]; readonly inputName?: string };

/** How `cassette fork` continues a recorded conversation. */
export type ForkOptions = {
  /** The folder of its cassette. */
  readonly dir: string;
  /** The number of the last turn to keep; 0 for none. */
  readonly at: number;
  /** The next prompts; if empty, the recorded prompts after that turn. */
  readonly prompts: readonly string[];
  readonly model?: string;
  /** The cassette that answers instead of the API. */
  readonly apiCassette?: string;
  /** The folder for a recording. */
  readonly record?: string;
  /** Further flags of a run. */
  readonly flags: readonly string[];
};

/** How a recording behaves as the recorded program. */
export type ProgramReplayOptions = {
  /** How to treat recorded questions to the caller. */
  readonly mode: "inert" | "stub" | "verify";
  /** The factor by which the replay is faster than the recording; 0 for no pauses. */
  readonly speed: number;
  /** How long to wait for the caller, in milliseconds; 0 for no limit. */
  readonly patienceMs: number;
  /** The file for a report of the caller's differences. */
  readonly report?: string;
};

/** The options of `claude-print relay`. */
export type RelayCommandOptions = {
  /** The folder of the cassette. */
  readonly cache: string;
  readonly match: "normalized" | "exact" | "sequence";
  /** JSON pointers to parts of request bodies that are not compared. */
  readonly ignored: readonly string[];
  readonly onMiss: "fail" | "record";
  readonly offline: boolean;
  readonly allowUpstream: boolean;
  /** The base URL of the API; Anthropic's if absent. */
  readonly upstream?: string;
  /** The factor by which answers are faster than recorded; 0 for no pauses. */
  readonly speed: number;
  /** Faults to simulate, as typed. */
  readonly faults?: string;
  readonly hostname: string;
  /** The port; 0 for a free one. */
  readonly port: number;
  /** Whether the base URL contains a secret. */
  readonly hasSecret: boolean;
  readonly stats: boolean;
};

/** The options of `claude-print drift`. */
export type DriftOptions = {
  /** Cassettes, tapes and folders of them. */
  readonly paths: readonly string[];
  readonly json: boolean;
  /** Succeed if there is nothing to check. */
  readonly allowEmpty: boolean;
  /** The name of the tape in each folder. */
  readonly inputName?: string;
  /** The Claude Code that repeats the recordings: a version or an executable. */
  readonly against?: string;
  /** The tools that this Claude Code may run. */
  readonly allowedTools: readonly string[];
  /** The places of the Agent SDKs; absent to search for them. */
  readonly sdks?: readonly string[];
};

/** The options of `claude-print bisect`. */
export type BisectOptions = {
  /** Cassettes and folders of them; none with `run`. */
  readonly paths: readonly string[];
  readonly json: boolean;
  /** A version with the right behaviour. */
  readonly good: string;
  /** A later version with the wrong behaviour; absent for the newest one. */
  readonly bad?: string;
  /** A shell command that examines a version. */
  readonly run?: string;
  /** Keep downloads in the cache. */
  readonly keep: boolean;
  /** The tools that may run. */
  readonly allowedTools: readonly string[];
};

/** The options of `claude-print serve`. */
export type ServeOptions = {
  /** The number of warm children of each profile (`warm`) and in all (`max`). */
  readonly warm: number;
  readonly max: number;
  /** Stop a warm child that nobody has used for this long, in milliseconds. */
  readonly idleMs: number;
  /** A file with profiles that always have a warm child. */
  readonly profiles?: string;
  /** The maximum number of conversations and runs at the same time. */
  readonly conversations: number;
  /**
   * For the background server: end after this many milliseconds without work. If set, a child is also prepared for
   * the run that stdin describes.
   */
  readonly backgroundMs?: number;
  /** The address for HTTP in addition to the socket; port 0 means a free port. */
  readonly tcp?: { readonly hostname: string; readonly port: number };
  /** Flags of the conversation for clients of agentapi; absent for none. */
  readonly agentArgs?: readonly string[];
};

/** Installs or removes the systemd units that start the server. */
export type ServeUnitOptions = {
  readonly action: "install" | "uninstall";
  /** The flags of the server. */
  readonly flags: readonly string[];
};

/** Asks the running server for its status, or ends it. */
export type ServerRequest =
  | { readonly action: "status"; readonly json: boolean }
  /** With `now`, running work is also ended. */
  | { readonly action: "stop"; readonly now: boolean };

/** The options of `claude-print send`. */
export type MessageOptions = {
  /** The beginning of a conversation's id. */
  readonly id: string;
  /** The message; absent to read it from stdin. */
  readonly text?: string;
  /** Stop the running turn first. */
  readonly interrupts: boolean;
  /** Wait for the model's answer. */
  readonly waits: boolean;
};

export type Shell = "bash" | "zsh" | "fish";

/** The request of a command line. `short` is true for `-v`, whose output the Agent SDKs parse. */
export type ParsedArguments =
  | {
    readonly kind: "help";
    /** The command, or the action of a command, whose help is shown. */
    readonly command?: CommandName;
    readonly action?: string;
    /** True for the short help of one screen; absent for the complete help. */
    readonly short?: true;
  }
  | { readonly kind: "version"; readonly short: boolean; readonly claudeBinary?: string }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "doctor"; readonly options: DoctorOptions }
  | { readonly kind: "sweep"; readonly options: SweepRequest }
  | { readonly kind: "learn"; readonly options: LearnRequest }
  | { readonly kind: "shim"; readonly options: ShimOptions }
  | { readonly kind: "cassette"; readonly options: CassetteOptions }
  | { readonly kind: "relay"; readonly options: RelayCommandOptions }
  | { readonly kind: "drift"; readonly options: DriftOptions }
  | { readonly kind: "bisect"; readonly options: BisectOptions }
  | { readonly kind: "serve"; readonly options: ServeOptions; readonly unit?: ServeUnitOptions }
  | { readonly kind: "serve"; readonly running: ServerRequest }
  | { readonly kind: "ps"; readonly json: boolean }
  | { readonly kind: "new"; readonly args: readonly string[] }
  | { readonly kind: "send" } & MessageOptions
  | {
    readonly kind: "answer";
    readonly id: string;
    /** The answers; none to print the question of the conversation. */
    readonly answers: readonly string[];
    readonly waits: boolean;
  }
  | { readonly kind: "interrupt"; readonly id: string; readonly ends: boolean }
  | { readonly kind: "attach"; readonly id: string; readonly takesOver: boolean }
  | { readonly kind: "logs"; readonly id: string; readonly follows: boolean }
  | { readonly kind: "completion"; readonly shell: Shell }
  | { readonly kind: "man" };
