import { assertEquals } from "@std/assert";
import { parseEntry } from "../../src/transcript/entry.ts";
import { sessionFacts } from "../../src/doctor/session_facts.ts";

const entriesOf = (text: string) =>
  text.trim().split("\n").map(parseEntry).filter((entry) => entry !== undefined);

const FOLDER = new URL("../../fixtures/transcripts/", import.meta.url);

for (const version of ["2.1.168", "2.1.197", "2.1.330"]) {
  Deno.test(`sessionFacts() finds entrypoint and model in a transcript of ${version}`, () => {
    const path = new URL(`${version}/plain/transcript.jsonl`, FOLDER);
    const { entrypoint, model } = sessionFacts(entriesOf(Deno.readTextFileSync(path)));
    assertEquals(entrypoint, "cli");
    assertEquals(model?.startsWith("claude-"), true);
  });
}

Deno.test("sessionFacts() of other lines are unknown", () => {
  const lines = '{"type":"mode","entrypoint":"mcp"}\n{"type":"user"\nno JSON';
  assertEquals(sessionFacts(entriesOf(lines)), { entrypoint: undefined, model: undefined });
});
