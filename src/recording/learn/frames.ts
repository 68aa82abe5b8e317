import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { FrameKeys, kindOf } from "./frame_keys.ts";
import { type PrintRun, runPrint } from "./run_print.ts";
import { COMPARED, type Scenario, SCENARIOS } from "./scenarios.ts";
import type { VersionProfile } from "../../claude/versions/profile.ts";
import type { Subject } from "./subject.ts";
import { unseenKeys } from "./unseen_keys.ts";

/** What runs of `claude -p` have shown of its frames. */
type MeasuredFrames = Pick<VersionProfile, "frames" | "constants" | "unseenKeys">;

/** Runs at the same time: each keeps one core busy. */
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
  const runs = await eachOf(scenarios, AT_ONCE, async (scenario) => {
    const run = await runPrint(subject, asking(scenario));
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

/** A scenario in a mode that denies what nobody allows: some versions begin in auto mode, in which tools run or do not. */
function asking(scenario: Scenario): Scenario {
  const { name, args } = scenario;
  return name.startsWith("constant-") || args.includes("--permission-mode")
    ? scenario
    : { ...scenario, args: ["--permission-mode", "default", ...args] };
}

/** Adds the frames of a run; answers to control requests by what was asked, whose id is its subtype. */
export function addFrames(keys: FrameKeys, frames: readonly JsonObject[]): void {
  for (const frame of frames) {
    const { response } = frame;
    const id = isJsonObject(response) ? response["request_id"] : undefined;
    keys.add(frame, typeof id === "string" ? id : undefined);
  }
}

/** Keys that say what the frame or the version is, and those that are the same in all runs because of what all runs share. */
const NO_CONSTANTS = [
  ...["type", "subtype", "claude_code_version", "parent_tool_use_id", "queued_turn_count"],
  ...["analytics_disabled", "product_feedback_disabled", "served_by_anthropic"],
  ...["fast_mode_state", "sandbox_enabled"],
];

/** The keys whose scalar or list is the same in every frame of a kind, for kinds that are in every run. */
export function constantsOf(
  runs: readonly Pick<PrintRun, "frames">[],
): VersionProfile["constants"] {
  const kinds = runs.map(({ frames }) => new Set(frames.map((frame) => kindOf(frame))));
  const common = [...kinds[0] ?? []].filter((kind) => kinds.every((each) => each.has(kind)));
  const constants: VersionProfile["constants"] = {};
  for (const kind of common.toSorted()) {
    const frames = runs.flatMap((run) => run.frames).filter((frame) => kindOf(frame) === kind);
    const [first = {}] = frames;
    for (const [key, value] of Object.entries(first)) {
      if (NO_CONSTANTS.includes(key) || isJsonObject(value)) continue;
      const text = JSON.stringify(value);
      if (frames.every((frame) => JSON.stringify(frame[key]) === text)) {
        constants[`${kind} ${key}`] = value as VersionProfile["constants"][string];
      }
    }
  }
  return Object.fromEntries(Object.entries(constants).toSorted(([a], [b]) => a < b ? -1 : 1));
}

/** Does work on each element, a few at the same time; the results are in the order of the elements. */
export async function eachOf<Element, Result>(
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
