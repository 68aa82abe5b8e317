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
export type SweepOptions = {
  /** Whether it only says what it would do. */
  readonly dryRun: boolean;
  readonly json: boolean;
};

/** What `claude-print shim` was asked for; `status` without a folder looks along PATH. */
export type ShimOptions =
  | { readonly action: "install" | "remove"; readonly dir: string }
  | { readonly action: "status"; readonly dir?: string };

/** What `claude-print cassette` was asked for. */
export type CassetteOptions = {
  readonly action: "replay" | "svg";
  /** The cassette's folder. */
  readonly dir: string;
};

/** A shell whose completions can be printed. */
export type Shell = "bash" | "zsh" | "fish";

/** What a command line asks for. `short` is true for `-v`, which prints what the Agent SDKs read. */
export type ParsedArguments =
  | { readonly kind: "help"; readonly command?: CommandName }
  | { readonly kind: "version"; readonly short: boolean; readonly claudeBinary?: string }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "doctor"; readonly options: DoctorOptions }
  | { readonly kind: "sweep"; readonly options: SweepOptions }
  | { readonly kind: "shim"; readonly options: ShimOptions }
  | { readonly kind: "cassette"; readonly options: CassetteOptions }
  | { readonly kind: "completion"; readonly shell: Shell }
  | { readonly kind: "man" };
