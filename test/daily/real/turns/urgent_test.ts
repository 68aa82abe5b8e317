import { assertEquals } from "@std/assert";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import { until } from "../../../program/stand_in.ts";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import { blocksOf, parseFrames } from "../../../real/print_mode_facts.ts";

const [FIRST, SECOND] = [1, 2].map((digit) => ({
  uuid: `${`${digit}`.repeat(8)}-1111-4111-8111-111111111111`,
}));

/** A command that runs until its file `go` exists. */
const COMMAND = "printf out; touch began; until [ -e go ]; do sleep 0.05; done";

forNewestVersion("an urgent message lets the running command end", async (real) => {
  const told = async (holding: typeof hold) => {
    const { stdout } = await holding(real, async ({ say, send, heard, folder }) => {
      await say(`Work. [[bash ${COMMAND}]] [[hang]]`, FIRST);
      await heard('"type":"tool_use"');
      await until(() => fileAt(`${folder}/began`) !== undefined, "the command runs");
      await say("Now. [[say second]]", { ...SECOND, priority: "now" });
      // Lines are read in order: once this one is answered, the urgent message has been read.
      await send({ type: "control_request", request_id: "x", request: { subtype: "nonesuch" } });
      await heard('"request_id":"x"');
      await Deno.writeTextFile(`${folder}/go`, "");
      await heard('"type":"result"', 2);
      for (const name of ["began", "go"]) await Deno.remove(`${folder}/${name}`);
    }, ["--allowedTools", "Bash"]);
    const frames = parseFrames(stdout);
    return {
      returned: frames.flatMap(({ message }) => blocksOf(message))
        .filter(({ type }) => type === "tool_result")
        .map(({ content, is_error: isError }) => [content, isError]),
      // The stopped turn is a success in claude -p, and an error in claude-print.
      results: frames.filter(({ type }) => type === "result")
        .map(({ result = "", user_message_uuids: uuids }) => [result, uuids]),
    };
  };
  const ours = await told(hold);
  const asked = real.api.turns.at(-1)?.text ?? "";
  const missing = ['"content":"out"', "Now. [[say second]]"].filter((part) =>
    !asked.includes(part)
  );
  assertEquals(missing, [], "the model gets the command's output and the message");
  assertEquals(ours, await asRecorded(real, "urgent/command", () => told(holdWithClaude)));
});
