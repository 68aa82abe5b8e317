import { assertEquals } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn, until } from "../../standin/stand_in.ts";
import { poolCounts } from "./pool_counts.ts";
import { serve } from "./served.ts";

const MESSAGES = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
const message = (text: string) =>
  new TextEncoder().encode(
    `${JSON.stringify({ type: "user", message: { role: "user", content: text } })}\n`,
  );

/** Moments of a conversation on stdin at which whoever holds it is killed, and how many messages it has said by then. */
const MOMENTS = [
  { moment: "before a word", said: 0 },
  { moment: "while its child starts", said: 1 },
  { moment: "in a turn", said: 1 },
  { moment: "in a tool", said: 1 },
  { moment: "between two turns", said: 1 },
  { moment: "in the next turn", said: 2 },
  { moment: "when it has said all", said: 1 },
] as const;

type Moment = typeof MOMENTS[number]["moment"];

/** Resolves when a conversation has come to a moment. */
async function comesTo(moment: Moment, { claude, read, say, close }: {
  readonly claude: StandIn;
  /** Reads what is printed until something is in it. */
  readonly read: (text: string) => Promise<void>;
  readonly say: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}): Promise<void> {
  if (moment === "before a word") return;
  await say("one");
  switch (moment) {
    case "while its child starts":
      return await claude.untilNoted("start");
    case "in a turn":
      return await claude.untilNoted("prompt");
    case "in a tool":
      return await claude.untilNoted("tool");
  }
  await read('"type":"result"');
  switch (moment) {
    case "between two turns":
      return;
    case "in the next turn":
      await say("two");
      return await claude.untilNoted("prompt", 2);
    case "when it has said all":
      return await close();
    default:
      moment satisfies never;
  }
}

Deno.test("whoever holds a conversation in a server may be killed at each moment of it: its child ends, and its transcript is at home", async () => {
  await using server = await serve();
  for (const { moment, said } of MOMENTS) {
    await using claude = await StandIn.set({
      turns: [[{ text: "Well.", tools: [{ name: "Bash", input: { command: "sleep 0.2" } }] }, {
        text: "You said {prompt}",
      }]],
      exitMs: 100,
    });
    const [program = "", ...args] = CLAUDE_PRINT;
    const client = new Deno.Command(program, {
      args: [...args, "--claude-binary", claude.binary, ...MESSAGES],
      clearEnv: true,
      env: { ...claude.home.env, ...server.env },
      cwd: claude.home.project,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const writer = client.stdin.getWriter();
    const reader = client.stdout.pipeThrough(new TextDecoderStream()).getReader();
    await until(async () => (await poolCounts(server.env)).underWay === 1, "the server has it");
    await comesTo(moment, {
      claude,
      read: async (text) => {
        for (let all = ""; !all.includes(text);) all += (await reader.read()).value ?? "";
      },
      say: (text) => writer.write(message(text)),
      close: () => writer.close(),
    });
    client.kill("SIGKILL");
    await client.status;
    await reader.cancel();
    await writer.abort().catch(() => {});
    await until(async () => (await poolCounts(server.env)).underWay === 0, `${moment}: it is over`);
    await until(async () => (await leftovers(claude.home)).length === 0, `${moment}: all is gone`);
    const prompts = (await claude.journal("prompt")).length;
    assertEquals(prompts <= said, true, moment);
    assertEquals(claude.transcripts().size >= Math.min(prompts, 1), true, moment);
  }
  server.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assertEquals([code, stderr], [0, ""]);
});
