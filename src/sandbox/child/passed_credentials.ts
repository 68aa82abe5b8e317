import {
  filledPipe,
  isInherited,
  readInheritedLine,
  replaceWithPipe,
} from "../../../ffi/processes/inherited_fd.ts";
import type { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../environment.ts";

/** The variables by which a caller passes a credential on a file descriptor. */
const DESCRIPTOR_VARIABLES = [
  "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
  "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
  "CLAUDE_CODE_GATEWAY_TOKEN_FILE_DESCRIPTOR",
] as const;

/** A credential that the caller has passed on a descriptor. */
export interface PassedCredential {
  readonly variable: string;
  readonly fd: number;
  readonly secret: string;
}

/** The longest credential, in bytes: less than a pipe holds. */
const LIMIT = 16 * 1024;
/** How long the caller may take to write a credential, in milliseconds. */
const PATIENCE_MS = 5000;

/** What this process has read, by the descriptor: a pipe can be read once. */
const read = new Map<number, Promise<string>>();
const known = new Map<string, PassedCredential>();

/** Whether an environment names a descriptor, which is another one in each process. */
export function passesCredentials(env: Environment): boolean {
  return DESCRIPTOR_VARIABLES.some((name) => (env[name] ?? "") !== "");
}

/**
 * Reads the credentials that the caller has passed on descriptors; once in a process. Only descriptors that the process
 * was started with are read.
 *
 * @throws {CliError} when one does not come in time
 */
export async function readCredentials(env: Environment): Promise<readonly PassedCredential[]> {
  const all: PassedCredential[] = [];
  for (const variable of DESCRIPTOR_VARIABLES) {
    const fd = /^\d{1,9}$/u.test(env[variable] ?? "") ? Number(env[variable]) : -1;
    if (fd < 3 || !isInherited(fd)) continue;
    const reading = read.get(fd) ?? readSecret(fd, variable);
    read.set(fd, reading);
    const secret = await reading;
    if (secret === "") continue;
    const credential = { variable, fd, secret };
    known.set(variable, credential);
    all.push(credential);
  }
  return all;
}

async function readSecret(fd: number, variable: string): Promise<string> {
  const bytes = await readInheritedLine(fd, { limit: LIMIT, patienceMs: PATIENCE_MS })
    .catch((error: unknown) => {
      if (error instanceof LibcError) return new Uint8Array();
      throw error;
    });
  if (bytes === undefined) {
    throw new CliError(
      `Cannot read the credential of ${variable}: descriptor ${fd} did not end within ${
        PATIENCE_MS / 1000
      } s`,
      { suggestion: "Close the writing end once it is written, or end it with a line feed" },
    );
  }
  // Programs that this one starts find an empty pipe there.
  replaceWithPipe(fd, new Uint8Array());
  return new TextDecoder().decode(bytes).trim();
}

/** An environment in which each variable holds the secret, and not its descriptor: for what has to know all secrets. */
export function replaceDescriptors(env: Environment): Environment {
  if (known.size === 0) return env;
  return { ...env, ...Object.fromEntries([...known].map(([name, { secret }]) => [name, secret])) };
}

/** The first descriptor that a program has besides its standard streams. */
const FIRST_FD = 3;

/** The variables of a child that finds its credentials on descriptors of its own, in their order. */
export function descriptorVariables(credentials: readonly PassedCredential[]): Environment {
  return Object.fromEntries(
    credentials.map(({ variable }, index) => [variable, `${FIRST_FD + index}`]),
  );
}

/** A pipe for each credential, which a child reads once. */
export function createCredentialPipes(credentials: readonly PassedCredential[]): readonly Pipe[] {
  return credentials.map(({ secret }) => filledPipe(new TextEncoder().encode(secret)));
}

/** Starts a program that inherits the descriptors of this one, with the credentials on those where the caller had them. */
export function startWithCredentials<Started>(start: () => Started): Started {
  restoreCredentials();
  try {
    return start();
  } finally {
    for (const { fd } of known.values()) replaceWithPipe(fd, new Uint8Array());
  }
}

/** Puts the credentials back where the caller had them. */
export function restoreCredentials(): void {
  for (const { fd, secret } of known.values()) {
    replaceWithPipe(fd, new TextEncoder().encode(secret));
  }
}
