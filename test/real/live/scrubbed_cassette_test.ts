import { assert, assertEquals } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { parseFrames } from "../print_mode_facts.ts";

const TALK = ["--allowedTools", "Bash", "--", "Do it. [[bash pwd; id -un]] [[next]] [[say done]]"];

forNewestVersion(
  "a scrubbed cassette tells nothing of where it was recorded, replays, and serves a run elsewhere",
  async (real) => {
    const { env, project, path } = real.home;
    const cassette = `${path}/t/cassette`;
    const stream = ["--output-format", "stream-json", "--verbose"];
    const recorded = await real.printHere([...stream, "--record", cassette, ...TALK]);
    const json = [...stream, "--api-cassette", cassette];
    assertEquals([recorded.code, recorded.stderr], [0, ""]);
    const asked = real.api.requests.length;
    const tell = async (action: string, ...args: readonly string[]) =>
      await startProgram([...CLAUDE_PRINT, "cassette", action, cassette, ...args], {
        env,
        cwd: "/",
      }).ended;
    assert(textsBelow(cassette).includes(project));

    const scrubbed = await tell("scrub");
    assertEquals([scrubbed.code, scrubbed.stderr], [0, ""]);
    const texts = textsBelow(cassette);
    for (const trace of [project, path]) assertEquals(texts.includes(trace), false, trace);
    assertEquals(await tell("lint"), {
      code: 0,
      stdout: `ok    ${cassette} replays as the world, as the program, as the API\n`,
      stderr: "",
    });

    const elsewhere = `${path}/t/elsewhere/deeper`;
    await Deno.mkdir(elsewhere, { recursive: true });
    const played = await real.printHere([...json, ...TALK], {
      cwd: elsewhere,
      env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1" },
    });
    assertEquals([played.code, played.stderr], [0, ""]);
    assertEquals(saidIn(played.stdout), saidIn(recorded.stdout));
    assertEquals(real.api.requests.length, asked);
  },
);

function textsBelow(folder: string): string {
  return [...Deno.readDirSync(folder)].map(({ name, isDirectory }) =>
    isDirectory ? textsBelow(`${folder}/${name}`) : Deno.readTextFileSync(`${folder}/${name}`)
  ).join("\n");
}

function saidIn(stdout: string): readonly unknown[] {
  return parseFrames(stdout).flatMap(({ type, message, result }) =>
    type === "assistant" || type === "result" ? [{ message, result }] : []
  );
}
