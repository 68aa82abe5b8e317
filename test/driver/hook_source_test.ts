import { assertEquals } from "@std/assert";
import { closeFd, readFd } from "../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { HookSource } from "../../src/driver/sources/hook_source.ts";
import { hookScript } from "../../src/sandbox/child/hooks.ts";

/** A FIFO, a folder for payloads, and what reads them. */
class Ground implements Disposable {
  readonly path = Deno.makeTempDirSync();
  readonly source: HookSource;

  constructor() {
    makeFifo(`${this.path}/fifo`);
    Deno.mkdirSync(`${this.path}/payloads`);
    this.source = new HookSource({
      fifoPath: `${this.path}/fifo`,
      payloadDir: `${this.path}/payloads`,
      secret: "s3",
    });
  }

  payload(name: string, text: string): void {
    Deno.writeTextFileSync(`${this.path}/payloads/${name}`, text);
  }

  announce(text: string): void {
    Deno.writeTextFileSync(`${this.path}/fifo`, text, { create: false });
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("HookSource reads announced payloads in order and removes them", () => {
  using ground = new Ground();
  ground.payload("1", '{"hook_event_name":"SessionStart","model":"m"}');
  ground.payload("2", '{"hook_event_name":"Stop"}');
  ground.announce("s3 1\ns3 2\n");
  const ranAt = Deno.statSync(`${ground.path}/payloads/2`).mtime?.getTime();
  const [start, stop] = ground.source.read();
  assertEquals([start?.event, stop?.event, stop?.ranAt], ["SessionStart", "Stop", ranAt]);
  assertEquals(ground.source.read(), []);
  assertEquals([...Deno.readDirSync(`${ground.path}/payloads`)], []);
});

Deno.test("HookSource hears what hooks announce though somebody removes its FIFO, and makes it anew", () => {
  using ground = new Ground();
  const { source, path } = ground;
  assertEquals(source.mend(), false);
  ground.payload("1", '{"hook_event_name":"SessionStart"}');
  ground.payload("2", '{"hook_event_name":"Stop"}');
  ground.payload("3", '{"hook_event_name":"StopFailure"}');
  ground.announce("s3 1\n");
  Deno.removeSync(`${path}/fifo`);
  // A shell that opens it for reading and writing makes a file.
  Deno.writeTextFileSync(`${path}/fifo`, "\ns3 2\n");
  assertEquals(source.mend(), true);
  assertEquals(source.read().map(({ event }) => event), ["SessionStart", "Stop"]);
  ground.announce("s3 3\n");
  assertEquals([source.mend(), source.read()[0]?.event], [false, "StopFailure"]);
  for (const other of [() => {}, makeFifo, (at: string) => Deno.symlinkSync("/dev/zero", at)]) {
    Deno.removeSync(`${path}/fifo`);
    other(`${path}/fifo`);
    assertEquals([source.mend(), source.read(), source.mend()], [true, [], false]);
  }
  assertEquals(source.unheard, false);
  Deno.removeSync(`${path}/fifo`);
  Deno.mkdirSync(`${path}/fifo/full`, { recursive: true });
  source.mend();
  assertEquals(source.unheard, true);
});

Deno.test("HookSource puts a line together that comes in pieces", () => {
  using ground = new Ground();
  ground.payload("12", '{"hook_event_name":"Stop"}');
  for (const piece of ["s", "3 1", "2"]) {
    ground.announce(piece);
    assertEquals(ground.source.read(), []);
  }
  ground.announce("\n");
  assertEquals(ground.source.read().length, 1);
});

Deno.test("HookSource leaves out strangers, garbage and paths", () => {
  using ground = new Ground();
  ground.payload("1", '{"hook_event_name":"Stop"}');
  ground.payload("2", "no json");
  ground.payload("3", '"a string"');
  ground.payload("4", "{}");
  ground.announce("wrong 1\n\nnonsense\ns3 2\ns3 3\ns3 4\ns3 99\ns3 ../fifo\ns3\n");
  assertEquals(ground.source.read(), []);
});

Deno.test("HookSource takes as much at a time as a FIFO holds, and keeps no endless line", () => {
  using ground = new Ground();
  ground.payload("1", '{"hook_event_name":"Stop"}');
  for (let written = 0; written < 10; written++) {
    ground.announce("x".repeat(60_000));
    assertEquals(ground.source.read(), []);
  }
  ground.announce("\ns3 1\n");
  assertEquals(ground.source.read().length, 1);
});

Deno.test("HookSource tells that payloads have no place any more", () => {
  for (
    const lose of [
      (ground: Ground) => ground.announce("s3 unheard\n"),
      (ground: Ground) => Deno.removeSync(`${ground.path}/payloads`),
    ]
  ) {
    using ground = new Ground();
    ground.announce("x unheard\n");
    assertEquals([ground.source.read(), ground.source.unheard], [[], false]);
    lose(ground);
    assertEquals([ground.source.read(), ground.source.unheard], [[], true]);
  }
});

Deno.test("HookSource needs no room on the disk for a short answer, and a file for a long one", () => {
  using ground = new Ground();
  const fifo = `${ground.path}/payloads/7.answer`;
  const answered = (reply: Readonly<Record<string, unknown>>) => {
    makeFifo(fifo);
    const fd = openFifo(fifo);
    ground.source.answer("7", reply);
    const buffer = new Uint8Array(8192);
    const count = readFd(fd, buffer);
    closeFd(fd);
    return new TextDecoder().decode(buffer.subarray(0, Number(count)));
  };
  assertEquals(answered({ text: "no" }), '{"text":"no"}\n');
  assertEquals([...Deno.readDirSync(`${ground.path}/payloads`)], []);
  const text = "x".repeat(100_000);
  assertEquals(answered({ text }), "\n");
  assertEquals(
    Deno.readTextFileSync(`${ground.path}/payloads/7.reply`),
    `${JSON.stringify({ text })}\n`,
  );
});

Deno.test("HookSource lets hooks go that nobody has answered", async () => {
  const ground = new Ground();
  const script = `${ground.path}/hook`;
  Deno.writeTextFileSync(
    script,
    hookScript({ own: ground.path, secret: "s3", pid: Deno.pid }).replaceAll("hooks.fifo", "fifo"),
  );
  const hook = new Deno.Command("/bin/sh", { args: [script, "asks"], stdin: "piped" }).spawn();
  const stdin = hook.stdin.getWriter();
  await stdin.write(new TextEncoder().encode('{"hook_event_name":"Stop"}'));
  await stdin.close();
  let calls = ground.source.read();
  while (calls.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    calls = ground.source.read();
  }
  assertEquals(calls.map(({ event }) => event), ["Stop"]);
  // No FIFO, and nobody who waits: what else is there does no harm.
  ground.payload("7.answer", "");
  ground.source[Symbol.dispose]();
  assertEquals((await hook.status).code, 0);
  Deno.removeSync(ground.path, { recursive: true });
});
