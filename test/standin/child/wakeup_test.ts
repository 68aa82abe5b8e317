import { assertEquals } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { StandIn } from "../stand_in.ts";

const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

const wakeup = (delaySeconds: number) => ({
  name: "ScheduleWakeup",
  input: { delaySeconds, reason: "It takes a while", prompt: "Wake up", noop: false },
});

/** A turn that has the model woken, and that of the woken model. */
const asleep = (delaySeconds = 0.05): Scenario["turns"] => [
  [{ tools: [wakeup(delaySeconds)] }, { text: "First." }],
  [{ text: "Woken by: {prompt}." }],
];
/** It sleeps for longer than any test. */
const FOR_LONG = asleep(3600);

Deno.test("a run waits for the model to be woken and prints what claude -p prints", async () => {
  await using claude = await StandIn.set({ turns: asleep() });
  const text = await claude.printHere(["work"]);
  assertEquals([text.code, text.stdout], [0, "First.\n\nWoken by: Wake up.\n"]);
  const { code, result } = await claude.printHere(["--output-format", "json", "work"]);
  assertEquals([code, result["result"], result["num_turns"]], [0, "Woken by: Wake up.", 1]);
  const { frames } = await claude.printHere([...STREAM_FORMAT, "work"], { wakes: true });
  const said = frames.map(({ type, subtype, state, result }) =>
    [type, type === "system" ? subtype : state ?? result].filter(Boolean).join(" ")
  );
  assertEquals(said, [
    ...["system init", "assistant", "user", "assistant", "result First."],
    ...["command_lifecycle started", "system init", "assistant", "result Woken by: Wake up."],
    "command_lifecycle completed",
  ]);
  const { wakeup_source, scheduled_for, command_uuid } = frames[5] ?? {};
  assertEquals([wakeup_source, typeof scheduled_for], ["loop_wakeup", "number"]);
  assertEquals(frames.at(-1)?.["command_uuid"], command_uuid);
});

Deno.test("the model has itself woken twice, and then no more", async () => {
  const again = { tools: [wakeup(0.05)] };
  const never = { tools: [{ name: "ScheduleWakeup", input: { stop: true } }] };
  await using claude = await StandIn.set({
    turns: [[again, { text: "a" }], [again, { text: "b" }], [again, never, { text: "c" }]],
  });
  const { code, stdout } = await claude.printHere(["work"]);
  assertEquals([code, stdout], [0, "a\n\nb\n\nc\n"]);
});

Deno.test("a failed turn, after which the model is woken, does not make the run fail", async () => {
  const failure = { error: "server_error", status: 500, message: "API Error: 500" };
  const [, woken = []] = asleep();
  await using claude = await StandIn.set({
    turns: [[{ tools: [wakeup(0.05)] }, { failure }], woken],
  });
  const { code, result } = await claude.printHere(["--output-format", "json", "work"]);
  assertEquals([code, result["result"]], [0, "Woken by: Wake up."]);
});

Deno.test("whoever ends a run, or its child, while the model sleeps is told of in a result", async () => {
  for (const [signal, expected] of [["SIGTERM", 143], [undefined, 2]] as const) {
    await using claude = await StandIn.set({ turns: FOR_LONG });
    let end = () => {};
    const printed = new Promise<void>((resolve) => end = resolve);
    const run = claude.start([...STREAM_FORMAT, "work"], {
      wakes: true,
      onStdout: (text) => text.includes('"type":"result"') && end(),
    });
    await printed;
    const [{ pid } = { pid: 0 }] = await claude.journal("start");
    if (signal === undefined) Deno.kill(pid, "SIGKILL");
    else run.kill(signal);
    const { code, frames } = await run.ended;
    const results = frames.filter(({ type }) => type === "result");
    assertEquals([code, results.length, results[0]?.["result"]], [expected, 2, "First."]);
    assertEquals(results[1]?.["is_error"], true);
  }
});
