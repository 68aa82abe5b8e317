import { join } from "node:path";
import { typescriptSdk } from "../../fixtures/programs/agent_sdk.ts";
import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT_CACHED, writeClaudePrint } from "../claude_print.ts";
import { median } from "./median.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** Turns of each conversation that count: those after the first, which has the start in it. */
const TURNS = 5;

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
  const own: TurnTimes[] = [];
  const theirs: TurnTimes[] = [];
  const ownOfSdk: TurnTimes[] = [];
  const theirsOfSdk: TurnTimes[] = [];
  const { claudePrint, printMode } = world.homes;
  const sdk = await typescriptSdk();
  const program = `${claudePrint.path}/claude-print`;
  await writeClaudePrint(program, { claude: world.claude, command: CLAUDE_PRINT_CACHED });
  for (let round = 1; round <= options.runs; round++) {
    options.onRound(`turns, round ${round} of ${options.runs}`);
    own.push(...await hold([...CLAUDE_PRINT_CACHED, "--claude-binary", world.claude], claudePrint));
    theirs.push(...await hold([world.claude, "-p"], printMode));
    ownOfSdk.push(...await holdBySdk({ sdk, executable: program, home: claudePrint }));
    theirsOfSdk.push(...await holdBySdk({ sdk, executable: world.claude, home: printMode }));
  }
  const plain = { name: "claude -p", maxRatio: 1.3, own, theirs };
  const ofSdk = { name: "SDK", maxRatio: 1.2, own: ownOfSdk, theirs: theirsOfSdk };
  return [
    row("later turns, to their words", { ...plain, time: "wordsMs" }),
    row("the same, to their result", { ...plain, time: "resultMs" }),
    row("later turns of an SDK, to words", { ...ofSdk, time: "wordsMs" }),
    row("the same, to their result", { ...ofSdk, time: "resultMs" }),
  ];
}

function row(what: string, { name, maxRatio, own, theirs, time }: {
  readonly name: string;
  readonly maxRatio: number;
  readonly own: readonly TurnTimes[];
  readonly theirs: readonly TurnTimes[];
  readonly time: keyof TurnTimes;
}): Row {
  const [value, other] = [own, theirs].map((times) => median(times.map((each) => each[time])));
  const ratio = (value ?? 0) / (other ?? 0);
  return {
    what,
    value: `${value?.toFixed(0)} ms`,
    against: `${name}, ${other?.toFixed(0)} ms`,
    ratio,
    target: { text: `<= ${maxRatio} x`, ok: ratio <= maxRatio },
  };
}

/** Has a user of the Agent SDK for TypeScript hold a conversation, and says what its later turns took. */
async function holdBySdk(
  { sdk, executable, home }: {
    readonly sdk: string;
    readonly executable: string;
    readonly home: ThrowawayHome;
  },
): Promise<readonly TurnTimes[]> {
  const user = join(import.meta.dirname ?? ".", "sdk_user.ts");
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-config", "--no-lock", user],
      JSON.stringify({ sdk, executable, prompt: PROMPT, turns: TURNS + 1 }),
    ],
    cwd: home.project,
    clearEnv: true,
    env: { ...home.env },
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`The Agent SDK failed with ${executable}`);
  return JSON.parse(new TextDecoder().decode(stdout)).slice(1);
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
