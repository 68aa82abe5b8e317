import { libc } from "../ffi/libc.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "./claude_print.ts";

// For good, before a test begins: one that opened it would leave it open.
libc();

/** Whether tests start a program for each run: an executable is tested, or warm children carry out the runs. */
export const IS_ELSEWHERE: boolean = CLAUDE_PRINT[0] !== CLAUDE_PRINT_SOURCES[0] ||
  Deno.env.get("CLAUDE_PRINT_TEST_SERVE") === "warm";

/** What carries out runs inside this process, which only those files load that have one carried out. */
export async function inside(): Promise<typeof import("./run_inside.ts")> {
  return await import("./run_inside.ts");
}
