import { createHash } from "node:crypto";
import type { Environment } from "../sandbox/environment.ts";
import { namesIn } from "../../ffi/files/at_path.ts";
import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { parentOf } from "../sandbox/paths.ts";
import { wholePath } from "../whole_path.ts";
import { isUnixListener } from "../../ffi/descriptors/unix_socket.ts";

/** What a server is started with by systemd. */
export interface UnitOrder {
  /** This program as a command, a word each. */
  readonly program: readonly string[];
  /** Further flags of `serve`. */
  readonly flags: readonly string[];
  /** Variables that the server is given beside those of systemd. */
  readonly env: Environment;
  /** What is taken away from the permissions of new files. */
  readonly umask: number;
}

/** A file of systemd's user manager. */
interface UnitFile {
  readonly name: string;
  readonly text: string;
}

/** The name that systemd gives the inherited socket by; see sd_listen_fds_with_names(3). */
const SOCKET_NAME = "run";

/** How long a server may take to let its turns end, before systemd ends all of it, in seconds. */
const DRAIN_SECONDS = 120;

const MARK =
  '# Made by "claude-print serve --install"; "claude-print serve --uninstall" removes it.';
const SUM = "# SHA-256 of what follows: ";

/**
 * The units of a server that starts when somebody wants it: a socket, and the service behind it.
 *
 * The service has no sandbox of systemd's: what a run may do here is what it may do in a shell. SIGTERM goes to the
 * server alone, which then lets its turns end.
 */
export function unitFiles({ program, flags, env, umask }: UnitOrder): readonly UnitFile[] {
  const command = [...program, "serve", ...flags].map(commandWord).join(" ");
  const variables = Object.entries(env).map(([name, value]) =>
    `Environment=${quoted(`${name}=${value}`)}`
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
    { name: "claude-print.socket", text: marked(socket) },
    { name: "claude-print.service", text: marked(service) },
  ];
}

/** Whether a text is that of a unit as it was made here, by whatever version, and nobody has changed it since. */
export function isOurUnit(text: string): boolean {
  const [mark, sum, ...rest] = text.split("\n");
  return mark === MARK && sum === `${SUM}${sumOf(rest.join("\n"))}`;
}

function marked(text: string): string {
  return `${MARK}\n${SUM}${sumOf(text)}\n${text}`;
}

function sumOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A word of a command line of systemd's, which knows variables beside escapes and specifiers. */
function commandWord(word: string): string {
  return quoted(word.replaceAll("$", "$$$$"));
}

/** A word of a unit, as it is: see systemd.syntax(7) and systemd.unit(5). */
function quoted(word: string): string {
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

/** The largest unit that is looked at, in bytes. */
const LARGEST_UNIT = 1_000_000;

const DROP_IN = "systemctl --user edit claude-print.service";

/**
 * The folder of this user's own units; see systemd.unit(5).
 *
 * @throws {CliError} when no home is known
 */
export function unitFolder(env: Environment): string {
  const { XDG_CONFIG_HOME: config = "", HOME: home = "" } = env;
  if (config.startsWith("/")) return `${config}/systemd/user`;
  if (home.startsWith("/")) return `${home}/.config/systemd/user`;
  throw new CliError("Cannot tell where units of systemd go: HOME is not set", {
    suggestion: "Set HOME to your home directory",
  });
}

/**
 * Writes units in the place of those that were written before, if any.
 *
 * @returns the paths
 * @throws {CliError} when something else is in the place of one, or the folder cannot be written to; nothing is changed
 * then
 */
export function installUnits(folder: string, units: readonly UnitFile[]): readonly string[] {
  const files = units.map(({ name, text }) => ({ path: `${folder}/${name}`, text }));
  for (const { path } of files) refuseForeign(path, "install the server");
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
    for (const path of unfinished) removeIfThere(path);
    throw new CliError(`Cannot install the server: ${(error as Error).message}`, {
      suggestion: "Set XDG_CONFIG_HOME to a folder that you may write to",
      cause: error,
    });
  }
  return files.map(({ path }) => path);
}

/**
 * Removes units that were written by `installUnits`, and what `systemctl enable` has made of them.
 *
 * @returns the paths of those that were there
 * @throws {CliError} when something else is in the place of one, or it cannot be removed
 */
export function uninstallUnits(folder: string, names: readonly string[]): readonly string[] {
  const paths = names.map((name) => `${folder}/${name}`)
    .filter((path) => refuseForeign(path, "uninstall the server") === "ours");
  for (const path of paths) {
    try {
      for (const link of linksTo(path)) Deno.removeSync(link);
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

/** Where `systemctl enable` has linked a unit to. */
function linksTo(path: string): readonly string[] {
  const folder = parentOf(path);
  return namesIn(folder).filter((name) => name.endsWith(".wants"))
    .map((name) => `${folder}/${name}${path.slice(folder.length)}`)
    .filter((link) => leadsTo(link, path));
}

function leadsTo(link: string, path: string): boolean {
  try {
    return wholePath(Deno.readLinkSync(link), parentOf(link)) === path;
  } catch {
    return false;
  }
}

/** What is at a path: a unit that was written here, or nothing. */
function refuseForeign(path: string, action: string): "ours" | "nothing" {
  const foreign = (why: string, cause?: unknown) =>
    new CliError(`Cannot ${action}: "${path}" ${why}`, {
      suggestion: `Move it away; what you want otherwise goes into a file beside it: ${DROP_IN}`,
      cause,
    });
  try {
    // A link of somebody's is not replaced, whatever it leads to.
    if (Deno.lstatSync(path).isSymlink) throw foreign("is a link");
    const text = new TextDecoder().decode(readRegularFile(path, { limit: LARGEST_UNIT }));
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

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It was renamed, or never written.
  }
}

/** The first descriptor that systemd hands over; see sd_listen_fds(3). */
const FIRST_FD = 3;

/**
 * The listening socket that systemd has handed this process, by its descriptor; undefined without one.
 *
 * What is meant for another process, as it is for a child that has inherited the variables, is not for this one.
 *
 * @throws {CliError} when the descriptor is no such socket
 */
export function inheritedSocket(
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
