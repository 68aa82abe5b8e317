import { assert, assertEquals, assertMatch } from "@std/assert";
import { type FakeServer, fakeServer, toldOf } from "./fake_server.ts";

const FIRST = JSON.stringify({ type: "system", note: "a\u202eb\u009b" });
const SECOND = JSON.stringify({ type: "result", result: "4" });

/** A server with conversations whose events go on until the test says so. */
async function scene(rest: Promise<string>): Promise<FakeServer> {
  return await fakeServer((_, path) => {
    if (path === "/v1/conversations") {
      return Response.json({
        conversations: [toldOf("aa-1"), toldOf("ab-2"), toldOf("c", { last_event_id: 0 })],
      });
    }
    const body = new ReadableStream<string>({
      start: async (controller) => {
        controller.enqueue(`: \n\nid: 1\ndata: ${FIRST}\n\nid: 2\ndata: ${SECOND}\n\n`);
        controller.enqueue(await rest);
        controller.close();
      },
    });
    return new Response(body.pipeThrough(new TextEncoderStream()));
  });
}

Deno.test("logs prints the frames that there are, and with --follow those to come", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await using server = await scene(promise);
  const { code, stdout, stderr } = await server.run("logs", "aa");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), [
    JSON.parse(FIRST),
    JSON.parse(SECOND),
  ]);
  for (const unseen of ["\u009b", "\u202e"]) assert(!stdout.includes(unseen));
  assertEquals((await server.run("logs", "c")).stdout, "");
  const following = server.run("logs", "aa-1", "--follow");
  resolve('id: 3\ndata: {"type":"late"}\n\nevent: end\ndata: {}\n\n');
  const { code: followed, stdout: all } = await following;
  assertEquals([followed, all], [0, `${stdout}{"type":"late"}\n`]);
});

Deno.test("logs names what is not there, what is not clear, and what was lost", async () => {
  await using server = await scene(
    Promise.resolve('event: problem\ndata: {"detail":"the disk is full"}\n\n'),
  );
  const nobody = await server.run("logs", "zz");
  assertEquals([nobody.code, nobody.stdout], [2, ""]);
  assertMatch(nobody.stderr, /Cannot find the conversation "zz"\n.*claude-print ps/u);
  assertMatch((await server.run("logs", "a")).stderr, /there are 2\n/u);
  const lost = await server.run("logs", "aa", "--follow");
  assertEquals([lost.code, lost.stdout.split("\n").length], [2, 3]);
  assertMatch(lost.stderr, /Cannot print all frames: the disk is full\n/u);
  assertMatch((await server.run("logs")).stderr, /logs needs the id of a conversation/u);
});

Deno.test("logs says that the server is gone in the midst of a conversation", async () => {
  await using server = await scene(Promise.resolve(""));
  const { code, stderr } = await server.run("logs", "aa", "--follow");
  assertEquals(code, 2);
  assertMatch(stderr, /Cannot ask the server: it does not answer\n/u);
});
