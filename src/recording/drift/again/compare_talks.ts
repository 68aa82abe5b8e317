import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Found } from "../finding.ts";
import { kindOf } from "../piece.ts";

/** What a Claude Code has done when the prompts of a cassette were said to it again. */
export interface TalkAgain {
  readonly frames: readonly JsonObject[];
  /** The bodies of the requests to the model, in their order. */
  readonly requests: readonly JsonObject[];
  /** Of the run, or of the last turn of a conversation. */
  readonly exitCode: number;
  /** Why the exit code is not 0. */
  readonly failure?: string;
  /** Why there was no run, if there was none: it has no frames then. */
  readonly problem?: string;
  /** What of its requests is not recorded, if something is not. */
  readonly missed?: string;
}

/** What a run does differently from the recorded one, with the same prompts and the same answers of the API. */
export function compareWithRecording(
  recorded: readonly JsonObject[],
  { frames, problem, missed }: Pick<TalkAgain, "frames" | "problem" | "missed">,
): readonly Found[] {
  if (problem !== undefined) return [otherwise("run", problem)];
  return [
    ...(missed === undefined ? [] : [otherwise("api", missed)]),
    ...compareTalks(recorded, frames),
  ];
}

/** What one Claude Code does differently from another one, with the same prompts and the same answers of the API. */
export function compareRuns(before: TalkAgain, now: TalkAgain): readonly Found[] {
  const why = now.failure === undefined ? "" : `: ${now.failure}`;
  return [
    ...(before.exitCode === now.exitCode
      ? []
      : [otherwise("exit code", `${now.exitCode} instead of ${before.exitCode}${why}`)]),
    ...compareWithRecording(before.frames, now),
    ...(now.problem === undefined ? compareRequests(before.requests, now.requests) : []),
  ];
}

/**
 * What of a request is not compared: ids that are other ones in each run, and texts and schemas, which nearly each version
 * words anew.
 */
const NOT_COMPARED = ["metadata", "diagnostics", "system", "messages", "tools"];

function compareRequests(
  before: readonly JsonObject[],
  now: readonly JsonObject[],
): readonly Found[] {
  if (before.length !== now.length) {
    return [otherwise("requests", `${now.length} instead of ${before.length}`)];
  }
  const found = before.flatMap((one, index) => {
    const other = now[index] ?? {};
    const names = new Set([...Object.keys(one), ...Object.keys(other)]);
    const changes = [...names].filter((name) =>
      !NOT_COMPARED.includes(name) && JSON.stringify(one[name]) !== JSON.stringify(other[name])
    ).map((name) => `${name}: ${words(other[name])} instead of ${words(one[name])}`);
    const [tools, others] = [toolNames(one), toolNames(other)];
    const [messages, changed] = [messageKinds(one), messageKinds(other)];
    return [
      ...changes,
      ...tools.filter((tool) => !others.includes(tool)).map((tool) => `without tool ${tool}`),
      ...others.filter((tool) => !tools.includes(tool)).map((tool) => `with tool ${tool}`),
      ...(messages === changed
        ? []
        : [`messages of request ${index + 1}: ${changed} instead of ${messages}`]),
    ];
  });
  return [...new Set(found)].map((what) => otherwise("requests", what));
}

function toolNames({ tools }: JsonObject): readonly string[] {
  return Array.isArray(tools)
    ? tools.flatMap((tool) =>
      isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : []
    )
    : [];
}

/** Who speaks in the messages of a request, and in what kinds of blocks: `user (text, text), assistant (tool_use)`. */
function messageKinds({ messages }: JsonObject): string {
  if (!Array.isArray(messages)) return "none";
  return messages.filter(isJsonObject).map(({ role, content }) => {
    const kinds = Array.isArray(content) ? content.filter(isJsonObject).map(blockKind) : ["text"];
    return `${asText(role)} (${kinds.join(", ")})`;
  }).join(", ");
}

function blockKind({ type, is_error: isError }: JsonObject): string {
  return isError === true ? `${asText(type)} with an error` : asText(type);
}

/** Kinds of frame that come by what the caller wants, by who asks, or by chance. */
const BY_CHANCE = [
  /^(?:stream_event|rate_limit_event|control_|keep_alive|transcript_mirror|command_lifecycle)/u,
  /^system\/(?:hook_|api_retry|status|thinking_tokens|session_state_changed|shell_output_delta|notification)/u,
];

/** What of a result is the same in each run. */
const SAME = ["subtype", "is_error", "num_turns", "stop_reason", "result"];

function compareTalks(
  recorded: readonly JsonObject[],
  again: readonly JsonObject[],
): readonly Found[] {
  const [before, now] = [kindsOf(recorded), kindsOf(again)];
  return [
    ...[...before].filter((kind) => !now.has(kind)).map((kind) =>
      otherwise("frames", `${kind} does not come`)
    ),
    ...[...now].filter((kind) => !before.has(kind)).map((kind) =>
      otherwise("frames", `${kind} comes`)
    ),
    ...compareResults(recorded.filter(isResult), again.filter(isResult)),
  ];
}

function compareResults(
  recorded: readonly JsonObject[],
  again: readonly JsonObject[],
): readonly Found[] {
  if (recorded.length !== again.length) {
    return [otherwise("results", `${again.length} instead of ${recorded.length}`)];
  }
  return recorded.flatMap((before, turn) => {
    const now = again[turn] ?? {};
    return SAME.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]))
      .map((name) =>
        otherwise(
          `result of turn ${turn + 1}`,
          `${name}: ${words(now[name])} instead of ${words(before[name])}`,
        )
      );
  });
}

function kindsOf(frames: readonly JsonObject[]): ReadonlySet<string> {
  const kinds = frames.filter((frame) => !isResult(frame)).map(kindOf);
  return new Set(kinds.filter((kind) => !BY_CHANCE.some((pattern) => pattern.test(kind))));
}

function isResult({ type }: JsonObject): boolean {
  return type === "result";
}

function otherwise(where: string, what: string): Found {
  return { check: "answered otherwise", where, what };
}

function words(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = asText(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
