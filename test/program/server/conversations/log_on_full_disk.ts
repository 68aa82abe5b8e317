/** What becomes of a log on a small disk, as JSON: run with a folder on it that has 64 KB. */
import { EventLog } from "../../../../src/server/conversations/event_log.ts";

const [folder = ""] = Deno.args;
const log = new EventLog(`${folder}/events`, { onDisk: 1e9, inMemory: 40_000 });
const EVENT = "x".repeat(500);
let count = 0;
const append = (times: number) => {
  for (let at = 0; at < times; at++) log.append(`${++count} ${EVENT}`);
};
Deno.writeTextFileSync(`${folder}/filler`, "x".repeat(40_000));
append(60);
const crowded = { last: log.lastId, size: Deno.statSync(`${folder}/events`).size < 30_000 };
// Nothing follows what waits for room; who reads it has it all the same.
const waiting = log.read(59, new AbortController().signal).next();
await new Promise((resolve) => setTimeout(resolve));
Deno.removeSync(`${folder}/filler`);
const { id: waited } = (await waiting).value;
append(20);
const whole = { waited, last: log.lastId, isOver: log.hasEnded };
append(500);
const ids: number[] = [];
for await (const { id, text } of log.read(0, new AbortController().signal)) {
  if (text !== `${id} ${EVENT}`) throw new Error(`event ${id} is ${text}`);
  ids.push(id);
}
const { problem } = log;
log[Symbol.dispose]();
const isWhole = ids.every((id, at) => id === at + 1) && ids.length === log.lastId;
await Deno.stdout.write(
  new TextEncoder().encode(JSON.stringify({ crowded, whole, problem, isWhole })),
);
