import { type MessagesApi, startMessagesApi } from "../../src/recording/learn/messages_api.ts";
import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** An answer of 40 lines in 2 s and more, as a model of some speed writes it. */
const PROMPT = `Write. [[pace 12]] [[chunk 16]] [[lines 40]] [[say ${
  "\\nwords of a line that goes on".repeat(80)
}]]`;

const FORMAT = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];

const MAX_DELAY_MS = 20;
const MAX_OVERHEAD = 1.05;

/** When so much of an answer was there, by the number of its characters. */
type Progress = readonly { readonly length: number; readonly at: number }[];

/** What a run took, and each of its deltas from the API to stdout, in milliseconds. */
interface LiveRun {
  readonly wallMs: number;
  readonly delaysMs: readonly number[];
}

/** Measures how long after the API has sent it text is on stdout, and what the relay costs. */
export async function measureLive(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  await using api = tappedApi();
  const { claudePrint, printMode } = world.homes;
  const own = [...CLAUDE_PRINT_CACHED, "--claude-binary", world.claude];
  const contenders = {
    theirs: { command: [world.claude, "-p", ...FORMAT], home: printMode },
    lines: { command: [...own, ...FORMAT], home: claudePrint },
    exact: { command: [...own, ...FORMAT, "--exact-stream"], home: claudePrint },
  };
  const runs = { theirs: [] as LiveRun[], lines: [] as LiveRun[], exact: [] as LiveRun[] };
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`live text, round ${round} of ${options.runs}`);
    for (const name of ["theirs", "lines", "exact"] as const) {
      const run = await follow(api, contenders[name]);
      if (round > 0) runs[name].push(run);
    }
  }
  const delay = (all: readonly LiveRun[]) => median(all.flatMap(({ delaysMs }) => delaysMs));
  const wall = (all: readonly LiveRun[]) => median(all.map(({ wallMs }) => wallMs));
  const theirs = delay(runs.theirs);
  const row = (what: string, value: number): Row => ({
    what,
    value: `${value.toFixed(1)} ms`,
    against: `claude -p, ${theirs.toFixed(1)} ms`,
    ratio: value / theirs,
    target: { text: `<= ${MAX_DELAY_MS} ms`, ok: value <= MAX_DELAY_MS },
  });
  const [plain, exact] = [wall(runs.lines), wall(runs.exact)];
  return [
    row("a delta, from the API to stdout", delay(runs.exact)),
    row("the same, a line by a hook", delay(runs.lines)),
    {
      what: "wall time with --exact-stream",
      value: `${exact.toFixed(0)} ms`,
      against: `without, ${plain.toFixed(0)} ms`,
      ratio: exact / plain,
      target: { text: `<= ${MAX_OVERHEAD} x`, ok: exact / plain <= MAX_OVERHEAD },
    },
  ];
}

interface TappedApi extends AsyncDisposable {
  readonly url: string;
  /** What has been sent of the last answer. */
  readonly sent: () => Progress;
}

/** A scripted API, and a server before it that notes when which part of an answer goes out. */
function tappedApi(): TappedApi {
  const api: MessagesApi = startMessagesApi();
  let sent: { length: number; at: number }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const answer = await api.answer(request);
    if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
    sent = [];
    let length = 0;
    // The scripted API sends an event a piece.
    const decoder = new TextDecoder();
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        const data = /^data: (.*)$/mu.exec(decoder.decode(piece))?.[1] ?? "{}";
        const text: unknown = JSON.parse(data).delta?.text;
        if (typeof text === "string") {
          length += text.length;
          sent.push({ length, at: performance.now() });
        }
        controller.enqueue(piece);
      },
    });
    return new Response(answer.body?.pipeThrough(tap) ?? null, answer);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

async function follow(
  api: TappedApi,
  { command: [program = "", ...args], home }: {
    readonly command: readonly string[];
    readonly home: ThrowawayHome;
  },
): Promise<LiveRun> {
  const startedAt = performance.now();
  const child = new Deno.Command(program, {
    args: [...args, "--", PROMPT],
    cwd: home.project,
    clearEnv: true,
    env: { ...home.env, ANTHROPIC_BASE_URL: api.url },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const seen: { length: number; at: number }[] = [];
  let length = 0;
  let rest = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    const at = performance.now();
    for (const line of lines) {
      const text: unknown = JSON.parse(line).event?.delta?.text;
      if (typeof text !== "string") continue;
      length += text.length;
      seen.push({ length, at });
    }
  }
  const { success, code } = await child.status;
  if (!success) throw new Error(`${program} failed with exit code ${code}`);
  const sent = api.sent();
  const delaysMs = seen.flatMap(({ length, at }) => {
    const last = sent.find((each) => each.length >= length);
    return last === undefined ? [] : [at - last.at];
  });
  return { wallMs: performance.now() - startedAt, delaysMs };
}
