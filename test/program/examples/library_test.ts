import { assertEquals, assertMatch } from "@std/assert";
import { LIBRARY_SOURCES } from "../../examples/code_blocks.ts";
import { testExamples } from "../../examples/test_examples.ts";

const RECORDING = new URL("../../../fixtures/recordings/readme", import.meta.url).pathname;

testExamples(LIBRARY_SOURCES, [
  {
    having: "differences.length",
    prepare: (folder) => Deno.symlink(RECORDING, `${folder}/recording`),
  },
  {
    having: "--allowedTools",
    scenario: {
      turns: [[{
        text: "Let me look",
        tools: [{ name: "Bash", input: { command: "ls | wc -l" } }],
      }, { text: "One" }]],
    },
    check: ({ stdout }) => assertEquals(stdout, "Let me look\nuses Bash\nOne\n"),
  },
  { having: "interrupt()", scenario: { hang: "stream", turns: [[{ text: "One, two, three" }]] } },
  {
    having: "AbortSignal",
    scenario: { hang: "stream", turns: [[{ text: "Half an answer and its end" }]] },
    check: ({ stdout }) => assertMatch(stdout, /^So far: Half an/u),
  },
]);
