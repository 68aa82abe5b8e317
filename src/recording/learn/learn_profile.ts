import type { VersionProfile } from "../../claude/versions/profile.ts";
import { learnCapabilities } from "./capabilities.ts";
import { learnFlags, learnSubcommands } from "./command_line.ts";
import { learnCommands } from "./commands.ts";
import { learnControlRequests } from "./control_requests.ts";
import { eachOf, learnFrames } from "./frames.ts";
import { learnSettings } from "./settings.ts";
import { openSubject, type Subject } from "./subject.ts";
import { learnTexts } from "./texts.ts";
import { learnTools } from "./tools.ts";

/** How a profile is learnt. */
export interface LearnOptions {
  /** Ends the measurement: what was started is killed and what was made is removed. */
  readonly signal?: AbortSignal;
  /** Is called when a step is done, with what it has measured and how many of how many are done. */
  readonly onProgress?: (step: string, done: number, all: number) => void;
}

/** What is measured at the same time: each keeps one core busy. */
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
  const parts = await eachOf(STEPS, AT_ONCE, async ([step, learn]) => {
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

/** What is measured besides frames and capabilities, the longest first. */
const STEPS: readonly (readonly [name: string, learn: Step])[] = [
  ["slash commands", learnCommands],
  ["settings", learnSettings],
  ["subcommands", learnSubcommands],
  ["tools", learnTools],
  ["flags", learnFlags],
  ["texts", learnTexts],
  ["control requests", learnControlRequests],
];

/** What the steps measure together. */
type Learnt = Omit<
  VersionProfile,
  "version" | "capabilities" | "frames" | "constants" | "unseenKeys"
>;
