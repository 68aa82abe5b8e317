import { assert, assertEquals } from "@std/assert";
import { openApiCassette } from "../../../../src/recording/relay/api_cassette.ts";
import { passOn } from "../../../../src/recording/relay/pass_on.ts";
import { startRelay } from "../../../../src/recording/relay/relay_server.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { git } from "../../../git.ts";
import { writeFiles } from "../../../write_files.ts";

const RUNS = 4;
/** Lets Claude Code ask as it asks Anthropic's own API: more of it is another in each run then. */
const OWN_API = { _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1" };
const TALK = [
  ...["--deterministic", "--allowedTools", "Bash", "--"],
  "Do it. [[bash echo one]] [[next]] [[say done]]",
];

forNewestVersion(`${RUNS} deterministic runs send the same requests`, async (real) => {
  await git(real.home, "init", "-q");
  const bodies: string[][] = [];
  using client = Deno.createHttpClient({});
  const upstream = passOn({ upstream: new URL(real.api.url), client });
  // The answers of the first run are recorded, so that the others get the same tool calls.
  const cassette = openApiCassette({
    folder: `${real.home.path}/t/api`,
    match: "exact",
    ignored: [],
    record: upstream,
    speed: 0,
    faults: new Map(),
    redact: (text) => text,
    openFrom: () => Infinity,
    tell: () => {},
  });
  using relay = startRelay({
    answer: (request, gone) => {
      bodies.at(-1)?.push(new TextDecoder().decode(request.body));
      return cassette.answer(request, gone);
    },
  });
  for (let run = 0; run < RUNS; run++) {
    await changeTheWorld(real, run);
    bodies.push([]);
    const options = {
      // 26 hours lie between the two places: it is never the same day in both.
      env: {
        ...OWN_API,
        ANTHROPIC_BASE_URL: relay.url,
        TZ: run % 2 === 0 ? "Etc/GMT+12" : "Etc/GMT-14",
      },
    };
    // The first two run as programs, one in each time zone.
    const { code, stdout, stderr } = run < 2
      ? await real.print(TALK, options)
      : await real.printInProcess(TALK, options);
    assertEquals([code, stdout, stderr], [0, "done\n", ""]);
  }
  const [first = [], ...others] = bodies;
  assertEquals(first.length, 2);
  assert(first.every((body) => body.length > 10_000));
  for (const body of others) assertEquals(body, first);
  assertEquals(cassette.stats().recorded, first.length);
});

/** Changes the repository, the memory and the device, which Claude Code reports to the model. */
async function changeTheWorld(real: RealClaude, run: number): Promise<void> {
  const { project, path, config } = real.home;
  await Deno.writeTextFile(`${project}/file`, `${run}`);
  await git(real.home, "add", "file");
  await git(real.home, "commit", "-qm", `${run}`);
  const memory = `${config}/projects/${project.replaceAll(/[^a-zA-Z0-9]/gu, "-")}/memory`;
  await writeFiles(memory, { "MEMORY.md": `- [Run](run.md): the number is ${run}` });
  const user = JSON.parse(await Deno.readTextFile(`${path}/.claude.json`));
  const userID = `${run}`.padStart(64, "0");
  await Deno.writeTextFile(`${path}/.claude.json`, JSON.stringify({ ...user, userID }));
}
