import { framesOn } from "../../recording/cassette/cassette_format.ts";
import type { FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { openCassette } from "../../recording/cassette/read/open_cassette.ts";
import { CliError } from "../../cli_error.ts";
import {
  compareWithRecording,
  type RecordedPrompts,
  repeatablePrompts,
  type RepeatedRun,
} from "../../recording/drift/repeated_run.ts";
import type { Findings } from "../../recording/drift/findings.ts";
import type { JsonObject } from "../../json_object.ts";
import { record } from "../../library/recordings.ts";
import { run } from "../../library/run.ts";
import type { RunResult } from "../../library/run_output.ts";
import { openApiCassette } from "../../recording/relay/api_cassette.ts";
import { apiFolder, laterChildOf } from "../../recording/relay/exchange_folder.ts";
import { startRelay } from "../../recording/relay/relay_server.ts";
import { FIRST_PARTY, relayVariables } from "../../run/plan/api_variables.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import { askVersion, refuseOldVersion } from "../../claude/program/claude_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { fetchRelease, isVersion } from "../../claude/program/releases.ts";
import { definedFields } from "../../defined_fields.ts";

export interface AgainOptions {
  readonly claude: ComparedClaude;
  /** The tools that Claude Code may run. */
  readonly allowed: readonly string[];
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** Time limit of a turn, in seconds; 300 by default. */
  readonly timeoutS?: number;
}

export interface RunAgain {
  /** The new recordings, each with the cassette that was repeated. */
  readonly recorded: ReadonlyMap<string, string>;
  /** The cassettes that were not repeated, with the reasons. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
}

/** A URL on which no program listens, so that all other requests fail. */
const CLOSED_PORT_URL = "http://127.0.0.1:1";
/** A key for Claude Code, which requires a login. The relay checks no key. */
const PLACEHOLDER_KEY = "no-key-is-needed-offline";
/** Time limit of a turn, in seconds. The relay answers every request immediately. */
const TIMEOUT_S = 300;
/** Requests to the model. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;

/**
 * Repeats cassettes with a Claude Code, and adds its differences from the recordings to the findings.
 *
 * @param options.folder a folder for the new recordings and for the homes of the runs
 */
export async function runAgain(
  cassettes: readonly FoundCassette[],
  { folder, findings, ...options }: AgainOptions & {
    readonly folder: string;
    readonly findings: Findings;
  },
): Promise<RunAgain> {
  const recorded = new Map<string, string>();
  const skipped: { path: string; why: string }[] = [];
  for (const [index, cassette] of cassettes.entries()) {
    const home = `${folder}/${index}`;
    const ran = await runCassetteAgain(cassette, { ...options, home });
    const { path } = cassette;
    if ("why" in ran) {
      skipped.push({ path, why: ran.why });
      continue;
    }
    const { again, target } = ran;
    if (again.problem === undefined) recorded.set(target, path);
    for (const found of compareWithRecording(ran.frames, again)) {
      findings.add(found, { place: { path, line: 0 } });
    }
  }
  return { recorded, skipped };
}

export interface RanAgain {
  /** The recorded frames. */
  readonly frames: readonly JsonObject[];
  /** The repetition. */
  readonly again: RepeatedRun;
  /** The cassette of the repetition. */
  readonly target: string;
}

/**
 * Sends the prompts of a cassette again to a Claude Code. The recorded API answers. The run is offline, has its own
 * home and project folder, and runs only allowed tools.
 *
 * @param options.home the folder to create for the run
 * @returns why the cassette cannot be repeated, if it cannot
 * @throws the reason of the signal
 */
export async function runCassetteAgain(
  { kind, path }: FoundCassette,
  options: AgainOptions & { readonly home: string },
): Promise<RanAgain | { readonly why: string }> {
  const { allowed, home, signal } = options;
  signal.throwIfAborted();
  if (kind === "tape") return { why: "a tape alone has no API that answers" };
  let cassette: ReturnType<typeof openCassette>;
  let api: ReturnType<typeof openApiCassette>;
  let missed: string | undefined;
  try {
    cassette = openCassette(path);
    api = openApiCassette({
      folder: apiFolder(path),
      asked: recordedTimeSpan(path, cassette),
      match: "sequence",
      ignored: [],
      speed: 0,
      faults: new Map(),
      redact: (text) => text,
      openFrom: () => Infinity,
      tell: (line) => missed ??= line,
    });
  } catch (error) {
    if (error instanceof CliError) return { why: error.message };
    throw error;
  }
  if (api.stats().exchanges === 0) return { why: "it has no api/ with answers" };
  const talk = repeatablePrompts(cassette, { allowed });
  if ("why" in talk) return talk;
  const requests: JsonObject[] = [];
  let misses = 0;
  using relay = startRelay({
    answer: async (request, gone) => {
      const isOfModel = MODEL_REQUEST.test(request.path);
      if (isOfModel) requests.push(parseJsonObject(new TextDecoder().decode(request.body)) ?? {});
      const answer = await api.answer(request, gone);
      if (answer.status === 503 && isOfModel) misses++;
      return answer;
    },
  });
  const target = `${home}/cassette`;
  await Deno.mkdir(`${home}/project`, { recursive: true });
  const frames = framesOn(cassette.tape).map(({ frame }) => frame);
  try {
    const ended = await repeatPrompts(talk, { ...options, target, url: relay.url });
    signal.throwIfAborted();
    const now = framesOn(openCassette(target).tape).map(({ frame }) => frame);
    const lacking = misses === 0 ? {} : { missed: missed ?? `${misses} requests are not recorded` };
    return { frames, target, again: { ...ended, frames: now, requests, ...lacking } };
  } catch (error) {
    signal.throwIfAborted();
    const problem = error instanceof Error ? error.message : String(error);
    return { frames, target, again: { frames: [], exitCode: 2, requests, problem } };
  }
}

/**
 * Returns when the child of a cassette sent its requests. The exchanges of all children of a conversation are in one folder,
 * and each child starts when the previous one has ended.
 */
function recordedTimeSpan(path: string, { cast }: Pick<ReturnType<typeof openCassette>, "cast">) {
  const startOf = ({ header }: typeof cast) => header.claude_print.conversation.frames.startedAt;
  const further = laterChildOf(path);
  const next = further === undefined ? `${path}/2` : `${further.first}/${further.number + 1}`;
  let until = Infinity;
  try {
    until = startOf(openCassette(next).cast);
  } catch (error) {
    // There is no later child.
    if (!(error instanceof CliError)) throw error;
  }
  return { from: further === undefined ? 0 : startOf(cast), until };
}

/** Sends the recorded prompts, records the run, and returns how it or its last turn ended. */
async function repeatPrompts(
  { prompts, isConversation, model, maxTurns, hasKey }: RecordedPrompts,
  { claude, allowed, env, home, target, url, signal, timeoutS = TIMEOUT_S }: AgainOptions & {
    readonly home: string;
    readonly target: string;
    readonly url: string;
  },
): Promise<Pick<RepeatedRun, "exitCode" | "failure">> {
  const { PATH = "/usr/bin:/bin", TMPDIR, DENO_DIR } = env;
  const options = {
    cwd: `${home}/project`,
    signal,
    env: {
      PATH,
      HOME: home,
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      ...definedFields({ TMPDIR, DENO_DIR }),
      ...(hasKey
        ? { ANTHROPIC_API_KEY: PLACEHOLDER_KEY }
        : { ANTHROPIC_AUTH_TOKEN: PLACEHOLDER_KEY }),
      ...relayVariables({ url: new URL(FIRST_PARTY), isFirstParty: true, env: {} }, url),
      HTTP_PROXY: CLOSED_PORT_URL,
      HTTPS_PROXY: CLOSED_PORT_URL,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
    },
    args: [
      `--claude-binary=${claude.binary}`,
      `--timeout=${timeoutS}`,
      // Another user may have put project settings and MCP servers into a parent of the temporary folder.
      "--setting-sources=user",
      "--strict-mcp-config",
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(maxTurns === undefined ? [] : [`--max-turns=${maxTurns}`]),
      ...(allowed.length === 0 ? [] : [`--allowedTools=${allowed.join(",")}`]),
    ],
  };
  if (!isConversation) {
    const args = [...options.args, `--record=${target}`];
    return runEnd(await run(prompts[0] ?? "", { ...options, args }).result);
  }
  await using conversation = record(target, options);
  let end: Pick<RepeatedRun, "exitCode" | "failure"> = { exitCode: 0 };
  for (const prompt of prompts) end = runEnd(await conversation.send(prompt).result);
  await conversation.close();
  return end;
}

function runEnd({ exitCode, problem }: RunResult): Pick<RepeatedRun, "exitCode" | "failure"> {
  return problem === undefined ? { exitCode } : { exitCode, failure: problem.message };
}

/** A Claude Code that is compared with recordings. */
export interface ComparedClaude {
  readonly binary: string;
  readonly version: string;
}

/**
 * Finds or downloads the Claude Code that a version, `latest` or a path names. Disposing it removes a download.
 *
 * @param options.signal aborts a download
 * @throws {CliError} when it does not exist, is no Claude Code, or is too old
 */
export async function findComparedClaude(
  against: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Promise<ComparedClaude & Disposable> {
  const tooOld = { suggestion: "Give --against a newer version" };
  if (against === "latest" || isVersion(against)) {
    if (against !== "latest") refuseOldVersion(against, tooOld);
    return await fetchRelease(against, { env, signal });
  }
  const binary = findClaude({ named: against, env, cwd, flag: "--against" });
  const version = await askVersion(binary, env);
  if (version === undefined) {
    throw new CliError(
      `Cannot run the recordings against ${against}: ${binary} is no Claude Code`,
      { suggestion: "Name a version such as 2.1.330, or the path of Claude Code's executable" },
    );
  }
  refuseOldVersion(version, tooOld);
  return { binary, version, [Symbol.dispose]: () => {} };
}
