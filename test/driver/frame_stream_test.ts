import { assert, assertEquals } from "@std/assert";
import { FrameStream } from "../../src/driver/frame_stream.ts";
import type { Frame } from "../../src/wire/frame.ts";

/** A stream that keeps what it emits. */
function collect(version = "unknown"): { readonly stream: FrameStream; readonly frames: Frame[] } {
  const frames: Frame[] = [];
  const stream = new FrameStream({
    sessionId: "s",
    cwd: "/w",
    permissionMode: undefined,
    apiKeySource: "none",
    memoryPath: "/m/",
    servedByAnthropic: true,
    fallbackVersion: () => Promise.resolve(version),
    denialMessages: [],
    runningShells: () => [],
    emit: (frame) => frames.push(frame),
  });
  return { stream, frames };
}

const kinds = (frames: readonly Frame[]) =>
  frames.map(({ type, subtype }) => subtype === undefined ? type : `${type}/${subtype}`);

for (const version of ["2.1.168", "2.1.197", "2.1.330"]) {
  const url = new URL(
    `../../fixtures/transcripts/${version}/bash/transcript.jsonl`,
    import.meta.url,
  );
  const lines = Deno.readTextFileSync(url).trimEnd().split("\n");

  Deno.test(`FrameStream turns a ${version} transcript into init, then a frame for each block and result`, () => {
    const { stream, frames } = collect();
    stream.setModel("claude-opus[1m]");
    for (const line of lines) stream.push(line);
    const [init, ...rest] = frames;
    assertEquals(init?.["claude_code_version"], version);
    assertEquals(init?.["model"], "claude-opus[1m]");
    assertEquals(kinds(frames)[0], "system/init");
    assertEquals(kinds(rest), ["assistant", "assistant", "user", "assistant"]);
  });

  Deno.test(`FrameStream begins a ${version} session before its first answer when told to`, async () => {
    const { stream, frames } = collect();
    const prompt = lines.findIndex((line) => JSON.parse(line).type === "user");
    for (const line of lines.slice(0, prompt)) stream.push(line);
    assert(!stream.prompted);
    stream.begin();
    for (const line of lines.slice(prompt)) {
      stream.push(line);
      if (stream.prompted) stream.begin();
    }
    await stream.finish();
    assertEquals(kinds(frames).filter((kind) => kind === "system/init").length, 1);
    assertEquals(kinds(frames)[0], "system/init");
  });
}

Deno.test("FrameStream shows neither a slash command's prompt nor the text that it became", () => {
  const { stream, frames } = collect();
  const line = (more: object) =>
    stream.push(JSON.stringify({ version: "2.1.330", type: "user", ...more }));
  const remark = (uuid: string, parentUuid: string) =>
    line({ uuid, parentUuid, isMeta: true, message: { role: "user", content: "A remark" } });
  line({ uuid: "p", message: { role: "user", content: "<command-message>x</command-message>" } });
  remark("text", "p");
  stream.begin();
  assertEquals(kinds(frames), ["system/init"]);
  remark("other", "text");
  assertEquals(kinds(frames), ["system/init", "user"]);
});

Deno.test("FrameStream begins a session that wrote nothing with the version the executable gives", async () => {
  const { stream, frames } = collect("2.1.330");
  stream.push("no json");
  stream.push('{"type":"something-new"}');
  await stream.finish();
  assertEquals(kinds(frames), ["system/init"]);
  assertEquals(frames[0]?.["claude_code_version"], "2.1.330");
});

Deno.test("FrameStream holds word of a retry back until the session has begun", () => {
  const { stream, frames } = collect();
  const retry = { attempt: 1, maxRetries: 10, delayMs: 1000, status: 529 };
  stream.retry(retry);
  assertEquals(frames, []);
  stream.begin("2.1.330");
  stream.retry({ ...retry, attempt: 2 });
  assertEquals(kinds(frames), ["system/init", "system/api_retry", "system/api_retry"]);
  assertEquals(frames.slice(1).map(({ attempt }) => attempt), [1, 2]);
});
