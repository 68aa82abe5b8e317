import type { CommandName } from "./command_shapes.ts";
import type { RunRequest } from "./run_request.ts";

/** What `claude-print doctor` was asked for. */
export type DoctorOptions = {
  /** Do not contact the API. */
  readonly offline: boolean;
  /** Send one real prompt. */
  readonly run: boolean;
  readonly json: boolean;
  readonly claudeBinary?: string;
};

/** What `claude-print sweep` was asked for. */
export type SweepRequest = {
  /** Only report, remove nothing. */
  readonly dryRun: boolean;
  readonly json: boolean;
};

/** What `claude-print learn` was asked for. */
export type LearnRequest = {
  /** Only report whether the version is known. */
  readonly check: boolean;
  readonly claudeBinary?: string;
};

/** What `claude-print shim` was asked for; `status` without a folder looks along PATH. */
export type ShimOptions =
  | { readonly action: "install" | "remove"; readonly dir: string }
  | { readonly action: "status"; readonly dir?: string };

/** What `claude-print cassette` was asked for; `dir` is the cassette's folder. */
export type CassetteOptions =
  | { readonly action: "svg"; readonly dir: string }
  | {
    readonly action: "replay";
    readonly dir: string;
    /** The size of the pieces in which output is replayed, in bytes; as it was recorded, if absent. */
    readonly split?: number;
    /** Behave as the recorded program; absent to replay the recording through this program. */
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
    /** Blank the texts of the user, or of the model, too. */
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
  /** The next prompts; if empty, the recorded ones after that turn. */
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
  /** What to do with recorded questions to the caller. */
  readonly mode: "inert" | "stub" | "verify";
  /** How much faster than recorded; 0 for without pauses. */
  readonly speed: number;
  /** How long to wait for the caller, in milliseconds; 0 for no limit. */
  readonly patienceMs: number;
  /** The file for what the caller does differently. */
  readonly report?: string;
};

/** What `claude-print relay` was asked for. */
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
  /** How much faster than recorded; 0 for without pauses. */
  readonly speed: number;
  /** Faults to simulate, as typed. */
  readonly faults?: string;
  readonly hostname: string;
  /** 0 for a free one. */
  readonly port: number;
  /** Whether the base URL contains a secret. */
  readonly hasSecret: boolean;
  readonly stats: boolean;
};

/** What `claude-print drift` was asked for. */
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
  /** The tools that it may run. */
  readonly allowedTools: readonly string[];
  /** Where the Agent SDKs are; absent to search for them. */
  readonly sdks?: readonly string[];
};

/** What `claude-print bisect` was asked for. */
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

/** What `claude-print serve` was asked for. */
export type ServeOptions = {
  /** How many warm children wait, of each profile (`warm`) and in all (`max`). */
  readonly warm: number;
  readonly max: number;
  /** Stop a warm child that nobody has used for this long, in milliseconds. */
  readonly idleMs: number;
  /** A file with profiles that always have a warm child. */
  readonly profiles?: string;
  /** How many conversations and runs there may be at once. */
  readonly conversations: number;
  /** End after this long without work, in milliseconds, and get ready for the run that stdin describes. */
  readonly backgroundMs?: number;
  /** Where to serve HTTP besides the socket; port 0 is a free one. */
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

/** Asks the running server what it does, or ends it. */
export type ServerRequest =
  | { readonly action: "status"; readonly json: boolean }
  /** With `now` what is under way is ended too. */
  | { readonly action: "stop"; readonly now: boolean };

/** What `claude-print send` was asked for. */
export type MessageOptions = {
  /** The beginning of a conversation's id. */
  readonly id: string;
  /** Absent to read it from stdin. */
  readonly text?: string;
  /** Stop the running turn first. */
  readonly interrupts: boolean;
  /** Wait for the model's answer. */
  readonly waits: boolean;
};

export type Shell = "bash" | "zsh" | "fish";

/** What a command line asks for. `short` is true for `-v`, whose output the Agent SDKs parse. */
export type ParsedArguments =
  | {
    readonly kind: "help";
    /** The help of this command, or of one of its actions. */
    readonly command?: CommandName;
    readonly action?: string;
    /** One screen; absent for everything. */
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
    /** None to print what the conversation asks. */
    readonly answers: readonly string[];
    readonly waits: boolean;
  }
  | { readonly kind: "interrupt"; readonly id: string; readonly ends: boolean }
  | { readonly kind: "attach"; readonly id: string; readonly takesOver: boolean }
  | { readonly kind: "logs"; readonly id: string; readonly follows: boolean }
  | { readonly kind: "completion"; readonly shell: Shell }
  | { readonly kind: "man" };
