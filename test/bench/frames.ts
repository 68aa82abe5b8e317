import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** A turn of as many calls, each of which is two frames. */
const CALLS = 20;
const PROMPT = `Work. ${"[[bash echo line]] ".repeat(CALLS)}[[say done]]`;

const MAX_DELAY_MS = 20;
/** How often the transcript is looked at, in milliseconds. */
const LOOK_MS = 1;
/** Which of the delays, in their order, all but a tenth stay below. */
const MOST = 0.9;

/** When something was there, by the call that it is of and by who says it. */
type Times = Map<string, number>;

/** Measures how long after its line is in Claude Code's transcript a frame is on stdout. */
export async function measureFrames(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const delays: number[] = [];
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`frames, round ${round} of ${options.runs}`);
    const delaysOfRun = await follow(world);
    if (round > 0) delays.push(...delaysOfRun);
  }
  const sorted = delays.toSorted((one, other) => one - other);
  const row = (what: string, value: number): Row => ({
    what,
    value: `${value.toFixed(1)} ms`,
    ratio: value / MAX_DELAY_MS,
    target: { text: `<= ${MAX_DELAY_MS} ms`, ok: value <= MAX_DELAY_MS },
  });
  return [
    row("a frame, from its line to stdout", median(delays)),
    row("the same, 9 of 10 within", sorted[Math.floor(sorted.length * MOST)] ?? NaN),
  ];
}

async function follow({ claude, homes: { claudePrint: home } }: World): Promise<readonly number[]> {
  const [program = "", ...args] = [
    ...CLAUDE_PRINT_CACHED,
    ...["--claude-binary", claude, "--output-format", "stream-json", "--verbose"],
    ...["--allowedTools", "Bash", "--", PROMPT],
  ];
  const child = new Deno.Command(program, {
    args,
    cwd: home.project,
    clearEnv: true,
    env: home.env,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const written: Times = new Map();
  const told: Times = new Map();
  let transcript: string | undefined;
  let read = 0;
  const looking = setInterval(() => {
    transcript ??= transcriptBelow(home.tmp);
    if (transcript === undefined) return;
    try {
      if (Deno.statSync(transcript).size === read) return;
      const bytes = Deno.readFileSync(transcript);
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      const lines = new TextDecoder().decode(bytes.subarray(read, end)).split("\n");
      read = end;
      note(written, lines);
    } catch (error) {
      // At the end of the run its folder goes.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }, LOOK_MS);
  let rest = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    note(told, lines);
  }
  clearInterval(looking);
  const { success, code } = await child.status;
  if (!success) throw new Error(`${program} failed with exit code ${code}`);
  const delays = [...told].flatMap(([key, at]) => {
    const since = written.get(key);
    // What is told before the line was seen was told within the time between two looks.
    return since === undefined ? [] : [Math.max(0, at - since)];
  });
  if (delays.length < CALLS) throw new Error("The transcript was not followed");
  return delays;
}

const NEWLINE = 0x0a;

/** Notes of lines and frames alike when they were there. */
function note(times: Times, lines: readonly string[]): void {
  const at = performance.now();
  for (const line of lines) {
    // A line names a call again in its `toolUseResult` and further fields.
    const [, what, id] = /"(id|tool_use_id)":"(toolu_\w+)"/u.exec(line) ?? [];
    const key = `${what} ${id}`;
    if (id !== undefined && !times.has(key)) times.set(key, at);
  }
}

/** The transcript of the run that is under way in a TMPDIR, once it is there. */
function transcriptBelow(tmp: string): string | undefined {
  for (const runs of namesIn(tmp)) {
    for (const run of namesIn(`${tmp}/${runs}`)) {
      const projects = `${tmp}/${runs}/${run}/.claude/projects`;
      for (const slug of namesIn(projects)) {
        const name = namesIn(`${projects}/${slug}`).find((each) => each.endsWith(".jsonl"));
        if (name !== undefined) return `${projects}/${slug}/${name}`;
      }
    }
  }
  return undefined;
}

function namesIn(folder: string): readonly string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}
