import type { CommandName } from "./command_shapes.ts";
import type { RunRequest } from "./run_request.ts";

/** What `claude-print doctor` was asked for. */
export type DoctorOptions = {
  /** Whether the API is left alone. */
  readonly offline: boolean;
  /** Whether one real prompt is sent. */
  readonly run: boolean;
  readonly json: boolean;
  readonly claudeBinary?: string;
};

/** What `claude-print sweep` was asked for. */
export type SweepRequest = {
  /** Whether it only says what it would do. */
  readonly dryRun: boolean;
  readonly json: boolean;
};

/** What `claude-print learn` was asked for. */
export type LearnRequest = {
  /** Whether it only says if the version is known. */
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
    /** How it is played as the program that it was recorded of; absent where it is played to this program's machines. */
    readonly asProgram?: ProgramReplayOptions & {
      /** What a caller gives `claude`. */
      readonly args: readonly string[];
    };
  }
  | { readonly action: "program"; readonly dir: string; readonly asProgram: ProgramReplayOptions }
  | {
    readonly action: "info";
    readonly dir: string;
    /** Whether what is told is for a machine. */
    readonly json: boolean;
  }
  | {
    readonly action: "diff";
    readonly dir: string;
    /** The folder of the cassette with which it is compared. */
    readonly other: string;
    readonly json: boolean;
  }
  | { readonly action: "fork" } & ForkOptions
  | {
    readonly action: "scrub";
    readonly paths: readonly string[];
    readonly inputName?: string;
    /** Whose words are blanked besides. */
    readonly prompts: boolean;
    readonly answers: boolean;
    /** Further names that are blanked. */
    readonly names: readonly string[];
    /** The folder for what is scrubbed; absent for where it is. */
    readonly out?: string;
  }
  | { readonly action: "lint"; readonly paths: readonly string[]; readonly inputName?: string };

/** How a recorded conversation goes on. */
export type ForkOptions = {
  /** The folder of its cassette. */
  readonly dir: string;
  /** The number of the last turn that stays; 0 for none. */
  readonly at: number;
  /** What is said; what was said after that turn, if nothing is given. */
  readonly prompts: readonly string[];
  readonly model?: string;
  /** The cassette that answers in the API's place. */
  readonly apiCassette?: string;
  /** The folder for a recording. */
  readonly record?: string;
  /** Further flags of a run. */
  readonly flags: readonly string[];
};

/** How a recording is played as the program that it was recorded of. */
export type ProgramReplayOptions = {
  /** What is done with the questions to the caller that are on the tape. */
  readonly mode: "inert" | "stub" | "verify";
  /** How much faster than recorded; 0 for at once. */
  readonly speed: number;
  /** How long the caller has for what is its turn, in milliseconds; 0 for as long as it wants. */
  readonly patienceMs: number;
  /** Where what the caller does otherwise is written. */
  readonly report?: string;
};

/** What `claude-print relay` was asked for. */
export type RelayCommandOptions = {
  /** The folder of the cassette. */
  readonly cache: string;
  readonly match: "normalized" | "exact" | "sequence";
  /** Places of JSON bodies that do not count, as JSON pointers. */
  readonly ignored: readonly string[];
  readonly onMiss: "fail" | "record";
  readonly offline: boolean;
  readonly allowUpstream: boolean;
  /** The base URL of the API; Anthropic's if absent. */
  readonly upstream?: string;
  /** How much faster than they came answers are given; 0 for at once. */
  readonly speed: number;
  /** What goes wrong on purpose, as it was typed. */
  readonly faults?: string;
  readonly hostname: string;
  /** 0 for a free one. */
  readonly port: number;
  /** Whether the base URL has a secret in it. */
  readonly hasSecret: boolean;
  readonly stats: boolean;
};

/** What `claude-print drift` was asked for. */
export type DriftOptions = {
  /** Cassettes, tapes and folders of them. */
  readonly paths: readonly string[];
  readonly json: boolean;
  /** Whether it is well that nothing is there to check. */
  readonly allowEmpty: boolean;
  /** What the tape in each folder is called. */
  readonly inputName?: string;
  /** The Claude Code that does the same again, by its version or its executable. */
  readonly against?: string;
  /** The tools that may run then. */
  readonly allowedTools: readonly string[];
  /** Where Agent SDKs are that are asked too; those that are found, if absent. */
  readonly sdks?: readonly string[];
};

/** What `claude-print bisect` was asked for. */
export type BisectOptions = {
  /** Cassettes and folders of them; none with `run`. */
  readonly paths: readonly string[];
  readonly json: boolean;
  /** A version that is as it should be. */
  readonly good: string;
  /** A later version that is not; the newest one, if absent. */
  readonly bad?: string;
  /** A command of the shell that tells good versions from bad ones. */
  readonly run?: string;
  /** Whether what is downloaded is kept in the cache. */
  readonly keep: boolean;
  /** The tools that may run. */
  readonly allowedTools: readonly string[];
};

/** What `claude-print serve` was asked for. */
export type ServeOptions = {
  /** How many children wait of each profile, and of all. */
  readonly warm: number;
  readonly max: number;
  /** How long a child waits for nobody, in milliseconds. */
  readonly idleMs: number;
  /** A file of what children wait for in any case. */
  readonly profiles?: string;
  /** How many conversations and runs there may be at once. */
  readonly conversations: number;
  /** Where HTTP is spoken beside the socket; port 0 is a free one. */
  readonly tcp?: { readonly hostname: string; readonly port: number };
  /** Flags of the conversation that clients of agentapi talk to, if there is one. */
  readonly agentArgs?: readonly string[];
};

/** What becomes of the units of systemd by which the server is started. */
export type ServeUnitOptions = {
  readonly action: "install" | "uninstall";
  /** What the server is started with. */
  readonly flags: readonly string[];
};

/** A shell whose completions can be printed. */
export type Shell = "bash" | "zsh" | "fish";

/** What a command line asks for. `short` is true for `-v`, which prints what the Agent SDKs read. */
export type ParsedArguments =
  | { readonly kind: "help"; readonly command?: CommandName }
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
  | { readonly kind: "ps"; readonly json: boolean }
  | { readonly kind: "attach"; readonly id: string; readonly takesOver: boolean }
  | { readonly kind: "logs"; readonly id: string; readonly follows: boolean }
  | { readonly kind: "completion"; readonly shell: Shell }
  | { readonly kind: "man" };
