import { assertEquals } from "@std/assert";
import { sessionFacts } from "../../src/doctor/session_facts.ts";

const FOLDER = new URL("../../fixtures/transcripts/", import.meta.url);

for (const version of ["2.1.168", "2.1.197", "2.1.330"]) {
  Deno.test(`sessionFacts() finds entrypoint and model in a transcript of ${version}`, () => {
    const path = new URL(`${version}/plain/transcript.jsonl`, FOLDER);
    const { entrypoint, model } = sessionFacts(Deno.readTextFileSync(path).trim().split("\n"));
    assertEquals(entrypoint, "cli");
    assertEquals(model?.startsWith("claude-"), true);
  });
}

Deno.test("sessionFacts() of other lines are unknown", () => {
  const lines = ['{"type":"mode","entrypoint":"mcp"}', '{"type":"user"', "no JSON"];
  assertEquals(sessionFacts(lines), { entrypoint: undefined, model: undefined });
});
