import {
  closedEnvironment,
  dummyLogin,
  onboardedUser,
  shortTemporaryFolder,
  writePrivateJson,
} from "./throwaway_home.ts";
import { killRunProcesses } from "../../sandbox/processes/run_processes.ts";
import { askVersion } from "../../claude/program/ask_version.ts";
import { CliError } from "../../cli_error.ts";
import { type LoggedRequest, type MessagesApiOptions, startMessagesApi } from "./messages_api.ts";

/** A Claude Code that is measured. */
export interface Subject {
  readonly version: string;
  /** Path of its executable. */
  readonly binary: string;
  /** Its texts, for what no run shows. */
  readonly program: ProgramText;
  /** Aborts when the measurement is to stop: everything that was started ends, and everything that was made goes. */
  readonly signal: AbortSignal;
  /** A private folder, removed with all that is in it when the subject is disposed. */
  readonly folder: string;
}

/** Where a login comes from: a subscription, a key in the environment, or nowhere. */
export type Login = "subscription" | "api-key" | "none";

/** What is unusual about the place of one measurement. */
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

/** A throw-away home with a scripted Messages API on loopback, for one measurement. Disposing it ends what runs in it. */
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
  /** What reached the API so far. */
  readonly requests: readonly LoggedRequest[];
  readonly apiUrl: string;
  /** Kills every process of the scene, those in sessions of their own too. */
  readonly kill: () => void;
}

/** Folders of measurements are called by the process that makes them, so that those of killed ones can be removed. */
const FOLDER = /^cp-learn-(\d+)-[\da-f]{8}$/u;

/**
 * Lets Claude Code's runtime compile little and collect no garbage: the rest pays off after minutes, and costs a short run
 * a third of its time.
 */
const SHORT_LIVED = {
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "5000",
  BUN_JSC_useGC: "0",
};

/** Programs that fail at once: one is asked who has installed Claude Code, which takes time; the others open a browser. */
const FAILING = ["dpkg", "xdg-open", "open", "wslview"];

/**
 * Makes a subject of an executable. Its folder is gone when it is disposed.
 *
 * @throws {CliError} if the executable does not say which version of Claude Code it is
 */
export async function openSubject(
  binary: string,
  { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
): Promise<Subject & AsyncDisposable> {
  await sweep();
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
async function sweep(): Promise<void> {
  const folder = shortTemporaryFolder();
  for await (const { name } of Deno.readDir(folder)) {
    const [, pid] = FOLDER.exec(name) ?? [];
    if (pid === undefined) continue;
    if (await Deno.lstat(`/proc/${pid}`).then(() => true, () => false)) continue;
    // The folder of another user stays.
    await Deno.remove(`${folder}/${name}`, { recursive: true }).catch(() => {});
  }
}

/** Makes the place of one measurement. */
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

/** The texts of a program: the source of Claude Code stands in its executable as it was bundled. */
export interface ProgramText {
  /** Whether a text stands in the program literally. */
  readonly has: (text: string) => boolean;
  /** Whether it stands there as a word, and not within a longer name. */
  readonly hasWord: (word: string) => boolean;
  /** All places that a pattern with the flag `g` matches. */
  readonly matches: (pattern: RegExp) => readonly RegExpExecArray[];
}

/** An executable is read and judged in blocks: its source is tens of megabytes in one piece, machine code has no such piece. */
const BLOCK = 65_536;
/** Every which byte of a block is looked at, and the share of them that has to be readable. */
const STEP = 16;
const READABLE = 0.9;

/** Reads those blocks of an executable that are text: of 400 MB some 80 (2.1.332). */
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

/** The same of a text. */
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
