import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { type PrintRun, runPrint } from "./run_print.ts";
import { COMPARED, type Scenario, SCENARIOS } from "./scenarios.ts";
import type { VersionProfile } from "../../claude/versions/profile.ts";
import type { ProgramText, Subject } from "./subject.ts";

/** The parts of a profile that runs of `claude -p` show. */
type MeasuredFrames = Pick<VersionProfile, "frames" | "constants" | "unseenKeys">;

/** Runs at the same time. Each needs one core. */
const AT_ONCE = 2;

/** Runs every scenario and collects the keys and constants of their frames. */
export async function learnFrames(
  subject: Subject,
  { onRun = () => {}, scenarios = SCENARIOS }: {
    readonly onRun?: (done: number, all: number) => void;
    readonly scenarios?: readonly Scenario[];
  } = {},
): Promise<MeasuredFrames> {
  let done = 0;
  const runs = await mapConcurrently(scenarios, AT_ONCE, async (scenario) => {
    const run = await runPrint(subject, withDefaultMode(scenario));
    onRun(++done, scenarios.length);
    return { scenario, run };
  });
  const keys = new FrameKeys();
  for (const { run } of runs) addFrames(keys, run.frames);
  const compared = runs.filter(({ scenario }) => COMPARED.includes(scenario.name));
  const frames = keys.words();
  return {
    frames,
    constants: constantsOf(compared.map(({ run }) => run)),
    unseenKeys: unseenKeys(frames, subject.program),
  };
}

/**
 * A scenario in the default mode, which denies what no rule allows. Some versions start in auto mode, in which a tool
 * may or may not run.
 */
function withDefaultMode(scenario: Scenario): Scenario {
  const { name, args } = scenario;
  return name.startsWith("constant-") || args.includes("--permission-mode")
    ? scenario
    : { ...scenario, args: ["--permission-mode", "default", ...args] };
}

/** Adds the frames of a run. Replies to control requests are added by subtype, which is the request's id. */
export function addFrames(keys: FrameKeys, frames: readonly JsonObject[]): void {
  for (const frame of frames) {
    const { response } = frame;
    const id = isJsonObject(response) ? response["request_id"] : undefined;
    keys.add(frame, typeof id === "string" ? id : undefined);
  }
}

/** Keys that describe the frame or the version, or that are equal only because all runs share a setup. */
const NOT_CONSTANT = [
  ...["type", "subtype", "claude_code_version", "parent_tool_use_id", "queued_turn_count"],
  ...["analytics_disabled", "product_feedback_disabled", "served_by_anthropic"],
  ...["fast_mode_state", "sandbox_enabled"],
];

/** Finds the keys with the same scalar or list in all frames of a kind, for kinds that every run has. */
export function constantsOf(
  runs: readonly Pick<PrintRun, "frames">[],
): VersionProfile["constants"] {
  const kinds = runs.map(({ frames }) => new Set(frames.map((frame) => frameKind(frame))));
  const common = [...kinds[0] ?? []].filter((kind) => kinds.every((each) => each.has(kind)));
  const constants: VersionProfile["constants"] = {};
  for (const kind of common.toSorted()) {
    const frames = runs.flatMap((run) => run.frames).filter((frame) => frameKind(frame) === kind);
    const [first = {}] = frames;
    for (const [key, value] of Object.entries(first)) {
      if (NOT_CONSTANT.includes(key) || isJsonObject(value)) continue;
      const text = JSON.stringify(value);
      if (frames.every((frame) => JSON.stringify(frame[key]) === text)) {
        constants[`${kind} ${key}`] = value as VersionProfile["constants"][string];
      }
    }
  }
  return Object.fromEntries(Object.entries(constants).toSorted(([a], [b]) => a < b ? -1 : 1));
}

/** Maps elements with a few calls at the same time. Results are in the order of the elements. */
export async function mapConcurrently<Element, Result>(
  elements: readonly Element[],
  atOnce: number,
  work: (element: Element) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const entries = elements.entries();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const [index, element] of entries) results[index] = await work(element);
  }));
  return results;
}

/**
 * Keys of frames that no measurement can cause. claude-print knows when Claude Code prints them, and the program's
 * text tells whether a version has them. A key that runs of other versions show does not belong here: if runs of this
 * version lack it, this version does not print it.
 */
const RARE: Readonly<Record<string, string>> = {
  "assistant": "refused_message_id",
  "result/success": "deferred_tool_use",
  "system/init": "betas mcp_server_errors plugin_errors",
};

/** The rare keys that the program has and no run showed. */
export function unseenKeys(
  frames: Readonly<Record<string, string>>,
  program: ProgramText,
): string {
  const unseen = Object.entries(RARE).flatMap(([kind, rare]) => {
    const seen = (frames[kind] ?? "").replaceAll("?", "").split(" ");
    return rare.split(" ").filter((key) => !seen.includes(key) && program.hasWord(key));
  });
  return [...new Set(unseen)].toSorted().join(" ");
}

/** Objects that map names of models or agents to values. */
const MAPS = ["modelUsage", "model_usage_since_last_result", "by_type"];

/** Fields that Claude Code passes on from the API, a tool, a hook, the transcript or the caller. */
const PASSED_ON = [
  ...["entries", "event", "input", "schema", "structured_output", "tool_input", "tool_use_result"],
  ...["request.message", "response.response"],
];

/**
 * The kind of a frame: its type and subtype, or the type of its content if the keys depend on it: `system/init`,
 * `assistant`, `result/success`, `stream_event/message_start`, `control_request/can_use_tool`.
 */
export function frameKind({ type, subtype, request, response, event }: JsonObject): string {
  const inner = type === "control_request"
    ? fieldOf(request, "subtype")
    : type === "control_response"
    ? fieldOf(response, "subtype")
    : type === "stream_event"
    ? fieldOf(event, "type")
    : subtype;
  return inner === undefined ? `${type}` : `${type}/${inner}`;
}

function fieldOf(value: unknown, key: string): unknown {
  return isJsonObject(value) ? value[key] : undefined;
}

/** The kind that represents others of its type whose inner objects have the same keys. */
const USUAL = "result/success";

/** Collects the keys of each kind of frame, and of the objects inside. */
export class FrameKeys {
  /** Each order of keys, by kind or path. */
  readonly #orders = new Map<string, Map<string, readonly string[]>>();

  /**
   * Adds a frame.
   *
   * @param asked the subtype of the control request that the frame answers; `control_response/SUBTYPE` has the keys
   * of its answer
   */
  add(frame: JsonObject, asked?: string): void {
    this.#addObject(frame, frameKind(frame), "");
    const answer = fieldOf(frame["response"], "response");
    if (asked !== undefined && isJsonObject(answer)) {
      this.#addOrder(`control_response/${asked}`, answer);
    }
  }

  /** The keys by kind or path, in print order. A `?` marks keys that some objects lack. */
  words(): Readonly<Record<string, string>> {
    const all = new Map(
      [...this.#orders].map(([path, each]) => [path, mergeOrders([...each.values()])]),
    );
    const isUsual = (path: string, words: string) => {
      const [, inner] = /^result\/\w+(\..*)/u.exec(path) ?? [];
      return inner !== undefined && !path.startsWith(USUAL) &&
        all.get(`${USUAL}${inner}`) === words;
    };
    return Object.fromEntries(
      [...all].filter(([path, words]) => words !== "" && !isUsual(path, words))
        .toSorted(([one], [other]) => one < other ? -1 : 1),
    );
  }

  #addOrder(path: string, object: JsonObject): void {
    const keys = Object.keys(object);
    const orders = this.#orders.get(path) ?? new Map<string, readonly string[]>();
    this.#orders.set(path, orders.set(keys.join(" "), keys));
  }

  /** @param inner the path from the frame to the object */
  #addObject(object: JsonObject, kind: string, inner: string): void {
    this.#addOrder(`${kind}${inner}`, object);
    for (const [key, value] of Object.entries(object)) {
      const path = `${inner}.${key}`;
      if (PASSED_ON.some((each) => key === each || path === `.${each}`)) continue;
      const isMap = MAPS.includes(key);
      if (isJsonObject(value) && !isMap) this.#addObject(value, kind, path);
      const elements = Array.isArray(value) ? value : isMap ? Object.values(value ?? {}) : [];
      for (const element of elements) {
        if (!isJsonObject(element)) continue;
        const { type } = element;
        const of = isMap ? ".*" : key === "content" ? `[]/${type}` : "[]";
        this.#addObject(element, kind, `${path}${of}`);
      }
    }
  }
}

/**
 * Merges several orders of keys. Starts with the longest, and puts a missing key behind the key that it follows
 * elsewhere. The result does not depend on the order of the input.
 */
function mergeOrders(orders: readonly (readonly string[])[]): string {
  const sorted = orders.toSorted((one, other) =>
    other.length - one.length || (one.join(" ") < other.join(" ") ? -1 : 1)
  );
  const merged: string[] = [];
  for (const order of sorted) {
    order.forEach((key, index) => {
      if (merged.includes(key)) return;
      const before = order[index - 1];
      merged.splice(before === undefined ? 0 : merged.indexOf(before) + 1, 0, key);
    });
  }
  return merged.map((key) => orders.every((order) => order.includes(key)) ? key : `${key}?`)
    .join(" ");
}
