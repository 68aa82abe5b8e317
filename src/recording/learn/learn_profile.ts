import type { VersionProfile } from "../../claude/versions/profile.ts";
import { learnCommands, learnFlags, learnSubcommands } from "./learn_commands.ts";
import { learnFrames, mapConcurrently } from "./learn_frames.ts";
import { learnSettings } from "./learn_settings.ts";
import { openSubject, type ProgramText, type Subject } from "./subject.ts";
import { DIALOGS } from "../../conversation/terminal/dialogs.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { runPrint } from "./run_print.ts";
import type { Capability } from "../../claude/versions/capabilities.ts";
import {
  measureBlockingHooks,
  measureExactSocket,
  measureMechanisms,
  measureStartMode,
  measureTypedSkills,
} from "./learn_mechanisms.ts";

/** How a profile is learnt. */
export interface LearnOptions {
  /** Ends the measurement: what was started is killed and what was made is removed. */
  readonly signal?: AbortSignal;
  /** Is called when a step is done, with what it has measured and how many of how many are done. */
  readonly onProgress?: (step: string, done: number, all: number) => void;
}

/** Measurements at the same time. Each needs one core. */
const AT_ONCE = 2;

/**
 * Measures a Claude Code offline, without an account, and returns its profile: the same one each time.
 *
 * @param binary the path of its executable
 * @throws {CliError} if the executable does not say which version of Claude Code it is
 * @throws {Error} if a run of it prints nothing for too long, or its text lacks what a measurement looks for
 * @throws the reason of the signal
 */
export async function learnProfile(
  binary: string,
  { signal, onProgress = () => {} }: LearnOptions = {},
): Promise<VersionProfile> {
  await using subject = await openSubject(binary, signal === undefined ? {} : { signal });
  let done = 0;
  let all = STEPS.length + 1;
  const frames = await learnFrames(subject, {
    onRun: (runs, of) => {
      all = of + STEPS.length + 1;
      done = runs;
      onProgress("frames", done, all);
    },
  });
  const parts = await mapConcurrently(STEPS, AT_ONCE, async ([step, learn]) => {
    const part: Partial<VersionProfile> = await learn(subject);
    onProgress(step, ++done, all);
    return part;
  });
  const learnt = Object.assign({}, ...parts) as Learnt;
  const capabilities = await learnCapabilities(subject, { ...frames, ...learnt });
  onProgress("capabilities", all, all);
  signal?.throwIfAborted();
  return {
    version: subject.version,
    capabilities: [...capabilities],
    frames: frames.frames,
    constants: frames.constants,
    unseenKeys: frames.unseenKeys,
    hookEvents: learnt.hookEvents,
    controlRequests: learnt.controlRequests,
    tools: learnt.tools,
    commands: learnt.commands,
    subcommands: learnt.subcommands,
    flags: learnt.flags,
    settings: learnt.settings,
    permissionModes: learnt.permissionModes,
    dialogs: learnt.dialogs,
  };
}

type Step = (subject: Subject) => Promise<Partial<VersionProfile>>;

/** Measurements besides frames and capabilities, the longest first. */
const STEPS: readonly (readonly [name: string, learn: Step])[] = [
  ["slash commands", learnCommands],
  ["settings", learnSettings],
  ["subcommands", learnSubcommands],
  ["tools", learnTools],
  ["flags", learnFlags],
  ["texts", learnTexts],
  ["control requests", learnControlRequests],
];

type Learnt = Omit<
  VersionProfile,
  "version" | "capabilities" | "frames" | "constants" | "unseenKeys"
>;

/** Lists of hook events in the program. The longest has all events, in print order. */
const EVENTS = /\["PreToolUse","PostToolUse"(?:,"[A-Za-z]+")+\]/gu;

/** Finds hook events and dialogs in the program's text. */
function learnTexts(
  { program }: Subject,
): Promise<Pick<VersionProfile, "hookEvents" | "dialogs">> {
  const hookEvents = hookEventsIn(program);
  if (hookEvents === "") throw new Error("The program's text does not list the hook events");
  return Promise.resolve({ hookEvents, dialogs: dialogsIn(program) });
}

/** All hook events, as words. */
export function hookEventsIn(program: ProgramText): string {
  const lists = program.matches(EVENTS).map(([list]) => list.match(/\w+/gu) ?? []);
  return lists.toSorted((one, other) => other.length - one.length)[0]?.join(" ") ?? "";
}

/** The dialogs of claude-print whose choices the program has. */
function dialogsIn(program: ProgramText): string[] {
  const has = ({ source }: RegExp) => {
    const [text = ""] = source.replace(/^\^/u, "").split(/[$\\([?]/u, 1);
    return program.has(text);
  };
  const known = DIALOGS.filter(({ offers }) => offers.every(has)).map(({ name }) => name);
  return [...new Set(known)].toSorted();
}

/** Subtypes of control requests in the program. The second pattern also finds those of other frames. */
const NAMED = [/\brequest\.subtype==="([a-z_]+)"/gu, /\bsubtype:"([a-z_]+)"/gu];

/** The request that ends the run. Requests after it get no reply. */
const ENDING = "end_session";
/** Claude Code answers requests in order. The reply to this one shows that it has handled all before. */
const LAST = "nonesuch";

/**
 * Measures which subtypes of control requests `claude -p` knows: those that it does not reject as unsupported when
 * the request has no other field.
 */
async function learnControlRequests(
  subject: Subject,
): Promise<Pick<VersionProfile, "controlRequests">> {
  const named = NAMED.flatMap((pattern) =>
    subject.program.matches(pattern).map(([, name]) => name)
  );
  const candidates = [...new Set(named)].filter((name) => name !== undefined && name !== ENDING)
    .toSorted();
  const rejected = new Set<unknown>();
  await runPrint(subject, {
    args: ["--input-format", "stream-json"],
    talk: {
      start: ({ send }) => {
        for (const subtype of [...candidates, LAST]) {
          send({ type: "control_request", request_id: subtype, request: { subtype } });
        }
      },
      answer: (frame, { send, close }) => {
        const { request_id, error } = responseOf(frame);
        if (`${error}`.startsWith("Unsupported control request")) rejected.add(request_id);
        if (request_id !== LAST) return;
        send({ type: "control_request", request_id: ENDING, request: { subtype: ENDING } });
        close();
      },
    },
  });
  const known = candidates.filter((name) => !rejected.has(name));
  return { controlRequests: [...known, ENDING].toSorted().join(" ") };
}

function responseOf({ response }: JsonObject): JsonObject {
  return isJsonObject(response) ? response : {};
}

/** How to measure a capability. */
type Measure =
  /** The program has a text. */
  | { readonly text: string }
  /** Claude Code prints a kind of frame, or a key of it. */
  | { readonly frame: string; readonly key?: string }
  /** Claude Code knows a control request. */
  | { readonly request: string }
  /** An experiment shows the capability. */
  | { readonly experiment: Experiment };

/** The names of the experiments. */
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

/** Measures the capabilities, using the frames and control requests that were measured before. */
async function learnCapabilities(
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
    beginsInAutoMode: await measureStartMode(subject) === "auto",
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

/** Words that may be names of tools, old names, or sets of tools. Most are none. */
const IN_PROGRAM = /(?:[=:[(,]|\?\?|===)"([A-Z][A-Za-z]{2,40})"/gu;

/** The maximum length of a flag in characters. Linux allows 128 KiB. */
const LONGEST_FLAG = 100_000;

/** The warning about a name that no tool has. */
const UNKNOWN = /Permission deny rule "(\w+)" matches no known tool/gu;

/** Measures which tool names permission rules know: the words that cause no warning. */
async function learnTools(subject: Subject): Promise<Pick<VersionProfile, "tools">> {
  const names = toolNames(subject.program);
  const { stderr } = await runPrint(subject, {
    args: ["--output-format", "text", ...flagsOf([...names, NO_TOOL]), "--", "[[say measured]]"],
  });
  const unknown = new Set([...stderr.matchAll(UNKNOWN)].map(([, name]) => name));
  if (!unknown.has(NO_TOOL)) throw new Error("claude -p does not tell of rules without a tool");
  return { tools: names.filter((name) => !unknown.has(name)).join(" ") };
}

const NO_TOOL = "NoToolOfThisName";

export function toolNames(program: ProgramText): readonly string[] {
  return [...new Set(program.matches(IN_PROGRAM).flatMap(([, name]) => name ?? []))].toSorted();
}

function flagsOf(names: readonly string[]): readonly string[] {
  const flags: string[] = [];
  let flag = "";
  for (const name of names) {
    if (flag.length + name.length > LONGEST_FLAG) flags.push(flag), flag = "";
    flag += flag === "" ? `--disallowedTools=${name}` : `,${name}`;
  }
  return [...flags, flag];
}

/** Warnings of `claude -p` on stderr. */
interface Warnings {
  /** Whether it warns of settings that did not load. */
  readonly tellsOfSettings: boolean;
  /** Whether it warns of rules that look torn apart. */
  readonly tellsOfTornRules: boolean;
}

/** Measures the warnings about invalid settings and rules. */
async function measureWarnings(subject: Subject): Promise<Warnings> {
  const { stderr } = await runPrint(subject, {
    args: [
      ...["--output-format", "text", '--settings={"verbose":7}', "--allowedTools=Bash(x"],
      ...["--", "[[say measured]]"],
    ],
  });
  return {
    tellsOfSettings: stderr.includes("These settings did not load"),
    tellsOfTornRules: stderr.includes("doesn't look like a complete rule"),
  };
}

/**
 * Lists the differences of two profiles, one line each: `+ result/success: safety_stops`. The version does not count.
 */
export function compareProfiles(before: VersionProfile, after: VersionProfile): readonly string[] {
  const [old, current] = [wordsIn(before), wordsIn(after)];
  const names = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return names.flatMap((name) => {
    const [gone, come] = [old.get(name) ?? [], current.get(name) ?? []];
    const signed = (sign: string, words: readonly string[]) =>
      words.length === 0 ? [] : [`${sign} ${name}: ${words.join(" ")}`];
    const lines = [
      ...signed("-", gone.filter((word) => !come.includes(word))),
      ...signed("+", come.filter((word) => !gone.includes(word))),
    ];
    const isSame = gone.join(" ") === come.join(" ");
    return lines.length === 0 && !isSame ? [`~ ${name}: another order`] : lines;
  });
}

/** The words of each part of a profile, by path. A value that is no list of words counts as one word. */
function wordsIn(profile: VersionProfile): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [part, value] of Object.entries(profile)) {
    if (part === "version") continue;
    const entries: readonly (readonly [string, unknown])[] = isJsonObject(value)
      ? Object.entries(value)
      : [["", value]];
    for (const [key, each] of entries) {
      const words = Array.isArray(each)
        ? each.map((word) => typeof word === "string" ? word : JSON.stringify(word))
        : typeof each === "string"
        ? each.split(" ").filter((word) => word !== "")
        : [JSON.stringify(each)];
      found.set(key === "" ? part : part === "frames" ? key : `${part} ${key}`, words);
    }
  }
  return found;
}

/** A profile as its file holds it. */
export function profileText(profile: VersionProfile): string {
  return `${JSON.stringify(profile, null, 2)}\n`;
}
