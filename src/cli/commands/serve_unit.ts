import type { ServeUnitOptions } from "../arguments/parsed_arguments.ts";
import { CliError } from "../../cli_error.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { thisProgram } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { installUnits, uninstallUnits, unitFiles, unitFolder } from "../../server/systemd_units.ts";
import { print } from "../report/print.ts";

/** What of the caller's environment a server needs to be the same program with the same Claude Code; no credentials. */
const KEPT_VARIABLES = ["PATH", "CLAUDE_CONFIG_DIR", "DENO_DIR"];

const INSTALLED = `
Start it, now and whenever you log in, the first time that a run asks for it:
  systemctl --user daemon-reload
  systemctl --user enable --now claude-print.socket
or at once, for those who speak HTTP:
  systemctl --user enable --now claude-print.service
What it says: journalctl --user -u claude-print
`;

const UNINSTALLED = `
If it is running, stop it:
  systemctl --user stop claude-print.socket claude-print.service
  systemctl --user daemon-reload
`;

/**
 * Writes the units of systemd by which the server of this user is started, or removes them, and says what to type then.
 * Nothing is started or stopped.
 *
 * @param options.flags what the server is started with
 * @returns the exit code
 * @throws {CliError} when somebody else's unit is in the place of one, or systemd would start it for nobody
 */
export function serveUnit(
  { action, flags }: ServeUnitOptions,
): number {
  const env = callerEnvironment();
  const folder = unitFolder(env);
  const units = unitFiles({
    program: thisProgram(),
    flags,
    env: Object.fromEntries(KEPT_VARIABLES.flatMap((name) => entryOf(env, name))),
    umask: Deno.umask(),
  });
  if (action === "uninstall") {
    const removed = uninstallUnits(folder, units.map(({ name }) => name));
    if (removed.length === 0) say(`There is nothing to remove in ${folder}`);
    else say(...removed.map((path) => `Removed ${path}`), UNINSTALLED);
    return 0;
  }
  if (!(env["XDG_RUNTIME_DIR"] ?? "").startsWith("/")) {
    throw new CliError("Cannot install the server: XDG_RUNTIME_DIR is not set", {
      suggestion: "Log in as yourself, not by su or sudo: systemd has no place for a socket here",
    });
  }
  say(...installUnits(folder, units).map((path) => `Installed ${path}`), INSTALLED);
  return 0;
}

function entryOf(env: Environment, name: string): readonly (readonly [string, string])[] {
  const value = env[name];
  return value === undefined ? [] : [[name, value]];
}

function say(...lines: readonly string[]): void {
  print(Deno.stdout, `${nameUnseen(lines.join("\n").trimEnd(), { keep: "\n" })}\n`);
}
