import { assertEquals } from "@std/assert";
import { permissionDenialsOf } from "../../../src/transcript/turn/permission_denials.ts";
import { parseEntry } from "../../../src/transcript/entry.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { readRecording } from "../recording.ts";

function denialsOf(name: string): readonly string[] {
  const turn = turnsOf(readRecording(name).entries)[0];
  return turn === undefined ? [] : permissionDenialsOf(turn).map(({ tool_name }) => tool_name);
}

Deno.test("permissionDenialsOf: knows what nobody permitted by the words before 2.1.330", () => {
  assertEquals(denialsOf("2.1.197/denied"), ["Write"]);
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

Deno.test("permissionDenialsOf: files are told by their whole paths", () => {
  const told = (name: string, input: Readonly<Record<string, unknown>>) => {
    const lines = [
      { type: "user", uuid: "p", message: { role: "user", content: "Hi" } },
      {
        type: "assistant",
        parentUuid: "p",
        uuid: "a",
        message: { id: "m", model: "x", content: [{ type: "tool_use", id: "t", name, input }] },
      },
      {
        type: "user",
        parentUuid: "a",
        cwd: "/home/project",
        permissionDecision: { decision: "reject" },
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t", is_error: true, content: "No" }],
        },
      },
    ];
    const entries = lines.map((line) => parseEntry(JSON.stringify(line)));
    const turn = turnsOf(entries.filter((entry) => entry !== undefined))[0];
    const [denial] = turn === undefined ? [] : permissionDenialsOf(turn);
    return denial?.tool_input;
  };
  const pathOf = (path: string) => told("Write", { file_path: path, content: "x" });
  for (
    const [path, whole] of [
      ["b.txt", "/home/project/b.txt"],
      ["./x/../b.txt", "/home/project/b.txt"],
      ["../../../etc/shadow", "/etc/shadow"],
      ["/a//b/", "/a/b"],
      ["~/b.txt", "~/b.txt"],
    ] as const
  ) {
    assertEquals(pathOf(path), { file_path: whole, content: "x" });
  }
  assertEquals(told("mcp__s__read", { file_path: "b.txt" }), { file_path: "b.txt" });
  assertEquals(told("Read", { file_path: 1 }), { file_path: 1 });
});
