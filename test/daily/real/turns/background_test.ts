import { assertEquals, assertStringIncludes } from "@std/assert";
import { shiftedClock } from "../../../../fixtures/programs/shifted_clock.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { missingTool } from "../../../missing_tool.ts";
import { startProgram } from "../../../start_program.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion, REAL_VERSIONS } from "../../../real/for_each_version.ts";
import { type JsonObject, outlineOfFrames, parseFrames } from "../../../real/print_mode_facts.ts";
import { RealClaude } from "../../../real/real_claude.ts";
import { toolCall } from "../../../real/tool_call.ts";
import { callerLines, STREAM_FORMAT, userMessage } from "../../../caller_lines.ts";

/** A subagent in the background that never answers. */
const SILENT_SUBAGENT = `Look. ${
  toolCall("Agent", {
    description: "Look around",
    prompt: "Look. [[hang]]",
    subagent_type: "general-purpose",
    run_in_background: true,
  })
} [[say started]] [[next]] [[say done]]`;

/** The session's own frames as a list, without the results of tools, which have ids of the run. */
function outlineOf(frames: readonly JsonObject[]): readonly string[] {
  const own = frames.filter(({ parent_tool_use_id: parent }) => typeof parent !== "string");
  return outlineOfFrames(own).map((frame) =>
    frame.replace(/ tool_result\(.*\)$/su, " tool_result")
  );
}

forNewestVersion("a background subagent is waited for up to the ceiling", async (real) => {
  const args = [...STREAM_FORMAT, "--allowedTools", "Agent", "--", SILENT_SUBAGENT];
  const env = { CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: "500" };
  const [ours, said, theirs] = await Promise.all([
    real.print(args, { env }),
    // A conversation whose stdin has ended waits as a prompt does.
    real.print([...args.slice(0, -2), "--input-format", "stream-json"], {
      ...{ env, stdin: callerLines([userMessage(SILENT_SUBAGENT)]) },
    }),
    real.claudeP(args, { env, recorded: "background/ceiling" }),
  ]);
  assertEquals([ours.code, said.code, theirs.code], [0, 0, 0]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  assertEquals(outlineOf(frames), outlineOf(expected));
  assertEquals(outlineOf(parseFrames(said.stdout)), outlineOf(expected));
  assertEquals(frames.at(-1)?.result, "started");
  assertStringIncludes(ours.stderr, 'subagent "Look around"');
});

const VERSION = REAL_VERSIONS.at(-1) ?? "";

/** More than the minute and the rest of one that Claude Code makes of it at most. */
const LATER_S = 120;

const wakeup = (prompt: string) =>
  toolCall("ScheduleWakeup", {
    ...{ delaySeconds: 60, reason: "It takes a minute", prompt, noop: false },
  });

/** The model schedules two wake-ups. */
const PROMPT = `Wait. ${
  wakeup(`Look. ${wakeup("Look again. [[say It is done.]]")} [[say It is not done.]]`)
} [[say I wait.]]`;

/** Runs a program until its child has woken the model as often as it wants, and gives what it printed. */
async function printed(
  real: RealClaude,
  command: readonly string[],
  { forward, env = {} }: {
    readonly forward: (seconds: number) => void;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<ReturnType<typeof factsOf>> {
  forward(0);
  const args = ["-p", ...STREAM_FORMAT, "--", PROMPT];
  const { code, stdout, stderr } = await startProgram([...command, ...args], {
    env: { ...real.home.env, ...env },
    cwd: real.home.project,
    onStdout: (text) => forward(LATER_S * text.split('"type":"result"').slice(1).length),
  }).ended;
  assertEquals([code, stderr], [0, ""]);
  return factsOf(parseFrames(stdout));
}

/** The output without what differs between two runs. */
function factsOf(frames: readonly JsonObject[]) {
  const ids: unknown[] = [];
  const lifecycle = frames.filter(({ type }) => type === "command_lifecycle")
    .map(({ state, command_uuid: id, wakeup_source, scheduled_for }) => {
      if (!ids.includes(id)) ids.push(id);
      const command = ids.indexOf(id);
      const timed = scheduled_for !== undefined;
      return { state, command, wakeup_source: `${wakeup_source}`, timed };
    });
  const results = frames.filter(({ type }) => type === "result")
    .map(({ result, num_turns, result_index }) => ({ result, num_turns, result_index }));
  return { outline: outlineOf(frames), lifecycle, results };
}

Deno.test(skipIfLacking(missingTool("cc"), {
  name: `${VERSION}: a run waits for wake-ups as claude -p does`,
  fn: async () => {
    await using real = await RealClaude.set(VERSION);
    const { program, forward } = await shiftedClock(real.binary, { folder: real.home.path });
    const ours = await printed(
      real,
      [...CLAUDE_PRINT, "--claude-binary", program, "--timeout", "600"],
      { forward },
    );
    const env = { TMPDIR: `${real.home.path}/t` };
    const theirs = await asRecorded(
      real,
      "wakeup/twice",
      () => printed(real, [program], { forward, env }),
    );
    assertEquals(ours, theirs);
    const answers = ours.results.map(({ result }) => result);
    assertEquals(answers, ["I wait.", "It is not done.", "It is done."]);
  },
}));
