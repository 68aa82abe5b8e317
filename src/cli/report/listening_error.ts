import { CliError } from "../../cli_error.ts";

/** Why nobody can be listened to at an address. */
export function listeningError(
  cause: unknown,
  { hostname, port, suggestion }: {
    readonly hostname: string;
    readonly port: number;
    readonly suggestion: string;
  },
): CliError {
  const why = cause instanceof Deno.errors.AddrInUse
    ? "the port is taken"
    : (cause as Error).message;
  return new CliError(`Cannot listen on ${hostname}, port ${port}: ${why}`, { suggestion, cause });
}
