import { framesOn } from "../../cassette/cassette.ts";
import type { FoundCassette } from "../../cassette/read/find_cassettes.ts";
import { openCassette } from "../../cassette/read/open_cassette.ts";
import { CliError } from "../../cli_error.ts";
import { compareTalks } from "../../drift/again/compare_talks.ts";
import { type RecordedTalk, recordedTalk } from "../../drift/again/recorded_talk.ts";
import type { Findings } from "../../drift/findings.ts";
import type { Place } from "../../drift/finding.ts";
import { record } from "../../library/record.ts";
import { run } from "../../library/run.ts";
import { openApiCassette } from "../../relay/api_cassette.ts";
import { apiFolder, furtherOf } from "../../relay/api_folder.ts";
import { startRelay } from "../../relay/relay.ts";
import { FIRST_PARTY, relayVariables } from "../../run/plan/upstream_of.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { ClaudeAgainst } from "./claude_against.ts";

/** How cassettes are run again. */
export interface AgainOptions {
  readonly claude: ClaudeAgainst;
  /** The tools that may run. */
  readonly allowed: readonly string[];
  readonly env: Environment;
  /** A folder for what is recorded, and for the homes of the runs. */
  readonly folder: string;
  readonly findings: Findings;
  readonly signal: AbortSignal;
}

/** What came of it. */
export interface RunAgain {
  /** What was recorded of the runs, and which cassette each has come from. */
  readonly recorded: ReadonlyMap<string, string>;
  /** Which cassettes were not run again, and why not. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
}

/** Where no request gets to: nothing listens there. */
const NOWHERE = "http://127.0.0.1:1";
/** The relay asks for no key, but Claude Code for a login. */
const NO_KEY = "no-key-is-needed-offline";
/** How long a turn may take, in seconds: all that it asks is answered at once. */
const TIMEOUT_S = 300;
/** A request of the model itself. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;

/**
 * Says the prompts of cassettes again to a Claude Code, which the recorded API answers: offline, with a home and a folder
 * of its own, and without any tool that is not allowed.
 */
export async function runAgain(
  cassettes: readonly FoundCassette[],
  options: AgainOptions,
): Promise<RunAgain> {
  const recorded = new Map<string, string>();
  const skipped: { path: string; why: string }[] = [];
  for (const { kind, path } of cassettes) {
    options.signal.throwIfAborted();
    const why = kind === "tape"
      ? "a tape alone has no API that answers"
      : await again(path, { ...options, recorded });
    if (why !== undefined) skipped.push({ path, why });
  }
  return { recorded, skipped };
}

/** Says why a cassette is not run again, if it is not. */
async function again(
  path: string,
  options: AgainOptions & { readonly recorded: Map<string, string> },
): Promise<string | undefined> {
  const { findings, allowed, recorded, folder } = options;
  let cassette: ReturnType<typeof openCassette>;
  let api: ReturnType<typeof openApiCassette>;
  let missed: string | undefined;
  try {
    cassette = openCassette(path);
    api = openApiCassette({
      folder: apiFolder(path),
      asked: askedWhile(path, cassette),
      match: "sequence",
      ignored: [],
      speed: 0,
      faults: new Map(),
      redact: (text) => text,
      openFrom: () => Infinity,
      tell: (line) => missed ??= line,
    });
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
  if (api.stats().exchanges === 0) return "it has no api/ with answers";
  const talk = recordedTalk(cassette, { allowed });
  if ("why" in talk) return talk.why;
  const place: Place = { path, line: 0 };
  let misses = 0;
  using relay = startRelay({
    answer: async (request, gone) => {
      const answer = await api.answer(request, gone);
      if (answer.status === 503 && MODEL_REQUEST.test(request.path)) misses++;
      return answer;
    },
  });
  const home = `${folder}/${recorded.size}`;
  const target = `${home}/cassette`;
  await Deno.mkdir(`${home}/project`, { recursive: true });
  try {
    await say(talk, { ...options, home, target, url: relay.url });
  } catch (error) {
    options.signal.throwIfAborted();
    const what = error instanceof Error ? error.message : String(error);
    findings.add({ check: "answered otherwise", where: "run", what }, { place });
    return undefined;
  }
  recorded.set(target, path);
  if (misses > 0) {
    const what = missed ?? `${misses} requests are not recorded`;
    findings.add({ check: "answered otherwise", where: "api", what }, { place });
  }
  const [before, now] = [cassette, openCassette(target)]
    .map(({ tape }) => framesOn(tape).map(({ frame }) => frame));
  for (const found of compareTalks(before ?? [], now ?? [])) findings.add(found, { place });
  return undefined;
}

/**
 * When the Claude Code of a cassette asked: the exchanges of all that a conversation has had are in one folder, and
 * each begins where the one before has ended.
 */
function askedWhile(path: string, { cast }: Pick<ReturnType<typeof openCassette>, "cast">) {
  const startOf = ({ header }: typeof cast) => header.claude_print.conversation.frames.startedAt;
  const further = furtherOf(path);
  const next = further === undefined ? `${path}/2` : `${further.first}/${further.number + 1}`;
  let until = Infinity;
  try {
    until = startOf(openCassette(next).cast);
  } catch (error) {
    // It is the last one.
    if (!(error instanceof CliError)) throw error;
  }
  return { from: further === undefined ? 0 : startOf(cast), until };
}

/** Says what was said, and records it. */
async function say(
  { prompts, isConversation, model, maxTurns, hasKey }: RecordedTalk,
  { claude, allowed, env, home, target, url, signal }: AgainOptions & {
    readonly home: string;
    readonly target: string;
    readonly url: string;
  },
): Promise<void> {
  const { PATH = "/usr/bin:/bin", TMPDIR, DENO_DIR } = env;
  const options = {
    cwd: `${home}/project`,
    signal,
    env: {
      PATH,
      HOME: home,
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      ...(TMPDIR === undefined ? {} : { TMPDIR }),
      ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
      ...(hasKey ? { ANTHROPIC_API_KEY: NO_KEY } : { ANTHROPIC_AUTH_TOKEN: NO_KEY }),
      ...relayVariables({ url: new URL(FIRST_PARTY), isFirstParty: true, env: {} }, url),
      HTTP_PROXY: NOWHERE,
      HTTPS_PROXY: NOWHERE,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
    },
    args: [
      `--claude-binary=${claude.binary}`,
      `--timeout=${TIMEOUT_S}`,
      // Its folder is below one of temporary files, above which others may have put a project's settings and servers.
      "--setting-sources=user",
      "--strict-mcp-config",
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(maxTurns === undefined ? [] : [`--max-turns=${maxTurns}`]),
      ...(allowed.length === 0 ? [] : [`--allowedTools=${allowed.join(",")}`]),
    ],
  };
  if (!isConversation) {
    const args = [...options.args, `--record=${target}`];
    await run(prompts[0] ?? "", { ...options, args }).result;
    return;
  }
  await using conversation = record(target, options);
  for (const prompt of prompts) await conversation.send(prompt).result;
  await conversation.close();
}
