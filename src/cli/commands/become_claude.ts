import { exec } from "../../../ffi/processes/exec.ts";
import type { UnsupportedError } from "../../cli_error.ts";
import { restoreCredentials } from "../../sandbox/child/passed_credentials.ts";
import { print } from "../report/print.ts";

/**
 * Becomes the real claude, for a command line that the shim sent here and that asks for what only `claude -p` does; warns
 * of it on stderr. The real claude finds on stdin what has been read of it by then; nothing else has happened.
 *
 * @param argv `--shim-for`, the real claude, and what it was called with
 * @throws LibcError when it cannot be started
 */
export function becomeClaude(argv: readonly string[], { message, stdin }: UnsupportedError): never {
  const [, claude = "", ...args] = argv;
  restoreCredentials();
  print(Deno.stderr, `claude-print: Warning: ${message}; handed on to ${claude}\n`);
  if (stdin === undefined) exec(claude, args);
  const path = Deno.makeTempFileSync({ prefix: "claude-print-" });
  Deno.writeTextFileSync(path, stdin);
  exec(claude, args, { stdin: path });
}
