import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { framesOn } from "../../../src/cassette/cassette.ts";
import { readCassette } from "../../cassette/read_cassette.ts";
import { joined } from "../../../src/relay/exchanges/exchange.ts";
import { readExchanges } from "../../../src/relay/exchanges/exchange_folder.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { until } from "../../standin/stand_in.ts";
import { startProgram } from "../../start_program.ts";
import { LIMIT_S, timeOut } from "../../time_out.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

const folderOf = (real: RealClaude): string => `${real.home.path}/cassette`;

async function cassette(real: RealClaude, action: "replay" | "svg") {
  return await startProgram([...CLAUDE_PRINT, "cassette", action, folderOf(real)], {
    env: real.home.env,
    cwd: real.home.project,
  }).ended;
}

forNewestVersion(
  "a recorded paste replays, is drawn, and plays as API",
  async (real) => {
    const prompt = "Look\nat [[bash echo $((6*7))]]\n[[say It is 42.]]";
    const run = await real.printHere([
      ...["--inject", "paste", "--allowedTools", "Bash", "--record", folderOf(real), "--"],
      prompt,
    ]);
    assertEquals(run, { code: 0, stdout: "It is 42.\n", stderr: "" });
    assertEquals(real.api.turns.map(({ prompt }) => prompt), [prompt, prompt]);
    const { meta, tape } = readCassette(folderOf(real));
    assertEquals(meta?.claude_code, real.version);
    assertEquals(
      framesOn(tape).map(({ frame }) => frame["type"]).join(" ").replace(/ rate_limit_event/, ""),
      [
        "system",
        "assistant",
        "user",
        "assistant",
        "result",
      ].join(" "),
    );
    const replayed = await cassette(real, "replay");
    assertEquals([replayed.code, replayed.stderr], [0, ""]);
    assertEquals(replayed.stdout, run.stdout);
    const drawn = await cassette(real, "svg");
    assertEquals([drawn.code, drawn.stderr], [0, ""]);
    assertStringIncludes(drawn.stdout, `v${real.version}`);
    assertStringIncludes(drawn.stdout, "It is 42.");
    assert(drawn.stdout.length < 200_000, `${drawn.stdout.length} characters`);
    const asked = real.api.requests.length;
    const json = ["--output-format", "json", "--allowedTools", "Bash"];
    const again = await real.printHere([...json, "--api-cassette", folderOf(real), "--", prompt]);
    assertEquals([again.code, JSON.parse(again.stdout).result], [0, "It is 42."]);
    assertEquals(real.api.requests.length, asked);
    const login = await Deno.readTextFile(real.home.credentials);
    const { claudeAiOauth: { accessToken } } = JSON.parse(login);
    const exchanges = [...Deno.readDirSync(`${folderOf(real)}/api`)].map(({ name }) =>
      `api/${name}`
    );
    assertEquals(exchanges.length, 2);
    for (const name of ["child.cast", "tape.jsonl", ...exchanges]) {
      const text = await Deno.readTextFile(`${folderOf(real)}/${name}`);
      assert(!text.includes(accessToken), `the login in ${name}`);
    }
  },
);

/** What is recorded of the answers of the API. */
function answeredIn(real: RealClaude): string {
  return [...readExchanges(`${folderOf(real)}/api`)]
    .map(({ exchange }) => new TextDecoder().decode(joined(exchange.response?.chunks ?? [])))
    .join("");
}

forNewestVersion(
  "a recorded timeout replays",
  async (real) => {
    const format = ["--output-format", "stream-json", "--verbose"];
    const args = ["--record", folderOf(real), "--", "Hi [[say Half]] [[hang]]"];
    const run = await timeOut(
      real.printHere([...format, "--timeout", `${LIMIT_S}`, ...args]),
      until(() => Promise.resolve(answeredIn(real).includes("Half")), "Half an answer is recorded"),
    );
    assertEquals(run.code, 124);
    assertStringIncludes(run.stderr, `timed out after ${LIMIT_S} s`);
    const { type, subtype, is_error } = parseFrames(run.stdout).at(-1) ?? {};
    assertEquals([type, subtype, is_error], ["result", "timeout", true]);
    // What was being said then is recorded as far as it came.
    const [exchange, ...others] = [...readExchanges(`${folderOf(real)}/api`)];
    assertEquals([others, exchange?.exchange.response?.whole], [[], false]);
    assertStringIncludes(answeredIn(real), "Half");
    const replayed = await cassette(real, "replay");
    assertEquals([replayed.code, replayed.stderr], [0, ""]);
    assertEquals(replayed.stdout, run.stdout);
  },
);
