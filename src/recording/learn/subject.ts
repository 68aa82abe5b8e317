import {
  closedEnvironment,
  dummyLogin,
  onboardedUser,
  shortTemporaryFolder,
  writePrivateJson,
} from "./throwaway_home.ts";
import { killRunProcesses } from "../../sandbox/run_processes.ts";
import { askVersion } from "../../claude/program/claude_version.ts";
import { CliError } from "../../cli_error.ts";
import { type LoggedRequest, type MessagesApiOptions, startMessagesApi } from "./messages_api.ts";

/** The Claude Code that is measured. */
export interface Subject {
  readonly version: string;
  /** Path of its executable. */
  readonly binary: string;
  /** Its source text, for facts that no run shows. */
  readonly program: ProgramText;
  /** Aborts the measurement: its processes are killed and its files removed. */
  readonly signal: AbortSignal;
  /** A private folder, removed when the subject is disposed. */
  readonly folder: string;
}

/** Where a login comes from: a subscription, a key in the environment, or nowhere. */
export type Login = "subscription" | "api-key" | "none";

/** The differences from the usual scene. */
export interface SceneOptions {
  /** A subscription by default. */
  readonly login?: Login;
  /** Whether Claude Code trusts the project; true by default. */
  readonly trusted?: boolean;
  /** Files of the project, by their paths from it. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files of the config folder `~/.claude`, by their paths from it. */
  readonly configFiles?: Readonly<Record<string, string>>;
  /** More keys for `.claude.json`. */
  readonly claudeJson?: Readonly<Record<string, unknown>>;
  readonly api?: MessagesApiOptions;
  /** More variables; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * A throw-away home with a scripted Messages API on loopback, for one measurement. Disposing it kills its processes.
 */
export interface Scene extends AsyncDisposable {
  /** HOME. */
  readonly path: string;
  /** `CLAUDE_CONFIG_DIR`. */
  readonly config: string;
  /** The folder to work in. */
  readonly project: string;
  /** TMPDIR. */
  readonly tmp: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The requests to the API so far. */
  readonly requests: readonly LoggedRequest[];
  readonly apiUrl: string;
  /** Kills every process of the scene, including those in other sessions. */
  readonly kill: () => void;
}

/** Names of measurement folders. The pid shows whether their process still runs. */
const FOLDER = /^cp-learn-(\d+)-[\da-f]{8}$/u;

/**
 * Reduces compilation and garbage collection in Claude Code's runtime. They pay off after minutes, and take a third
 * of a short run.
 */
const SHORT_LIVED = {
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "5000",
  BUN_JSC_useGC: "0",
};

/**
 * Programs that are replaced by a failing one. `dpkg` finds out who installed Claude Code, which takes time; the
 * others open a browser.
 */
const FAILING = ["dpkg", "xdg-open", "open", "wslview"];

/**
 * Opens an executable of Claude Code for measurement.
 *
 * @throws {CliError} if it does not print a version
 */
export async function openSubject(
  binary: string,
  { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
): Promise<Subject & AsyncDisposable> {
  await removeStaleFolders();
  const path = `${shortTemporaryFolder()}/cp-learn-${Deno.pid}-${crypto.randomUUID().slice(0, 8)}`;
  await Deno.mkdir(path, { mode: 0o700 });
  const folder = await Deno.realPath(path);
  const remove = () => Deno.remove(folder, { recursive: true });
  try {
    await Deno.mkdir(`${folder}/bin`);
    for (const name of FAILING) await Deno.symlink("/bin/false", `${folder}/bin/${name}`);
    const env = closedEnvironment({ path: folder, tmp: folder });
    const version = await askVersion(binary, env, { cwd: folder });
    const plain = /^\d+\.\d+\.\d+/u.exec(version ?? "")?.[0];
    if (plain === undefined) {
      throw new CliError(`Cannot learn from ${binary}: it does not say its version`, {
        suggestion: "Name the executable of Claude Code with --claude-binary",
      });
    }
    const program = await readProgramText(binary, { signal });
    return { version: plain, binary, program, signal, folder, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Removes folders of measurements whose process is gone. */
async function removeStaleFolders(): Promise<void> {
  const folder = shortTemporaryFolder();
  for await (const { name } of Deno.readDir(folder)) {
    const [, pid] = FOLDER.exec(name) ?? [];
    if (pid === undefined) continue;
    if (await Deno.lstat(`/proc/${pid}`).then(() => true, () => false)) continue;
    // Fails for folders of other users.
    await Deno.remove(`${folder}/${name}`, { recursive: true }).catch(() => {});
  }
}

export async function openScene(subject: Subject, options: SceneOptions = {}): Promise<Scene> {
  subject.signal.throwIfAborted();
  const { login = "subscription", trusted = true } = options;
  const path = await Deno.makeTempDir({ dir: subject.folder, prefix: "" });
  const [config, project, tmp] = [`${path}/.claude`, `${path}/project`, `${path}/tmp`];
  const api = startMessagesApi(options.api);
  const env = Object.entries({
    ...closedEnvironment({ path, tmp }),
    ...SHORT_LIVED,
    BROWSER: "/bin/false",
    CLAUDE_CONFIG_DIR: config,
    ANTHROPIC_BASE_URL: api.url,
    ...(login === "api-key" ? { ANTHROPIC_API_KEY: "sk-ant-api03-throwaway" } : {}),
    ...options.env,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { oauthAccount, ...user } = onboardedUser();
  await Deno.mkdir(config, { mode: 0o700 });
  await Promise.all([
    Deno.mkdir(project),
    Deno.mkdir(tmp, { mode: 0o700 }),
    writePrivateJson(`${config}/.claude.json`, {
      ...user,
      ...(login === "subscription" ? { oauthAccount } : {}),
      ...(trusted ? { projects: { [project]: { hasTrustDialogAccepted: true } } } : {}),
      ...options.claudeJson,
    }),
  ]);
  if (login === "subscription") {
    await writePrivateJson(`${config}/.credentials.json`, dummyLogin());
  }
  await writeFiles(project, options.files ?? {});
  await writeFiles(config, options.configFiles ?? {});
  const kill = () => killRunProcesses({ configDir: config });
  subject.signal.addEventListener("abort", kill);
  return {
    path,
    config,
    project,
    tmp,
    env: {
      ...Object.fromEntries(env),
      PATH: `${subject.folder}/bin:${Object.fromEntries(env).PATH}`,
    },
    requests: api.requests,
    apiUrl: api.url,
    kill,
    async [Symbol.asyncDispose]() {
      subject.signal.removeEventListener("abort", kill);
      kill();
      await api[Symbol.asyncDispose]();
      await Deno.remove(path, { recursive: true });
    },
  };
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text, text.startsWith("#!") ? { mode: 0o755 } : {});
  }
}

/** The text of a program. The executable of Claude Code has its bundled source. */
export interface ProgramText {
  /** Whether the program has a text. */
  readonly has: (text: string) => boolean;
  /** Whether the program has a text as a complete word. */
  readonly hasWord: (word: string) => boolean;
  /** All places that a pattern with the flag `g` matches. */
  readonly matches: (pattern: RegExp) => readonly RegExpExecArray[];
}

/**
 * Bytes of one block of an executable. A block is text or machine code as a whole: the source is tens of megabytes in
 * one piece.
 */
const BLOCK = 65_536;
/** The distance of the bytes that are tested, and the share of them that must be readable in a block of text. */
const STEP = 16;
const READABLE = 0.9;

/** Reads the text blocks of an executable: of 400 MB some 80 MB (2.1.332). */
export async function readProgramText(
  path: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ProgramText> {
  const decoder = new TextDecoder();
  const block = new Uint8Array(BLOCK);
  let text = "";
  using file = await Deno.open(path);
  for (let count = await fill(file, block); count > 0; count = await fill(file, block)) {
    signal?.throwIfAborted();
    const bytes = block.subarray(0, count);
    if (isText(bytes)) text += decoder.decode(bytes, { stream: true });
  }
  return textOfProgram(text);
}

/** Returns the same functions as `readProgramText`, for a text that is in memory. */
export function textOfProgram(text: string): ProgramText {
  return {
    has: (part) => text.includes(part),
    hasWord: (word) => new RegExp(`\\b${word}\\b`, "u").test(text),
    matches: (pattern) => [...text.matchAll(pattern)],
  };
}

async function fill(file: Deno.FsFile, block: Uint8Array): Promise<number> {
  let filled = 0;
  while (filled < block.length) {
    const count = await file.read(block.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return filled;
}

function isText(bytes: Uint8Array): boolean {
  let readable = 0;
  let seen = 0;
  for (let index = 0; index < bytes.length; index += STEP) {
    const byte = bytes[index] ?? 0;
    seen++;
    if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09) readable++;
  }
  return readable > READABLE * seen;
}
