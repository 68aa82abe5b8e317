import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { median } from "./median.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** Turns of each conversation that count: those after the first, which has the start in it. */
const TURNS = 5;
const MAX_RATIO = 1.3;

const FORMATS = [
  ...["--input-format", "stream-json"],
  ...["--output-format", "stream-json", "--verbose"],
];

/** What a turn took, in milliseconds from the message. */
interface TurnTimes {
  readonly wordsMs: number;
  readonly resultMs: number;
}

/** Measures later turns of conversations, from a message to its first words and to its result. */
export async function measureTurns(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const ours: TurnTimes[] = [];
  const theirs: TurnTimes[] = [];
  const { claudePrint, printMode } = world.homes;
  for (let round = 1; round <= options.runs; round++) {
    options.onRound(`turns, round ${round} of ${options.runs}`);
    ours.push(...await hold([...CLAUDE_PRINT, "--claude-binary", world.claude], claudePrint));
    theirs.push(...await hold([world.claude, "-p"], printMode));
  }
  const row = (what: string, time: keyof TurnTimes): Row => {
    const [own, other] = [ours, theirs].map((times) => median(times.map((each) => each[time])));
    const ratio = (own ?? 0) / (other ?? 0);
    return {
      what,
      value: `${own?.toFixed(0)} ms`,
      against: `claude -p, ${other?.toFixed(0)} ms`,
      ratio,
      target: { text: `<= ${MAX_RATIO} x`, ok: ratio <= MAX_RATIO },
    };
  };
  return [
    row("later turns, to their words", "wordsMs"),
    row("the same, to their result", "resultMs"),
  ];
}

/** Holds a conversation and says what its later turns took. */
async function hold(
  [program = "", ...args]: readonly string[],
  home: ThrowawayHome,
): Promise<readonly TurnTimes[]> {
  const child = new Deno.Command(program, {
    args: [...args, ...FORMATS],
    cwd: home.project,
    clearEnv: true,
    env: { ...home.env },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const stdin = child.stdin.getWriter();
  const message = { type: "user", message: { role: "user", content: PROMPT } };
  const line = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
  const times: TurnTimes[] = [];
  let saidAt = performance.now();
  let wordsMs = 0;
  await stdin.write(line);
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const frame of lines) {
      if (frame.includes('"type":"assistant"')) wordsMs = performance.now() - saidAt;
      if (!frame.includes('"type":"result"')) continue;
      times.push({ wordsMs, resultMs: performance.now() - saidAt });
      if (times.length > TURNS) {
        await stdin.close();
      } else {
        saidAt = performance.now();
        await stdin.write(line);
      }
    }
  }
  const { success, code } = await child.status;
  if (!success) throw new Error(`${program} failed with exit code ${code}`);
  return times.slice(1);
}
