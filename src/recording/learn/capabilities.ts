import type { Capability } from "../../claude/versions/capabilities.ts";
import {
  measureBlockingHooks,
  measureExactSocket,
  measureMechanisms,
  measureMode,
  measureTypedSkills,
} from "./mechanisms.ts";
import type { Subject } from "./subject.ts";
import { measureWarnings } from "./tools.ts";

/** How it is measured whether a version has a capability. */
type Measure =
  /** It is a text in the program. */
  | { readonly text: string }
  /** It prints a kind of frame, or a key of it. */
  | { readonly frame: string; readonly key?: string }
  /** It answers a control request. */
  | { readonly request: string }
  /** An experiment shows it. */
  | { readonly experiment: Experiment };

/** What the experiments show, each by a name of its own. */
type Experiment =
  | "beginsInAutoMode"
  | "blockingHooks"
  | "exactSocket"
  | "printsTypedSkills"
  | "socket"
  | "statusFile"
  | "statusLine"
  | "statusLineOnRequest"
  | "stopHook"
  | "tellsOfSettings"
  | "tellsOfTornRules"
  | "writesRequests";

/** How each capability is measured. */
const MEASURES: Readonly<Record<Capability, Measure>> = {
  addedPlugins: { text: "reload_plugins add_plugins" },
  beginsInAutoMode: { experiment: "beginsInAutoMode" },
  chosenModelAnswer: { frame: "control_response/set_model", key: "model" },
  controlErrorCodes: { frame: "control_response/error.response", key: "error_code" },
  countsCompaction: { text: "compact_output_chars" },
  hookFailures: { experiment: "blockingHooks" },
  listsSubagentTypes: { frame: "system/background_tasks_changed.tasks[]", key: "subagent_type" },
  marksReports: { frame: "system/task_notification", key: "summary_is_report" },
  exactSocket: { experiment: "exactSocket" },
  hooks: { experiment: "stopHook" },
  printsTypedSkills: { experiment: "printsTypedSkills" },
  saysStopHookProblem: { text: "stop hook problem" },
  saysStopHookReported: { text: "stop hook reported a problem" },
  socket: { experiment: "socket" },
  statusFile: { experiment: "statusFile" },
  statusLine: { experiment: "statusLine" },
  statusLineOnRequest: { experiment: "statusLineOnRequest" },
  settingsWarnings: { experiment: "tellsOfSettings" },
  tornRulesWarnings: { experiment: "tellsOfTornRules" },
  writesRequests: { experiment: "writesRequests" },
};

/** Measures the capabilities, with what other measurements have shown of frames and control requests. */
export async function learnCapabilities(
  subject: Subject,
  { frames, controlRequests }: {
    readonly frames: Readonly<Record<string, string>>;
    readonly controlRequests: string;
  },
): Promise<readonly string[]> {
  const exactSocket = await measureExactSocket(subject);
  const experiments: Readonly<Record<Experiment, boolean>> = {
    exactSocket,
    ...await measureMechanisms(subject),
    beginsInAutoMode: await measureMode(subject) === "auto",
    blockingHooks: await measureBlockingHooks(subject),
    printsTypedSkills: await measureTypedSkills(subject),
    ...await measureWarnings(subject),
  };
  const has = (measure: Measure): boolean => {
    if ("text" in measure) return subject.program.has(measure.text);
    if ("request" in measure) return controlRequests.split(" ").includes(measure.request);
    if ("experiment" in measure) return experiments[measure.experiment];
    const { key } = measure;
    const keys = frames[measure.frame]?.replaceAll("?", "").split(" ");
    return keys !== undefined && (key === undefined || keys.includes(key));
  };
  return Object.entries(MEASURES).filter(([, measure]) => has(measure)).map(([name]) => name)
    .toSorted();
}
