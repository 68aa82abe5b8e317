import { assert, assertEquals } from "@std/assert";
import { FIXTURE_RUNS } from "../../../fixtures/record/fixture_runs.ts";
import { API_FOLDER, framesOn } from "../../../src/cassette/cassette.ts";
import { openApiCassette } from "../../../src/relay/api_cassette.ts";
import { startRelay } from "../../../src/relay/relay.ts";
import { RECORDED_RUNS } from "../../cassette/recorded_runs.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { type JsonObject, parseFrames } from "../print_mode_facts.ts";

forNewestVersion("Claude Code runs offline from a fixture", async (real) => {
  const fixtures = RECORDED_RUNS.filter(({ name }) => name.endsWith("/offline"));
  // Another Claude Code than those that are recorded is answered as the newest of them was.
  const fixture = fixtures.find(({ name }) => name.startsWith(real.version)) ?? fixtures.at(-1);
  assert(fixture !== undefined);
  const { folder, cassette: { tape } } = fixture;
  const misses: string[] = [];
  const { answer, stats } = openApiCassette({
    folder: `${folder}/${API_FOLDER}`,
    // Its requests are recorded without what Claude Code writes for the model alone.
    match: "sequence",
    ignored: [],
    speed: 0,
    faults: new Map(),
    redact: (text) => text,
    openFrom: () => Infinity,
    tell: (line) => misses.push(line),
  });
  using relay = startRelay({ answer });
  const { code, stdout, stderr } = await real.printHere([
    ...["--output-format", "stream-json", "--verbose"],
    ...FIXTURE_RUNS["offline"]?.args ?? [],
  ], { env: { ANTHROPIC_BASE_URL: relay.url } });
  assertEquals([code, stderr, misses], [0, "", []]);
  const { requests, hits } = stats();
  assertEquals([requests, hits, real.api.requests.length], [2, 2, 0]);
  const recorded = framesOn(tape).flatMap(({ frame }) => saidBy(frame));
  assertEquals(parseFrames(stdout).flatMap(saidBy), recorded);
});

/** What the model, a tool and the result say in a frame. */
function saidBy({ type, message, result }: JsonObject): readonly unknown[] {
  if (type === "result") return [result];
  return type === "assistant" || type === "user"
    ? [(message as { readonly content: unknown }).content]
    : [];
}
