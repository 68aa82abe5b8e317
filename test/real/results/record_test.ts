import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import { joinChunks } from "../../../src/recording/relay/exchange.ts";
import { readExchanges } from "../../../src/recording/relay/exchange_folder.ts";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { until } from "../../program/stand_in.ts";
import { startProgram } from "../../start_program.ts";
import { LIMIT_S, timeOut } from "../../time_out.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

const STREAM = ["--output-format", "stream-json", "--verbose"];
const TOOLS = ["--allowedTools", "Bash"];

const folderOf = (real: RealClaude): string => `${real.home.path}/t/cassette`;

async function cassette(real: RealClaude, action: string) {
  return await startProgram([...CLAUDE_PRINT, "cassette", action, folderOf(real)], {
    env: real.home.env,
    cwd: real.home.project,
  }).ended;
}

/** Messages and result of a run, which do not change where it is replayed. */
function saidIn(stdout: string): readonly unknown[] {
  return parseFrames(stdout).flatMap(({ type, message, result, usage }) =>
    type === "assistant" || type === "result" ? [{ message, result, usage }] : []
  );
}

function textsBelow(folder: string): string {
  return [...Deno.readDirSync(folder)].map(({ name, isDirectory }) =>
    isDirectory ? textsBelow(`${folder}/${name}`) : Deno.readTextFileSync(`${folder}/${name}`)
  ).join("\n");
}

forNewestVersion("a recorded paste replays, is drawn, scrubbed, and played", async (real) => {
  const { project, path, credentials } = real.home;
  const prompt = "Look\nat [[bash pwd; id -un; echo $((6*7))]]\n[[say It is 42.]]";
  const run = await real.printInProcess([
    ...[...STREAM, "--inject", "paste", ...TOOLS, "--record", folderOf(real), "--", prompt],
  ]);
  assertEquals([run.code, run.stderr], [0, ""]);
  assertEquals(real.api.turns.map(({ prompt }) => prompt), [prompt, prompt]);
  const { meta, tape } = readCassette(folderOf(real));
  assertEquals(meta?.claude_code, real.version);
  const kinds = framesOn(tape).map(({ frame }) => frame["type"])
    .filter((type) => type !== "rate_limit_event");
  assertEquals(kinds, ["system", "assistant", "user", "assistant", "result"]);
  const replayed = await cassette(real, "replay");
  assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
  const drawn = await cassette(real, "svg");
  assertEquals([drawn.code, drawn.stderr], [0, ""]);
  assertStringIncludes(drawn.stdout, `v${real.version}`);
  assertStringIncludes(drawn.stdout, "It is 42.");
  assert(drawn.stdout.length < 200_000, `${drawn.stdout.length} characters`);
  const { claudeAiOauth: { accessToken } } = JSON.parse(await Deno.readTextFile(credentials));
  const recorded = textsBelow(folderOf(real));
  assertEquals([recorded.includes(accessToken), recorded.includes(project)], [false, true]);
  const scrubbed = await cassette(real, "scrub");
  assertEquals([scrubbed.code, scrubbed.stderr], [0, ""]);
  assertEquals(textsBelow(folderOf(real)).includes(path), false);
  assertEquals(await cassette(real, "lint"), {
    code: 0,
    stdout: `ok    ${folderOf(real)} replays as the world, as the program, as the API\n`,
    stderr: "",
  });
  const asked = real.api.requests.length;
  const elsewhere = `${path}/t/elsewhere/deeper`;
  await Deno.mkdir(elsewhere, { recursive: true });
  const played = await real.printInProcess(
    [...STREAM, ...TOOLS, "--api-cassette", folderOf(real), "--", prompt],
    { cwd: elsewhere, env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1" } },
  );
  assertEquals([played.code, played.stderr], [0, ""]);
  assertEquals(saidIn(played.stdout).length, saidIn(run.stdout).length);
  assertStringIncludes(played.stdout, '"result":"It is 42."');
  assertEquals(real.api.requests.length, asked, "the API is not asked");
});

forNewestVersion("--api-cassette plays recorded answers without the API", async (real) => {
  const talk = [...TOOLS, "--", "Do it. [[bash echo one]] [[next]] [[say done]]"];
  const play = ["--api-cassette", folderOf(real)];
  const json = [...STREAM, ...play];
  const recorded = await real.printInProcess([...json, "--on-miss", "record", ...talk], {
    env: { TZ: "Etc/GMT+12" },
  });
  assertEquals([recorded.code, recorded.stderr], [0, ""]);
  const asked = real.api.requests.length;
  // No API, and another day: 26 hours lie between the two time zones.
  const down = { env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1", TZ: "Etc/GMT-14" } };
  const played = await real.printInProcess([...json, ...talk], down);
  assertEquals([played.code, played.stderr], [0, ""]);
  assertEquals(saidIn(played.stdout), saidIn(recorded.stdout));
  const live = await real.printInProcess(
    ["--stream-text", "--exact-stream", ...play, ...talk],
    down,
  );
  assertEquals(live, { code: 0, stdout: "done\n", stderr: "" });
  const missed = await real.printInProcess([...play, "--", "Something else"], down);
  assertEquals(missed.code, 1);
  assertMatch(
    missed.stderr,
    /^claude-print: The API failed: 503 Nothing is recorded of this POST /u,
  );
  assertStringIncludes(missed.stderr, "\n  Ask what was recorded, or add --on-miss record, ");
  assertMatch(missed.stderr, /differs first at \/messages\/\d+\/content.*Something else/u);
  assertEquals(real.api.requests.length, asked);
});

/** The recorded answers of the API. */
function answeredIn(real: RealClaude): string {
  return [...readExchanges(`${folderOf(real)}/api`)]
    .map(({ exchange }) => new TextDecoder().decode(joinChunks(exchange.response?.chunks ?? [])))
    .join("");
}

forNewestVersion("a recorded timeout replays", async (real) => {
  const args = ["--record", folderOf(real), "--", "Hi [[say Half]] [[hang]]"];
  const run = await timeOut(
    real.printInProcess([...STREAM, "--timeout", `${LIMIT_S}`, ...args]),
    until(() => answeredIn(real).includes("Half"), "half an answer is recorded"),
  );
  assertEquals(run.code, 124);
  assertStringIncludes(run.stderr, `timed out after ${LIMIT_S} s`);
  const { type, subtype, is_error } = parseFrames(run.stdout).at(-1) ?? {};
  assertEquals([type, subtype, is_error], ["result", "timeout", true]);
  // The answer is recorded as far as it came.
  const [exchange, ...others] = [...readExchanges(`${folderOf(real)}/api`)];
  assertEquals([others, exchange?.exchange.response?.whole], [[], false]);
  const replayed = await cassette(real, "replay");
  assertEquals([replayed.code, replayed.stderr, replayed.stdout], [0, "", run.stdout]);
});
