import { assertEquals } from "@std/assert";
import { permissionDenialsOf, refusalIn } from "../../../src/transcript/turn/permission_denials.ts";
import { parseEntry, type UserEntry } from "../../../src/transcript/entry.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { readTranscript } from "../recording.ts";

function denialsOf(name: string): readonly string[] {
  const turn = turnsOf(readTranscript(name).entries)[0];
  return turn === undefined ? [] : permissionDenialsOf(turn).map(({ tool_name }) => tool_name);
}

Deno.test("permissionDenialsOf: knows a refused call by its mark", () => {
  assertEquals(denialsOf("2.1.330/denied"), ["Write"]);
  assertEquals(denialsOf("2.1.330/denyrule"), ["Bash"]);
});

Deno.test("refusalIn: knows a reason by the words if no decision is noted", () => {
  const reasonOf = (toolDenialKind: string | undefined, text = "") => {
    const line = { type: "user", toolDenialKind, message: { content: [] } };
    return refusalIn(parseEntry(JSON.stringify(line)) as UserEntry, text);
  };
  const byRule = (tool: string) => `Permission to use ${tool} with x has been denied.`;
  assertEquals(reasonOf(undefined, byRule("Bash")), undefined);
  assertEquals(reasonOf("user-rejected"), undefined);
  assertEquals(reasonOf("automode-parsing-error"), { reasonType: "classifier" });
  assertEquals(reasonOf("permission-rule", byRule("Bash")), { reasonType: "subcommandResults" });
  assertEquals(reasonOf("permission-rule", byRule("Write")), { reasonType: "rule" });
  assertEquals(reasonOf("permission-rule", "PreToolUse:Bash hook error: no"), {
    reasonType: "hook",
  });
  assertEquals(reasonOf("permission-rule", "This command requires approval"), {
    reasonType: undefined,
  });
});

Deno.test("permissionDenialsOf: takes neither failures nor interrupts for denials", () => {
  for (const name of ["toolfail", "interrupt", "bash"]) {
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
