import { assert, assertEquals } from "@std/assert";
import { resolve } from "node:path";
import { pythonCassette } from "../../../fixtures/programs/agent_cassette.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import { findCassettes } from "../../../src/recording/cassette/read/find_cassettes.ts";
import { parseTape } from "../../../src/recording/cassette/read/read_tape.ts";
import { surveyCassette } from "../../../src/recording/cassette/read/survey_cassette.ts";
import { replayCassette } from "../../../src/recording/cassette/replay_cassette.ts";
import { lintCassette } from "../../../src/recording/lint/lint_cassette.ts";
import { scrubCassette } from "../../../src/recording/lint/scrub_cassette.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import { playedTape } from "../../recording/cassette/program/played_tape.ts";
import { writeClaudePrint } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { RealClaude } from "../../real/real_claude.ts";

const python = usablePython();
const PLAIN = new URL("../../../fixtures/recordings/runs/2.1.332/tools", import.meta.url).pathname;

/** Prints the lint findings and the replayed results of each tape. */
const LOAD_AND_REPLAY = `
import asyncio, json, sys
from claude_agent_cassette import lint_tape, load_tape, replay_tape
async def look(path):
    tape, results = load_tape(path), []
    async with replay_tape(tape, mode="stub") as client:
        async for message in client.receive_messages():
            if type(message).__name__ == "ResultMessage":
                results.append(message.result)
                if len(results) == 2:
                    break
    return {"lint": lint_tape(tape), "results": results}
print(json.dumps([asyncio.run(look(path)) for path in sys.argv[1:]]))
`;
const redactor = createRedactor({ env: {} });

/** Python's asyncio warns about a child whose exit status another thread has read. */
const HEARD_TWICE = /^Unknown child process pid \d+, will report returncode 255\n/gmu;

/** An entry of a tape without its time. */
interface Entry {
  readonly dir: string;
}

const read = ({ dir }: Entry) => dir === "read";

Deno.test(skipIfLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "claude-agent-cassette and claude-print replay each other's tapes",
  fn: async () => {
    if (python === undefined) return;
    await using real = await RealClaude.set(REAL_VERSIONS.at(-1) ?? "");
    const { home } = real;
    const executable = `${home.path}/claude-print`;
    await writeClaudePrint(executable, { claude: real.binary });
    const [recording, tape, frames] = ["cassette", "own.jsonl", "frames.jsonl"]
      .map((name) => `${home.path}/${name}`) as [string, string, string];
    const program = resolve(import.meta.dirname ?? ".", "agent_cassette.py");
    const told = JSON.stringify({ executable, recording, plain: PLAIN, tape, frames });
    const { code, stdout, stderr } = await startProgram(
      [await pythonCassette(python), "-B", program, told],
      { env: home.env, cwd: home.project },
    ).ended;
    assertEquals([code, stderr.replaceAll(HEARD_TWICE, "")], [0, ""]);
    const { seen, replayed, alone, ours, own, exchanges, drift } = JSON.parse(stdout);
    assertEquals(seen.map(([, result]: [unknown, string]) => result), ["Done.", "Hello."]);
    assertEquals(replayed, seen);
    assertEquals(alone[0].at(-1), "ResultMessage");
    assertEquals([exchanges, drift], [[1], []]);
    // Both recorded the same wire; its two directions have no common order.
    assertEquals(ours.filter(read), own.filter(read));
    const rest = (entries: readonly Entry[]) => entries.filter((entry) => !read(entry));
    assertEquals(rest(ours), rest(own));

    const text = await Deno.readTextFile(tape);
    const parsed = parseTape(text, { path: tape });
    assertEquals(parsed.map(({ at: _, ...entry }) => entry), own);
    // claude-print replays a tape of the package as the program.
    const said = parsed.flatMap((entry) => entry.dir === "write" ? [entry.data] : []);
    assertEquals(playedTape(parsed, said).divergences, []);
    const older = parseTape(await Deno.readTextFile(frames), { path: frames });
    const plain = readCassette(PLAIN).tape;
    assertEquals(
      framesOn(older).map(({ frame }) => frame),
      framesOn(plain).map(({ frame }) => frame),
    );
    const folder = `${home.path}/theirs`;
    await Deno.mkdir(folder);
    await Deno.writeTextFile(`${folder}/tape.jsonl`, text);
    assertEquals(surveyCassette(folder).turns, 2);

    assertEquals(replayCassette(readCassette(recording)).differences, []);
    const { meta, ended } = surveyCassette(recording);
    assertEquals([meta.claude_code, ended?.exitCode], [real.version, 0]);
    // The package accepts and replays scrubbed tapes.
    for (const { name, kind } of findCassettes([recording, tape, frames])) {
      const found = { name, kind, path: name };
      scrubCassette(found, { blanked: { prompts: false, answers: false }, redactor, known: {} });
      assertEquals(lintCassette(found, { redactor, known: {} }).problems, []);
    }
    const scrubbed = await Deno.readTextFile(tape) +
      await Deno.readTextFile(`${recording}/tape.jsonl`);
    assertEquals(scrubbed.includes(home.path), false);
    const again = await startProgram(
      [await pythonCassette(python), "-B", "-c", LOAD_AND_REPLAY, tape, `${recording}/tape.jsonl`],
      { env: home.env, cwd: home.project },
    ).ended;
    assertEquals([again.code, again.stderr], [0, ""]);
    assertEquals(
      JSON.parse(again.stdout),
      Array(2).fill({ lint: [], results: ["Done.", "Hello."] }),
    );

    const login = await Deno.readTextFile(home.credentials);
    const { claudeAiOauth: { accessToken } } = JSON.parse(login);
    for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
      assert(!(await Deno.readTextFile(`${recording}/${name}`)).includes(accessToken), name);
    }
  },
}));
