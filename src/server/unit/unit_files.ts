import { createHash } from "node:crypto";
import type { Environment } from "../../sandbox/environment.ts";

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
export interface UnitFile {
  readonly name: string;
  readonly text: string;
}

/** The name that systemd gives the inherited socket by; see sd_listen_fds_with_names(3). */
export const SOCKET_NAME = "run";

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
