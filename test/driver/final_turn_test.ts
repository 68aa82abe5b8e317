import { assertEquals } from "@std/assert";
import { readFinalTurn } from "../../src/driver/final_turn.ts";
import { NOWHERE } from "../nowhere.ts";

const RECORDED = new URL(
  "../../fixtures/transcripts/2.1.330/bash/transcript.jsonl",
  import.meta.url,
);
const LINES = Deno.readTextFileSync(RECORDED).trimEnd().split("\n");

/** Reads a turn from a transcript that the test writes. */
function read(
  path: string | undefined,
  stop: Record<string, unknown> | undefined,
  { cut = false } = {},
) {
  return readFinalTurn({
    configDir: NOWHERE,
    sessionId: "s",
    transcriptPath: () => path,
    known: new Set(),
    stop,
    cut,
  });
}

async function answerOf(text: string, file: string): Promise<string> {
  await Deno.writeTextFile(file, text);
  return (await read(file, undefined)).turns.at(-1)?.text ?? "";
}

Deno.test("readFinalTurn() reads the turn and what it cost", async () => {
  const file = await Deno.makeTempFile();
  const answer = await answerOf(`${LINES.join("\n")}\n`, file);
  const { turns, cost } = await read(file, { last_assistant_message: answer });
  assertEquals(turns.length, 1);
  assertEquals(turns[0]?.text, answer);
  assertEquals(typeof cost?.totalUsd, "number");
  await Deno.remove(file);
});

Deno.test("readFinalTurn() waits for the answer that Stop announced, not for an older one", async () => {
  const file = await Deno.makeTempFile();
  const answer = await answerOf(`${LINES.join("\n")}\n`, file);
  const last = LINES.findLastIndex((line) => JSON.parse(line).type === "assistant");
  await Deno.writeTextFile(file, `${LINES.slice(0, last).join("\n")}\n`);
  const late = read(file, { last_assistant_message: answer });
  await Deno.writeTextFile(file, `${LINES.slice(last).join("\n")}\n`, { append: true });
  assertEquals((await late).turns.at(-1)?.text, answer);
  await Deno.remove(file);
});

Deno.test("readFinalTurn() makes do with what is there when the answer never comes", async () => {
  const { turns, cost } = await read(undefined, { last_assistant_message: "announced" });
  assertEquals(turns, []);
  assertEquals(cost, undefined);
});

Deno.test("readFinalTurn() leaves out turns that only the end of the run gave rise to", async () => {
  const file = await Deno.makeTempFile();
  const notification = (status: string) => ({
    type: "user",
    uuid: crypto.randomUUID(),
    message: {
      content:
        `<task-notification><task-id>b</task-id><status>${status}</status></task-notification>`,
    },
  });
  const turns = async (cut: boolean, ...statuses: readonly string[]) => {
    const lines = [...LINES, ...statuses.map((status) => JSON.stringify(notification(status)))];
    await Deno.writeTextFile(file, `${lines.join("\n")}\n`);
    return (await read(file, undefined, { cut })).turns.length;
  };
  assertEquals(await turns(true, "completed", "killed", "killed"), 2);
  assertEquals(await turns(false, "completed", "killed"), 3);
  await Deno.remove(file);
});
