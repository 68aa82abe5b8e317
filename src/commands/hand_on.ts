import { exec } from "../../ffi/processes/exec.ts";
import type { UnsupportedFlagError } from "../cli/flags.ts";
import { print } from "./report/print.ts";

/**
 * Becomes the real claude, for a command line that the shim sent here and that asks for what only `claude -p` does; says
 * so on stderr. Nothing has been read from stdin or started by then.
 *
 * @param argv `--shim-for`, the real claude, and what it was called with
 * @throws LibcError when it cannot be started
 */
export function handOn(argv: readonly string[], error: UnsupportedFlagError): never {
  const [, claude = "", ...args] = argv;
  print(Deno.stderr, `claude-print: Warning: ${error.message}; handed on to ${claude}\n`);
  exec(claude, args);
}
