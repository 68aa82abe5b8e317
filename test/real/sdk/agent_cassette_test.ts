import { assert, assertEquals } from "@std/assert";
import { resolve } from "node:path";
import { pythonCassette } from "../../../fixtures/programs/agent_cassette.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { framesOn } from "../../../src/cassette/cassette.ts";
import { readCassette } from "../../../src/cassette/read/read_cassette.ts";
import { parseTape } from "../../../src/cassette/read/parse_tape.ts";
import { surveyCassette } from "../../../src/cassette/read/survey_cassette.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { playedTape } from "../../cassette/program/played_tape.ts";
import { writeClaudePrint } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { RealClaude } from "../real_claude.ts";

const python = usablePython();
const PLAIN = new URL("../../../fixtures/recordings/runs/2.1.330/tools", import.meta.url).pathname;

/** An entry of a tape, whenever it was. */
interface Entry {
  readonly dir: string;
}

const read = ({ dir }: Entry) => dir === "read";

Deno.test(unlessLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "claude-agent-cassette loads and replays tapes of claude-print, which loads its tapes",
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
    assertEquals([code, stderr], [0, ""]);
    const { seen, replayed, alone, ours, own, exchanges, drift } = JSON.parse(stdout);
    assertEquals(seen.map(([, result]: [unknown, string]) => result), ["Done.", "Hello."]);
    assertEquals(replayed, seen);
    assertEquals(alone[0].at(-1), "ResultMessage");
    assertEquals([exchanges, drift], [[1], []]);
    // Both have seen the same wire, whose two directions no clock orders.
    assertEquals(ours.filter(read), own.filter(read));
    const rest = (entries: readonly Entry[]) => entries.filter((entry) => !read(entry));
    assertEquals(rest(ours), rest(own));

    const text = await Deno.readTextFile(tape);
    const parsed = parseTape(text, { path: tape });
    assertEquals(parsed.map(({ at: _, ...entry }) => entry), own);
    // One of theirs is played as the program, too.
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
    const login = await Deno.readTextFile(home.credentials);
    const { claudeAiOauth: { accessToken } } = JSON.parse(login);
    for (const name of ["child.cast", "tape.jsonl", "meta.json"]) {
      assert(!(await Deno.readTextFile(`${recording}/${name}`)).includes(accessToken), name);
    }
  },
}));
