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

/** Variables that name a file descriptor from which a credential is read. */
const DESCRIPTOR_VARIABLES = [
  "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
  "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
  "CLAUDE_CODE_GATEWAY_TOKEN_FILE_DESCRIPTOR",
] as const;

/** A credential from a descriptor of the caller. */
export interface PassedCredential {
  readonly variable: string;
  readonly fd: number;
  readonly secret: string;
}

/** The maximum length of a credential, in bytes. A pipe holds more. */
const LIMIT = 16 * 1024;
/** How long the caller may take to write a credential, in milliseconds. */
const PATIENCE_MS = 5000;

/** The credentials that this process has read, by descriptor. A pipe can be read only once. */
const read = new Map<number, Promise<string>>();
const known = new Map<string, PassedCredential>();

/** Whether an environment names a descriptor. */
export function passesCredentials(env: Environment): boolean {
  return DESCRIPTOR_VARIABLES.some((name) => (env[name] ?? "") !== "");
}

/**
 * Reads the credentials from the caller's descriptors, each once per process. Only descriptors that the process inherited
 * are read.
 *
 * @throws {CliError} if a credential does not arrive in time
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
  // Programs that this process starts inherit an empty pipe.
  replaceWithPipe(fd, new Uint8Array());
  return new TextDecoder().decode(bytes).trim();
}

/** Returns an environment whose variables hold the secrets in place of their descriptors, for redaction. */
export function replaceDescriptors(env: Environment): Environment {
  if (known.size === 0) return env;
  return { ...env, ...Object.fromEntries([...known].map(([name, { secret }]) => [name, secret])) };
}

/** The first descriptor after the standard streams. */
const FIRST_FD = 3;

/** Returns the variables for a child that inherits the credentials on descriptors from 3 on. */
export function descriptorVariables(credentials: readonly PassedCredential[]): Environment {
  return Object.fromEntries(
    credentials.map(({ variable }, index) => [variable, `${FIRST_FD + index}`]),
  );
}

/** Creates a pipe for each credential. */
export function createCredentialPipes(credentials: readonly PassedCredential[]): readonly Pipe[] {
  return credentials.map(({ secret }) => filledPipe(new TextEncoder().encode(secret)));
}

/** Starts a program that inherits this process's descriptors, with the credentials on the caller's descriptors. */
export function startWithCredentials<Started>(start: () => Started): Started {
  restoreCredentials();
  try {
    return start();
  } finally {
    for (const { fd } of known.values()) replaceWithPipe(fd, new Uint8Array());
  }
}

/** Fills the caller's descriptors with the credentials again. */
export function restoreCredentials(): void {
  for (const { fd, secret } of known.values()) {
    replaceWithPipe(fd, new TextEncoder().encode(secret));
  }
}
