import { assert, assertEquals } from "@std/assert";
import { closeFd, readFd } from "../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { Rendezvous } from "../../src/driver/effects/rendezvous.ts";
import { HookSource } from "../../src/driver/inputs/hook_source.ts";
import { hookScript, hookSettings } from "../../src/sandbox/child/hooks.ts";
import { folderParts } from "../../src/sandbox/folder/folder_layout.ts";

/** A FIFO, a folder of payloads, and a source that reads them. */
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

Deno.test("HookSource reads and removes announced payloads in order", () => {
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

Deno.test("HookSource reads the id, callback and event of a call", () => {
  using ground = new Ground();
  const stop = '{"hook_event_name":"Stop"}';
  for (
    const [name, marks, call] of [
      ["1", " asks 4", { event: "Stop", id: "1", callback: 4 }],
      ["2", " asks -", { event: "Stop", id: "2" }],
      ["end", " asks end", { event: "Stop", id: "end" }],
      ["3", " status-line", { event: "status-line" }],
      ["4", "", { event: "Stop" }],
    ] as const
  ) {
    ground.payload(name, stop);
    ground.announce(`s3 ${name}${marks}\n`);
    const [{ ranAt: _, payload, ...rest } = {}] = ground.source.read();
    assertEquals([rest, payload], [call, JSON.parse(stop)]);
  }
});

Deno.test("HookSource makes its FIFO again after it was removed", () => {
  using ground = new Ground();
  const { source, path } = ground;
  assertEquals(source.repairFifo(), false);
  ground.payload("1", '{"hook_event_name":"SessionStart"}');
  ground.payload("2", '{"hook_event_name":"Stop"}');
  ground.payload("3", '{"hook_event_name":"StopFailure"}');
  ground.announce("s3 1\n");
  Deno.removeSync(`${path}/fifo`);
  // A shell that opens it for reading and writing makes a file.
  Deno.writeTextFileSync(`${path}/fifo`, "\ns3 2\n");
  assertEquals(source.repairFifo(), true);
  assertEquals(source.read().map(({ event }) => event), ["SessionStart", "Stop"]);
  ground.announce("s3 3\n");
  assertEquals([source.repairFifo(), source.read()[0]?.event], [false, "StopFailure"]);
  for (const other of [() => {}, makeFifo, (at: string) => Deno.symlinkSync("/dev/zero", at)]) {
    Deno.removeSync(`${path}/fifo`);
    other(`${path}/fifo`);
    assertEquals([source.repairFifo(), source.read(), source.repairFifo()], [true, [], false]);
  }
  assertEquals(source.hasLostCalls, false);
  Deno.removeSync(`${path}/fifo`);
  Deno.mkdirSync(`${path}/fifo/full`, { recursive: true });
  source.repairFifo();
  assertEquals(source.hasLostCalls, true);
});

Deno.test("HookSource joins a line that arrives in pieces", () => {
  using ground = new Ground();
  ground.payload("12", '{"hook_event_name":"Stop"}');
  for (const piece of ["s", "3 1", "2"]) {
    ground.announce(piece);
    assertEquals(ground.source.read(), []);
  }
  ground.announce("\n");
  assertEquals(ground.source.read().length, 1);
});

Deno.test("HookSource ignores wrong secrets, invalid payloads and paths", () => {
  using ground = new Ground();
  ground.payload("1", '{"hook_event_name":"Stop"}');
  ground.payload("2", "no json");
  ground.payload("3", '"a string"');
  ground.payload("4", "{}");
  ground.announce("wrong 1\n\nnonsense\ns3 2\ns3 3\ns3 4\ns3 99\ns3 ../fifo\ns3\n");
  assertEquals(ground.source.read(), []);
});

Deno.test("HookSource ignores an endless line", () => {
  using ground = new Ground();
  ground.payload("1", '{"hook_event_name":"Stop"}');
  for (let written = 0; written < 10; written++) {
    ground.announce("x".repeat(60_000));
    assertEquals(ground.source.read(), []);
  }
  ground.announce("\ns3 1\n");
  assertEquals(ground.source.read().length, 1);
});

Deno.test("HookSource notices that hooks cannot write payloads", () => {
  for (
    const lose of [
      (ground: Ground) => ground.announce("s3 unheard\n"),
      (ground: Ground) => Deno.removeSync(`${ground.path}/payloads`),
    ]
  ) {
    using ground = new Ground();
    ground.announce("x unheard\n");
    assertEquals([ground.source.read(), ground.source.hasLostCalls], [[], false]);
    lose(ground);
    assertEquals([ground.source.read(), ground.source.hasLostCalls], [[], true]);
  }
});

Deno.test("HookSource answers shortly by FIFO and at length by file", () => {
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

Deno.test("a long prompt is marked before it is delivered", () => {
  const path = Deno.makeTempDirSync();
  try {
    const { own, hookPath, longPromptsPath, rendezvousPath } = folderParts(path);
    Deno.mkdirSync(own);
    const marked = () => [...Deno.readDirSync(own)].map(({ name }) => `${own}/${name}`);
    using rendezvous = new Rendezvous({ path: rendezvousPath, secret: "s", longPromptsPath });
    rendezvous.send("x".repeat(1500));
    assertEquals(marked(), []);
    for (const _ of [1, 2]) rendezvous.send("x".repeat(1501));
    assertEquals(marked(), [longPromptsPath]);
    const script = hookScript({ own, secret: "s", pid: Deno.pid });
    assert(script.includes(`"$d/${longPromptsPath.slice(own.length + 1)}"`));
    const settings = (marksLong: boolean) =>
      JSON.stringify(hookSettings(hookPath, {
        events: ["Stop", "UserPromptSubmit"],
        held: ["Stop"],
        marksLong,
      }));
    assert(settings(true).includes("set -- prompt; "));
    assert(!settings(false).includes("set -- prompt; "), "an unmarked prompt may be long");
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
});

Deno.test("a long prompt is delivered if it cannot be marked", () => {
  const longPromptsPath = "/proc/self/long-prompts";
  using rendezvous = new Rendezvous({ path: "/proc/self/socket", secret: "s", longPromptsPath });
  rendezvous.send("x".repeat(1501));
  assert(!Deno.readDirSync("/proc/self").some(({ name }) => name === "long-prompts"));
});
