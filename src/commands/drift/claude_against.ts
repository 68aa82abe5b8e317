import { endOfProgram } from "../../../ffi/processes/end_of_program.ts";
import { findClaude } from "../../claude/find_claude.ts";
import { askVersion } from "../../claude/ask_version.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** A Claude Code that recordings are held against. */
export interface ClaudeAgainst {
  readonly binary: string;
  readonly version: string;
}

/** What is no path and no name of a program. */
const VERSION = /^(?:latest|\d+\.\d+\.\d+(?:-[\w.-]+)?)$/u;
/** The name that npm's packages have for this machine. */
const ARCH = Deno.build.arch === "aarch64" ? "arm64" : "x64";

/**
 * The Claude Code that a version or a path names. A version is that which Claude Code's own installer has put below the
 * home, or else it comes from npm.
 *
 * @param options.folder an empty folder, for what is downloaded
 * @param options.signal ends a download once it is aborted
 * @throws {CliError} when it is not there, or is no Claude Code
 */
export async function claudeAgainst(
  against: string,
  { env, cwd, folder, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly folder: string;
    readonly signal?: AbortSignal;
  },
): Promise<ClaudeAgainst> {
  const isVersion = VERSION.test(against);
  const binary = isVersion
    ? installed(against, env) ?? await download(against, { env, folder, signal })
    : findClaude({ named: against, env, cwd, flag: "--against" });
  const version = await askVersion(binary, env);
  if (version === undefined || (isVersion && against !== "latest" && version !== against)) {
    throw new CliError(
      `Cannot run the recordings against ${against}: ${binary} is ${
        version === undefined ? "no Claude Code" : `version ${version}`
      }`,
      { suggestion: "Name a version such as 2.1.330, or the path of Claude Code's executable" },
    );
  }
  return { binary, version };
}

function installed(version: string, { HOME, XDG_DATA_HOME }: Environment): string | undefined {
  const data = XDG_DATA_HOME || (HOME && `${HOME}/.local/share`);
  const path = `${data}/claude/versions/${version}`;
  try {
    return data && Deno.statSync(path).isFile ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first thing that npm says beside the names of the error. */
function reasonIn(stderr: string): string | undefined {
  return stderr.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/u, "").trim())
    .find((line) => line !== "" && !/^(?:code|errno|syscall) /u.test(line))?.slice(0, 500);
}

async function download(
  version: string,
  { env, folder, signal }: {
    readonly env: Environment;
    readonly folder: string;
    readonly signal: AbortSignal | undefined;
  },
): Promise<string> {
  const name = `@anthropic-ai/claude-code-linux-${ARCH}`;
  const failed = (why: string, cause?: unknown) =>
    new CliError(`Cannot get Claude Code ${version} from npm: ${why}`, {
      suggestion: "Install it yourself, and give --against the path of its executable",
      cause,
    });
  let output: Deno.CommandOutput;
  try {
    output = await endOfProgram("npm", {
      // Nothing of it is run but the program itself.
      args: [
        ...["install", "--prefix", folder, "--ignore-scripts", "--no-save", "--no-audit"],
        ...["--no-fund", "--no-package-lock", "--loglevel=error", `${name}@${version}`],
      ],
      cwd: folder,
      env,
      signal,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw failed(
      cause instanceof Deno.errors.NotFound ? "npm is not on PATH" : (cause as Error).message,
      cause,
    );
  }
  if (!output.success) {
    throw failed(
      reasonIn(new TextDecoder().decode(output.stderr)) ??
        `npm ended with exit code ${output.code}`,
    );
  }
  return `${folder}/node_modules/${name}/claude`;
}
