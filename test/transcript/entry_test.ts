import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import {
  type Entry,
  isPrompt,
  lineOf,
  parseEntry,
  type UserMeaning,
} from "../../src/transcript/entry.ts";
import { OLD_TRANSCRIPTS, readTranscript, recordingNames } from "./recording.ts";

Deno.test("parseEntry: takes what is not a JSON object for no entry", () => {
  for (const line of ["", " ", "{", '{"type":"user","mess', "null", "1", '"a"', "[]"]) {
    assertEquals(parseEntry(line), undefined);
  }
});

Deno.test("parseEntry: passes unknown types and unexpected shapes as other", () => {
  for (
    const line of [
      {},
      { type: "some-day", a: 1 },
      { type: 7 },
      { type: "user" },
      { type: "user", message: { content: 7 } },
      { type: "assistant", message: { id: "a", model: "m" } },
      { type: "attachment", attachment: "none" },
      { type: "system", timestamp: 12 },
    ]
  ) {
    assertEquals(parseEntry(JSON.stringify(line)), { type: "other", line });
  }
});

Deno.test("parseEntry: keeps every field of a recorded line", () => {
  for (const name of [...OLD_TRANSCRIPTS, ...recordingNames()]) {
    const { entries, transcript } = readTranscript(name);
    const lines = new TextDecoder().decode(transcript).split("\n").slice(0, -1);
    assertEquals(
      entries.map((entry) => {
        if (entry.type === "other") return entry.line;
        const { meaning: _, ...line } = { meaning: undefined, ...entry };
        return line;
      }),
      lines.map((line) => JSON.parse(line)),
    );
  }
});

Deno.test("parseEntry: says what a user line means", () => {
  const meanings: readonly (readonly [object, UserMeaning])[] = [
    [{ message: { content: "What is this?" } }, "prompt"],
    [{ message: { content: [{ type: "text", text: "Look" }, { type: "image" }] } }, "prompt"],
    [{ message: { content: [{ type: "tool_result", tool_use_id: "t" }] } }, "tool-result"],
    [{ message: { content: "[Request interrupted by user]" } }, "interrupt"],
    [
      {
        message: {
          content: [{ type: "text", text: "[Request interrupted by user for tool use]" }],
        },
      },
      "interrupt",
    ],
    [{ isMeta: true, message: { content: "Go on" } }, "remark"],
    [{ isCompactSummary: true, message: { content: "Summary" } }, "remark"],
    [{ message: { content: "<local-command-stdout>x</local-command-stdout>" } }, "local-command"],
  ];
  for (const [line, meaning] of meanings) {
    const entry = parseEntry(JSON.stringify({ type: "user", ...line }));
    assertEquals(entry?.type === "user" ? entry.meaning : undefined, meaning);
  }
});

Deno.test("parseEntry: takes the line of the command that names a session for a prompt", () => {
  const commands: readonly (readonly [string, string])[] = [
    ["<command-name>/rename</command-name>", "user"],
    ["<command-name>/name</command-name>\n  <command-args></command-args>", "user"],
    ["<command-name>/mcp</command-name>", "system"],
    ["<local-command-stdout>/rename</local-command-stdout>", "system"],
  ];
  for (const [content, type] of commands) {
    const line = { type: "system", subtype: "local_command", content, uuid: "u" };
    const entry = parseEntry(JSON.stringify(line)) as Entry;
    assertEquals([entry.type, isPrompt(entry)], [type, type === "user"], content);
    assertEquals(lineOf(entry), line);
  }
});

Deno.test("parseEntry: gives an entry for every JSON object and nothing else", () => {
  const type = fc.constantFrom("user", "assistant", "system", "attachment", "other", "new");
  const object = fc.record({ type, message: fc.jsonValue(), attachment: fc.jsonValue() });
  fc.assert(fc.property(fc.oneof(fc.jsonValue(), object), (value) => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    assertEquals(parseEntry(JSON.stringify(value)) !== undefined, isObject);
  }));
});
