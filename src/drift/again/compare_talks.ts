import { asText, type JsonObject } from "../../json_object.ts";
import type { Found } from "../finding.ts";
import { kindOf } from "../piece.ts";

/** Kinds of frame that come by what the caller wants, by who asks, or by chance. */
const BY_CHANCE = [
  /^(?:stream_event|rate_limit_event|control_|keep_alive|transcript_mirror|command_lifecycle)/u,
  /^system\/(?:hook_|api_retry|status|thinking_tokens|session_state_changed|shell_output_delta|notification)/u,
];

/** What of a result is the same in each run. */
const SAME = ["subtype", "is_error", "num_turns", "stop_reason", "result"];

/** What a run says otherwise than the recorded one did, of the same prompts and the same answers of the API. */
export function compareTalks(
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
