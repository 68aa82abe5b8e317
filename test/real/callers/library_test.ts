import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Frame } from "../../../src/library/mod.ts";
import { runHere } from "../../library/run_here.ts";
import { forNewestVersion } from "../for_each_version.ts";

// How a run ends that is aborted, left, or fails is the same for every claude: test/library/run_test.ts has it.
forNewestVersion(
  "run() gives frames in order and a result, two at once that do not mix, and answers exactly too",
  async (real) => {
    const says = ["One", "Two, first line\nand the second one"];
    const runs = says.map((said, index) =>
      runHere(real, {
        prompt:
          `Look. [[bash for i in 1 2 3; do echo ${index}; sleep 0.1; done]] [[next]] [[chunk 7]] [[say ${
            said.replace("\n", "\\n")
          }]]`,
        args: [
          ...["--allowedTools", "Bash", "--include-partial-messages", "--shell-output"],
          ...index === 1 ? ["--exact-stream"] : [],
        ],
      })
    );
    const both = await Promise.all(runs.map((run) => Array.fromAsync(run)));
    for (const [index, all] of both.entries()) {
      assertEquals(writtenIn(all), says[index]);
      const told = all.filter(({ subtype }) => subtype === "shell_output_delta")
        .map(({ text }) => text);
      assertEquals(told.join(""), `${index}\n`.repeat(3), "what the shell of the other one says");
      const frames = all.filter(({ type, subtype }) =>
        !["stream_event", "rate_limit_event"].includes(type) &&
        !["status", "shell_output_delta"].includes(`${subtype}`)
      );
      assertEquals(frames.map(kindOf), ["init", "assistant", "user", "assistant", "result"]);
      const [init, call, returned, answer] = frames;
      assert(init?.type === "system" && init.subtype === "init");
      assertEquals([init.cwd, init.claude_code_version], [real.home.project, real.version]);
      assert(
        call?.type === "assistant" && returned?.type === "user" && answer?.type === "assistant",
      );
      const [use, result, text] = [call, returned, answer].map(({ message: { content } }) =>
        typeof content === "string" ? undefined : content[0]
      );
      assertEquals([use?.type, use?.name, result?.tool_use_id], ["tool_use", "Bash", use?.id]);
      assertStringIncludes(`${result?.content}`, `${index}`);
      assertEquals(text?.text, says[index]);
      const outcome = await runs[index]?.result;
      assertEquals([outcome?.text, outcome?.exitCode, outcome?.warnings], [says[index], 0, []]);
      assertEquals(outcome?.frame, frames.at(-1));
      assert((outcome?.frame.total_cost_usd ?? 0) > 0);
      assertEquals(outcome?.frame.session_id, init.session_id);
    }
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
