import { assertEquals, assertStringIncludes } from "@std/assert";
import { unknownKey } from "../../../src/serve/http/unknown_key.ts";

const RUN = ["prompt", "args", "id"];

for (
  const [key, known, remedy] of [
    ["promt", RUN, 'Did you mean "prompt"?'],
    ["maxTurns", RUN, '"args": ["--max-turns", …]'],
    ["model", ["profile", "resume"], '"profile": {"args": ["--model", …]}'],
    ["cwd", RUN, "?cwd="],
    ["any", [], "Leave it out."],
  ] as const
) {
  Deno.test(`an unknown key "${key}" is named with its remedy`, () => {
    const { problem } = unknownKey([key], { place: "it", known });
    assertEquals(problem.detail, `Cannot read the body: it takes no "${key}"`);
    assertStringIncludes(problem.suggestion ?? "", remedy);
  });
}
