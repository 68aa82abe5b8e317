import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { forNewestVersion } from "../for_each_version.ts";
import { parseFrames } from "../print_mode_facts.ts";

const TALK = ["--allowedTools", "Bash", "--", "Do it. [[bash echo one]] [[next]] [[say done]]"];

forNewestVersion(
  "--api-cassette plays recorded answers without the API",
  async (real) => {
    const cassette = ["--api-cassette", `${real.home.path}/t/cassette`];
    const json = ["--output-format", "stream-json", "--verbose", ...cassette];
    const recorded = await real.printHere([...json, "--on-miss", "record", ...TALK], {
      env: { TZ: "Etc/GMT+12" },
    });
    assertEquals([recorded.code, recorded.stderr], [0, ""]);
    const asked = real.api.requests.length;
    // Nobody who would answer, and another day: 26 hours lie between the two places.
    const down = {
      env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1", TZ: "Etc/GMT-14" },
    };
    const played = await real.printHere([...json, ...TALK], down);
    assertEquals([played.code, played.stderr], [0, ""]);
    assertEquals(saidIn(played.stdout), saidIn(recorded.stdout));
    for (const { stdout } of [recorded, played]) {
      const [init, ...others] = parseFrames(stdout);
      assert((init?.["tools"] as readonly string[]).includes("Bash"));
      assertEquals(typeof others.at(-1)?.["ttft_ms"], "number");
    }
    assertEquals(real.api.requests.length, asked);
    const live = ["--stream-text", "--exact-stream", ...cassette];
    assertEquals(await real.printHere([...live, ...TALK], down), {
      code: 0,
      stdout: "done\n",
      stderr: "",
    });
    const missed = await real.printHere([...cassette, "--", "Something else"], down);
    assertEquals(missed.code, 1);
    assertMatch(
      missed.stderr,
      /^claude-print: The API failed: 503 Nothing is recorded of this POST /u,
    );
    assertStringIncludes(missed.stderr, "\n  Ask what was recorded, or add --on-miss record, ");
    assertStringIncludes(missed.stderr, "claude-print: Warning: Nothing is recorded of this POST ");
    assertMatch(missed.stderr, /differs first at \/messages\/\d+\/content.*Something else/u);
    assertEquals(real.api.requests.length, asked);
  },
);

/** What is said of a run: the same for the same answers of the API. */
function saidIn(stdout: string): readonly unknown[] {
  return parseFrames(stdout).flatMap(({ type, message, result, usage, total_cost_usd }) =>
    type === "system" ? [] : [{ type, message, result, usage, total_cost_usd }]
  );
}
