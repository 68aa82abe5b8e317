import type { ProgramOutput } from "../start_program.ts";
import type { ParsedOutput } from "./parse_output.ts";

/** A run of `claude-print` that has ended, and its output understood. */
export interface Run extends ParsedOutput, ProgramOutput {}
