import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Frame, RunError } from "../../../src/library/mod.ts";
import { runHere } from "../../library/run_here.ts";
import { forNewestVersion } from "../for_each_version.ts";

forNewestVersion("run() gives frames in order and a result, two at once", async (real) => {
  const says = ["One", "Two"];
  const runs = says.map((said) =>
    runHere(real, {
      prompt: `Look. [[bash echo ${said}]] [[next]] [[say ${said}]]`,
      args: ["--allowedTools", "Bash", "--include-partial-messages"],
    })
  );
  const both = await Promise.all(runs.map((run) => Array.fromAsync(run)));
  for (const [index, all] of both.entries()) {
    assertEquals(writtenIn(all), says[index]);
    const frames = all.filter(({ type, subtype }) =>
      type !== "stream_event" && subtype !== "status"
    );
    assertEquals(frames.map(kindOf), ["init", "assistant", "user", "assistant", "result"]);
    const [init, call, returned, answer] = frames;
    assert(init?.type === "system" && init.subtype === "init");
    assertEquals([init.cwd, init.claude_code_version], [real.home.project, real.version]);
    assert(call?.type === "assistant" && returned?.type === "user" && answer?.type === "assistant");
    const [use, result, text] = [call, returned, answer].map(({ message: { content } }) =>
      typeof content === "string" ? undefined : content[0]
    );
    assertEquals([use?.type, use?.name, result?.tool_use_id], ["tool_use", "Bash", use?.id]);
    assertStringIncludes(`${result?.content}`, says[index] ?? "");
    assertEquals(text?.text, says[index]);
    const outcome = await runs[index]?.result;
    assertEquals([outcome?.text, outcome?.exitCode, outcome?.warnings], [says[index], 0, []]);
    assertEquals(outcome?.frame, frames.at(-1));
    assert((outcome?.frame.total_cost_usd ?? 0) > 0);
    assertEquals(outcome?.frame.session_id, init.session_id);
  }
});

forNewestVersion("run() ends when it is aborted, and when its loop is left", async (real) => {
  const controller = new AbortController();
  const aborted = runHere(real, {
    prompt: "Talk. [[say It begins]] [[hang]]",
    signal: controller.signal,
  });
  while (real.api.turns.length === 0) await new Promise((done) => setTimeout(done, 10));
  controller.abort();
  const { exitCode, frame } = await aborted.result;
  assertEquals([exitCode, frame.subtype], [130, "interrupted"]);
  assertEquals(frame.terminal_reason, "aborted_streaming");
  const left = runHere(real, {
    prompt: "Wait. [[bash tail -f /dev/null]]",
    args: ["--allowedTools", "Bash"],
  });
  for await (const { type } of left) if (type === "assistant") break;
  assertEquals(await real.leftovers(), []);
  assertEquals((await left.result).exitCode, 141);
});

forNewestVersion(
  "run() says what keeps it from starting, and tells API errors in a result",
  async (real) => {
    const resumed = runHere(real, { prompt: "hi", args: ["--resume", crypto.randomUUID()] });
    await assertRejects(() => resumed.result, RunError, "Cannot resume the session");
    assertEquals(real.api.requests.length, 0);
    const { exitCode, frame, problem } = await runHere(real, { prompt: "Hi [[error 400]]" }).result;
    assertEquals([exitCode, frame.is_error, frame.api_error_status], [1, true, 400]);
    assert(problem !== undefined);
  },
);

function kindOf({ type, subtype }: Frame): string {
  return type === "system" ? `${subtype}` : type;
}

/** What answers have been told of as they were written. */
function writtenIn(frames: readonly Frame[]): string {
  return frames.map((frame) =>
    frame.type === "stream_event" ? frame.event.delta?.["text"] ?? "" : ""
  ).join("");
}

forNewestVersion("run() gives answers as they are written, exactly too", async (real) => {
  const said = "First line\nand the second one";
  const run = runHere(real, {
    prompt: `Talk. [[chunk 7]] [[say ${said.replace("\n", "\\n")}]]`,
    args: ["--include-partial-messages", "--exact-stream"],
  });
  assertEquals([writtenIn(await Array.fromAsync(run)), (await run.result).text], [said, said]);
});
