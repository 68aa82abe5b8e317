import { assertEquals } from "@std/assert";
import { forNewestVersion } from "../for_each_version.ts";
import { blocksOf, type JsonObject, parseFrames } from "../print_mode_facts.ts";

const SHELL_OUTPUT = [
  ...["--shell-output", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"],
  "--",
];

const isOutput = ({ subtype }: JsonObject) => subtype === "shell_output_delta";

/** What the calls of Bash wrote, by the order in which they were made, and that each ended once. */
function outputsOf(frames: readonly JsonObject[]): readonly string[] {
  const calls = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ type, name }) => type === "tool_use" && name === "Bash").map(({ id }) => id);
  return calls.map((id) => {
    const own = frames.filter(isOutput).filter(({ tool_use_id: of }) => of === id);
    const texts = own.map(({ text }) => `${text}`);
    assertEquals(texts.indexOf(""), texts.length - 1, `${id}: one end, and nothing behind it`);
    assertEquals(new Set(own.map(({ task_id: task }) => task)).size, 1);
    return texts.join("");
  });
}

/** Prints two words; the second once a file exists, so that the first is printed before the end. */
const patient = (name: string) =>
  `echo first ${name}; until [ -e ${name} ]; do sleep 0.01; done; printf second`;

const background = (command: string) =>
  `[[tool Bash ${JSON.stringify({ command, description: "x", run_in_background: true })}]]`;

const subagent = (prompt: string) =>
  `tool Agent ${JSON.stringify({ description: "Look", prompt, subagent_type: "general-purpose" })}`;

forNewestVersion("--shell-output prints what commands write", async (real) => {
  const lines = Array.from({ length: 1000 }, (_, number) => `${number + 1}\n`).join("");
  const names = ["own", "inner"];
  const [own = "", inner = ""] = names.map((name) => `[[bash ${patient(name)}]]`);
  // Output whose file is gone before it can be opened is that of the result: trimmed and cut.
  const prompt = "Work. " + [
    "[[bash printf '\\n\\n  a\\r\\nb\\n\\n'; echo c >&2; sleep 0.5]]",
    "[[bash true]]",
    "[[bash seq 1000; sleep 0.5]]",
    "[[bash printf '\\342\\202'; sleep 0.4; printf '\\254\\377\\n'; exit 3]]",
    "[[bash sleep 0.5; echo $RANDOM > x; cat x]] [[also bash sleep 0.5; echo $RANDOM > y; cat y]]",
    `[[bash head -c 200000 /dev/zero | tr '\\0' x; sleep 0.5]]`,
    own,
    `${background("echo k; sleep 0.3; echo l")} [[bash echo m; sleep 1]]`,
    // Its calls come last, whether the turn waits for it or not.
    `[[${subagent(`Look. ${inner} [[say done]]`)}]] [[say done]] [[next]]`,
  ].join(" ");
  const ofOther = "beside\n".repeat(2000);
  const beside = real.print([
    ...SHELL_OUTPUT,
    "Work. [[bash yes beside | head -n 1000; sleep 1; yes beside | head -n 1000]] [[say done]]",
  ]);
  const { stdout, stderr, code } = await real.print([...SHELL_OUTPUT, prompt], {
    // Before its file is there, a command does not end.
    onStdout: (text) => {
      for (const name of names) {
        if (text.includes(`"first ${name}\\n"`)) {
          Deno.writeTextFileSync(`${real.home.project}/${name}`, "");
        }
      }
    },
  });
  assertEquals(code, 0, stderr);
  const frames = parseFrames(stdout);
  const outputs = outputsOf(frames);
  const files = ["x", "y"].map((name) => Deno.readTextFileSync(`${real.home.project}/${name}`));
  assertEquals(outputs, [
    "\n\n  a\r\nb\n\nc\n",
    "",
    lines,
    "€\ufffd\n",
    ...files,
    "x".repeat(200_000),
    "first own\nsecond",
    "k\nl\n",
    "m\n",
    "first inner\nsecond",
  ]);
  // A run at the same time, in the same project, has its own.
  assertEquals(outputsOf(parseFrames((await beside).stdout)), [ofOther]);
  const calls = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ name, input }) => name === "Bash" && JSON.stringify(input).includes("first "));
  assertEquals(calls.length, names.length);
  for (const { id } of calls) {
    const told = frames.flatMap((frame) => {
      if (isOutput(frame)) return frame.tool_use_id === id ? "output" : [];
      return blocksOf(frame.message).filter((block) => block.id === id || block.tool_use_id === id)
        .map(({ type }) => type);
    });
    assertEquals([...new Set(told)], ["tool_use", "output", "tool_result"]);
    assertEquals([told.at(0), told.at(-1)], ["tool_use", "tool_result"]);
  }
});
