import { assertEquals } from "@std/assert";
import { StandIn } from "../stand_in.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";

const DA1_ANSWER = "\x1b[?6c";

/** Runs with some probes and returns all that was typed at the child. */
async function answers(scenario: Parameters<typeof StandIn.set>[0]): Promise<string> {
  await using claude = await StandIn.set(scenario);
  const run = await claude.printHere(["hello"]);
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  const reads = await claude.journal("keys");
  return reads.map(({ base64 }) => new TextDecoder().decode(Uint8Array.fromBase64(base64)))
    .join("");
}

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: of the release's own probes DA1 alone is answered, once`, async () => {
    assertEquals(await answers({ version, awaitDa1: true }), DA1_ANSWER);
  });
}

Deno.test("unknown probes are left unanswered, and the DA1 behind them is heard", async () => {
  const unknown = [
    "\x1b[?9999$p",
    "\x1b]7777;?\x07",
    "\x1b[=c",
    "\x1bP+q544e\x1b\\",
    "\x1b_G?\x1b\\",
  ];
  assertEquals(await answers({ awaitDa1: true, probes: [...unknown, "\x1b[c"] }), DA1_ANSWER);
});

Deno.test("every DA1 is answered, in both of its spellings", async () => {
  const typed = await answers({ awaitDa1: true, probes: ["\x1b[0c", "text", "\x1b[c", "\x1b[c"] });
  assertEquals(typed, DA1_ANSWER.repeat(3));
});

Deno.test("a child without probes is typed nothing", async () => {
  assertEquals(await answers({ probes: [] }), "");
});
