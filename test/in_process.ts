import { libc } from "../ffi/libc.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "./claude_print.ts";

// Opens libc before a test begins: a test that opened it would leave it open.
libc();

/** Whether tests start a program for each run: an executable is tested, or warm children carry out the runs. */
export const STARTS_PROGRAM: boolean = CLAUDE_PRINT[0] !== CLAUDE_PRINT_SOURCES[0] ||
  ["warm", "auto"].includes(Deno.env.get("CLAUDE_PRINT_TEST_SERVE") ?? "");

/** Loads the functions that carry out a run inside this process. Files that start programs alone do not need them. */
export async function loadInProcess(): Promise<typeof import("./run_in_process.ts")> {
  return await import("./run_in_process.ts");
}
