import { createHash } from "node:crypto";
import type { Environment } from "../sandbox/environment.ts";
import { namesIn, tryRemove } from "../../ffi/files/at_path.ts";
import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { parentOf, wholePath } from "../paths.ts";
import { isUnixListener } from "../../ffi/descriptors/unix_socket.ts";

/** How systemd starts a server. */
export interface UnitOptions {
  /** The command of this program, in words. */
  readonly program: readonly string[];
  /** Further flags of `serve`. */
  readonly flags: readonly string[];
  /** Environment variables in addition to those of systemd. */
  readonly env: Environment;
  readonly umask: number;
}

/** A unit file of systemd's user manager. */
interface UnitFile {
  readonly name: string;
  readonly text: string;
}

/** The name of the inherited socket; see sd_listen_fds_with_names(3). */
const SOCKET_NAME = "run";

/** How long a server may take to finish its turns before systemd kills it, in seconds. */
const DRAIN_SECONDS = 120;

const MARK =
  '# Made by "claude-print serve --install"; "claude-print serve --uninstall" removes it.';
const SUM = "# SHA-256 of what follows: ";

/**
 * Creates the units of a server that systemd starts at the first connection: a socket and its service.
 *
 * The service has no systemd sandbox, because a run may do everything that it may do in a shell. SIGTERM goes only to
 * the server's main process, which then finishes its turns.
 */
export function createUnits({ program, flags, env, umask }: UnitOptions): readonly UnitFile[] {
  const command = [...program, "serve", ...flags].map(quoteCommandWord).join(" ");
  const variables = Object.entries(env).map(([name, value]) =>
    `Environment=${quoteWord(`${name}=${value}`)}`
  );
  const socket = `[Unit]
Description=Socket of claude-print's server

[Socket]
ListenStream=%t/claude-print/run.sock
FileDescriptorName=${SOCKET_NAME}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`;
  const service = `[Unit]
Description=claude-print's server, which keeps Claude Code warm
Documentation=man:claude-print(1)

[Service]
ExecStart=${command}
${variables.map((line) => `${line}\n`).join("")}UMask=${umask.toString(8).padStart(4, "0")}
NonBlocking=yes
KillMode=mixed
TimeoutStopSec=${DRAIN_SECONDS}

[Install]
WantedBy=default.target
Also=claude-print.socket
`;
  return [
    { name: "claude-print.socket", text: addMark(socket) },
    { name: "claude-print.service", text: addMark(service) },
  ];
}

/** Whether a text is a unit that any version of this program wrote, unchanged since. */
export function isOurUnit(text: string): boolean {
  const [mark, sum, ...rest] = text.split("\n");
  return mark === MARK && sum === `${SUM}${checksum(rest.join("\n"))}`;
}

function addMark(text: string): string {
  return `${MARK}\n${SUM}${checksum(text)}\n${text}`;
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Quotes a word of a command line of systemd, where `$` begins a variable. */
function quoteCommandWord(word: string): string {
  return quoteWord(word.replaceAll("$", "$$$$"));
}

/** Quotes a word of a unit; see systemd.syntax(7) and systemd.unit(5). */
function quoteWord(word: string): string {
  const escaped = word.replace(
    /["\\%]|\p{Cc}/gu,
    (character) =>
      character === "%"
        ? "%%"
        : character === '"' || character === "\\"
        ? `\\${character}`
        : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}

/** The maximum size of a unit, in bytes. */
const MAX_UNIT_BYTES = 1_000_000;

const DROP_IN_COMMAND = "systemctl --user edit claude-print.service";

/**
 * The folder of this user's units; see systemd.unit(5).
 *
 * @throws {CliError} when HOME is not set
 */
export function findUnitFolder(env: Environment): string {
  const { XDG_CONFIG_HOME: config = "", HOME: home = "" } = env;
  if (config.startsWith("/")) return `${config}/systemd/user`;
  if (home.startsWith("/")) return `${home}/.config/systemd/user`;
  throw new CliError("Cannot tell where units of systemd go: HOME is not set", {
    suggestion: "Set HOME to your home directory",
  });
}

/**
 * Writes units, and replaces units that were written before.
 *
 * @returns the paths
 * @throws {CliError} when a path has a foreign file, or cannot be written; then nothing is changed
 */
export function installUnits(folder: string, units: readonly UnitFile[]): readonly string[] {
  const files = units.map(({ name, text }) => ({ path: `${folder}/${name}`, text }));
  for (const { path } of files) inspectUnit(path, "install the server");
  const unfinished: string[] = [];
  try {
    Deno.mkdirSync(folder, { recursive: true });
    for (const { path, text } of files) {
      const temporary = `${path}.${crypto.randomUUID()}`;
      unfinished.push(temporary);
      Deno.writeTextFileSync(temporary, text, { createNew: true, mode: 0o644 });
    }
    for (const [at, { path }] of files.entries()) Deno.renameSync(unfinished[at] as string, path);
  } catch (error) {
    for (const path of unfinished) tryRemove(path);
    throw new CliError(`Cannot install the server: ${(error as Error).message}`, {
      suggestion: "Set XDG_CONFIG_HOME to a folder that you may write to",
      cause: error,
    });
  }
  return files.map(({ path }) => path);
}

/**
 * Removes units that `installUnits` wrote, and the links of `systemctl enable` to them.
 *
 * @returns the paths of the removed units
 * @throws {CliError} when a path has a foreign file, or cannot be removed
 */
export function uninstallUnits(folder: string, names: readonly string[]): readonly string[] {
  const paths = names.map((name) => `${folder}/${name}`)
    .filter((path) => inspectUnit(path, "uninstall the server") === "ours");
  for (const path of paths) {
    try {
      for (const link of findLinks(path)) Deno.removeSync(link);
      Deno.removeSync(path);
    } catch (error) {
      throw new CliError(`Cannot uninstall the server: ${(error as Error).message}`, {
        suggestion: `Remove ${path} by hand`,
        cause: error,
      });
    }
  }
  return paths;
}

/** The links of `systemctl enable` to a unit. */
function findLinks(path: string): readonly string[] {
  const folder = parentOf(path);
  return namesIn(folder).filter((name) => name.endsWith(".wants"))
    .map((name) => `${folder}/${name}${path.slice(folder.length)}`)
    .filter((link) => isLinkTo(link, path));
}

function isLinkTo(link: string, path: string): boolean {
  try {
    return wholePath(Deno.readLinkSync(link), parentOf(link)) === path;
  } catch {
    return false;
  }
}

/** @throws {CliError} when the file at the path is no unit of this program */
function inspectUnit(path: string, action: string): "ours" | "nothing" {
  const foreign = (why: string, cause?: unknown) =>
    new CliError(`Cannot ${action}: "${path}" ${why}`, {
      suggestion:
        `Move it away; what you want otherwise goes into a file beside it: ${DROP_IN_COMMAND}`,
      cause,
    });
  try {
    // The user made the link, so it is not replaced.
    if (Deno.lstatSync(path).isSymlink) throw foreign("is a link");
    const text = new TextDecoder().decode(readRegularFile(path, { limit: MAX_UNIT_BYTES }));
    if (isOurUnit(text)) return "ours";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return "nothing";
    }
    if (error instanceof UnfitFileError) throw foreign(`cannot be read: ${error.reason}`, error);
    throw error;
  }
  throw foreign("was written or changed by somebody else");
}

/** The first descriptor that systemd passes; see sd_listen_fds(3). */
const FIRST_FD = 3;

/**
 * The descriptor of the listening socket that systemd has passed to this process; undefined without one.
 *
 * `LISTEN_PID` names the process that systemd started: children that inherit the variables ignore them.
 *
 * @throws {CliError} when the descriptor is no listening Unix socket
 */
export function takeInheritedSocket(
  env: Environment,
  { pid, isListener = isUnixListener }: {
    readonly pid: number;
    readonly isListener?: (fd: number) => boolean;
  },
): number | undefined {
  if (env["LISTEN_PID"] !== `${pid}`) return undefined;
  const names = (env["LISTEN_FDNAMES"] ?? "").split(":");
  const count = Number(env["LISTEN_FDS"]);
  const at = names.indexOf(SOCKET_NAME);
  if (at === -1 || !(at < count)) return undefined;
  const fd = FIRST_FD + at;
  if (isListener(fd)) return fd;
  throw new CliError(
    `Cannot start the server: descriptor ${fd} of LISTEN_FDS is no Unix socket that is listened on`,
    { suggestion: "Write the units anew: claude-print serve --install; or unset LISTEN_PID" },
  );
}
