import { assertEquals } from "@std/assert";
import { permissionDenialsOf } from "../../src/transcript/permission_denials.ts";
import { turnsOf } from "../../src/transcript/turn.ts";
import { readRecording } from "./recording.ts";

function denialsOf(name: string, messages?: readonly string[]): readonly string[] {
  const turn = turnsOf(readRecording(name).entries)[0];
  return turn === undefined
    ? []
    : permissionDenialsOf(turn, { denialMessages: messages ?? [] }).map((denial) =>
      denial.tool_name
    );
}

Deno.test("permissionDenialsOf: needs the run's own words before 2.1.330", () => {
  assertEquals(denialsOf("2.1.197/denied"), []);
  assertEquals(denialsOf("2.1.197/denied", ["DENYTEXT"]), ["Write"]);
  assertEquals(denialsOf("2.1.330/denied"), ["Write"]);
});

Deno.test("permissionDenialsOf: knows a deny rule by its text and by its mark", () => {
  assertEquals(denialsOf("2.1.197/denyrule"), ["Bash"]);
  assertEquals(denialsOf("2.1.330/denyrule"), ["Bash"]);
});

Deno.test("permissionDenialsOf: takes neither failures nor interrupts for denials", () => {
  for (const name of ["toolfail", "interrupt", "bash"]) {
    assertEquals(denialsOf(`2.1.197/${name}`), []);
    assertEquals(denialsOf(`2.1.330/${name}`), []);
  }
});
