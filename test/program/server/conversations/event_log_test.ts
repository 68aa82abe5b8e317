import { assertEquals } from "@std/assert";
import { EventLog, type EventLogLimits } from "../../../../src/server/conversations/event_log.ts";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { MOUNT_LACK } from "../../mount_lack.ts";
import { startProgram } from "../../../start_program.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { tempFolder } from "../../../temp_folder.ts";

function scene(limits?: EventLogLimits) {
  const folder = tempFolder();
  const path = `${folder.path}/events`;
  const log = new EventLog(path, limits);
  const never = new AbortController().signal;
  return {
    log,
    path,
    read: (after = 0, gone = never) => log.read(after, gone),
    texts: async (after = 0) =>
      (await Array.fromAsync(log.read(after, never))).map(({ text }) => text),
    [Symbol.dispose]: () => {
      log[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

const EVENTS = Array.from(
  { length: 1000 },
  (_, at) => `{"event":${at + 1},"x":"${"é".repeat(at)}"}`,
);

Deno.test("every reader receives all events from its start", async () => {
  using there = scene();
  const { log } = there;
  const slow = there.read();
  for (const text of EVENTS.slice(0, 500)) log.append(text);
  assertEquals((await slow.next()).value, { id: 1, text: EVENTS[0] });
  const late = there.read(499);
  assertEquals((await late.next()).value, { id: 500, text: EVENTS[499] });
  // It waits for what is to come.
  const next = late.next();
  for (const text of EVENTS.slice(500)) log.append(text);
  assertEquals((await next).value, { id: 501, text: EVENTS[500] });
  log.end();
  for (const after of [0, 1, 63, 64, 65, 128, 999, 1000, 1001]) {
    assertEquals(await there.texts(after), EVENTS.slice(after), `after ${after}`);
  }
  // The file is gone, but not for whoever reads it.
  log[Symbol.dispose]();
  const rest = await Array.fromAsync(slow);
  assertEquals(rest.map(({ id }) => id), EVENTS.map((_, at) => at + 1).slice(1));
});

Deno.test("readers end when aborted or with the log", async () => {
  using there = scene();
  const gone = new AbortController();
  const [leaving, staying] = [there.read(0, gone.signal).next(), there.read().next()];
  gone.abort();
  assertEquals((await leaving).done, true);
  there.log.end();
  assertEquals((await staying).done, true);
  there.log.append("too late");
  assertEquals([there.log.lastId, await there.texts()], [0, []]);
});

Deno.test("a full log waits, then ends with its reason", async () => {
  using there = scene({ onDisk: 20, inMemory: 12 });
  const { log } = there;
  for (const text of ["123456789", "123456789"]) log.append(text);
  log.append("waits");
  assertEquals([log.lastId, log.hasEnded], [3, false]);
  log.append("too much");
  assertEquals([log.lastId, log.hasEnded], [2, true]);
  assertEquals(log.problem, "Cannot keep the conversation's events: it is too long");
  assertEquals(await there.texts(), ["123456789", "123456789"]);
});

Deno.test(skipIfLacking(MOUNT_LACK, {
  name: "a full disk delays events and loses none",
  fn: async () => {
    using temp = tempFolder();
    const folder = temp.path;
    const script = new URL("log_on_full_disk.ts", import.meta.url).pathname;
    const config = new URL("../../../../deno.json", import.meta.url).pathname;
    const deno = [Deno.execPath(), "run", "-A", "--quiet", "--no-check", "--config", config];
    const mounted = 'mount -t tmpfs -o size=64k none "$0" && "$@" "$0"';
    const { stdout, stderr } = await startProgram(
      ["unshare", "-rm", "/bin/sh", "-c", mounted, folder, ...deno, script],
      { env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir() }, cwd: folder },
    ).ended;
    assertEquals(stderr, "");
    assertEquals(JSON.parse(stdout), {
      crowded: { last: 60, size: true },
      whole: { waited: 60, last: 80, isOver: false },
      problem: "Cannot keep the conversation's events: No space left on device (os error 28)",
      isWhole: true,
    });
  },
}));
