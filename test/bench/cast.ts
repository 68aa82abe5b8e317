import process from "node:process";
import { encodeEvent, encodeHeader } from "../../src/recording/cassette/cassette_format.ts";
import { openCast } from "../../src/recording/cassette/read/read_cast.ts";
import { readCassette } from "../recording/cassette/recorded_runs.ts";
import { replayCast } from "../../src/recording/cassette/replay_cast.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const RECORDED = new URL("../../fixtures/recordings/runs/2.1.332/tools", import.meta.url).pathname;

/** How large the cast is, in bytes. */
const SIZE = 100_000_000;

/** Measures how fast a long recording is replayed, beside how fast its lines are parsed. */
export async function measureCast(
  { homes: { claudePrint: { tmp } } }: World,
  { runs, onRound }: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const path = `${tmp}/long.cast`;
  const size = writeLongCast(path);
  const rates: number[] = [];
  const parsed: number[] = [];
  const busy: number[] = [];
  for (let round = 0; round < runs; round++) {
    onRound(`cast, round ${round + 1} of ${runs}`);
    const before = process.cpuUsage();
    const begun = performance.now();
    const cast = openCast(path);
    if (cast === undefined || replayCast(cast).differences.length > 0) {
      throw new Error("The long cast is not replayed as it was recorded");
    }
    rates.push(size / 1000 / (performance.now() - begun));
    busy.push(size / process.cpuUsage(before).user);
    const text = Deno.readTextFileSync(path);
    const parsing = performance.now();
    for (const line of text.trimEnd().split("\n")) JSON.parse(line);
    parsed.push(size / 1000 / (performance.now() - parsing));
  }
  await Deno.remove(path);
  const [rate, bare] = [median(rates), median(parsed)];
  return [{
    what: "replay of a cast of 100 MB",
    value: `${rate.toFixed(0)} MB/s`,
    against: `JSON.parse alone, ${bare.toFixed(0)} MB/s`,
    ratio: rate / bare,
    target: { text: "100 MB/s", ok: rate >= 100 },
  }, {
    what: "the same by the time on a core",
    value: `${median(busy).toFixed(0)} MB/s`,
    ratio: median(busy) / 100,
  }];
}

/** Writes a run in which Claude Code draws what it drew over and over again, and says how large that is. */
function writeLongCast(path: string): number {
  const { cast: { header, events } } = readCassette(RECORDED);
  // What is a question to the terminal is answered, and would be more than was recorded.
  // deno-lint-ignore no-control-regex
  const drawn = events.filter(({ code, data }) => code === "o" && !/\x1b\[0?c/u.test(data));
  const middle = events.indexOf(drawn[drawn.length >> 1] ?? events[0]!);
  const encoder = new TextEncoder();
  using file = Deno.openSync(path, { write: true, createNew: true });
  let size = 0;
  const write = (text: string) => {
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    size += bytes.length;
  };
  write(encodeHeader(header));
  for (const event of events.slice(0, middle + 1)) write(encodeEvent(event));
  let { at } = events[middle]!;
  while (size < SIZE) {
    write(drawn.map((event) => encodeEvent({ ...event, at: at += 0.001 })).join(""));
  }
  const late = at - events[middle]!.at;
  for (const event of events.slice(middle + 1)) {
    write(encodeEvent({ ...event, at: event.at + late }));
  }
  return size;
}
