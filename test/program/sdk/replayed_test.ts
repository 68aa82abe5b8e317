import { assertEquals } from "@std/assert";
import { neutralText } from "../../../fixtures/record/neutral_text.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { asRecorded } from "../../real/as_recorded.ts";
import {
  masked,
  pythonUser,
  SCENARIOS,
  type Sdk,
  type SdkUser,
  tapeFolder,
  typescriptUser,
} from "./scenarios.ts";
import { writeScript } from "../../write_script.ts";
import { tempFolder } from "../../temp_folder.ts";

const TAPES = new URL("../../../fixtures/recordings/sdk", import.meta.url).pathname;
/** The home that tapes name. */
const HOME = "/home/user";
const python = usablePython();

Deno.test("TypeScript SDK users see the same in a replay", async (test) => {
  await replayedForUser(test, { sdk: "typescript", user: await typescriptUser() });
});

Deno.test(skipIfLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "Python SDK users see the same in a replay",
  fn: async (test) => {
    if (python === undefined) return;
    await replayedForUser(test, { sdk: "python", user: await pythonUser(python) });
  },
}));

/** Plays all scenarios: the nth program that the SDK starts replays the nth tape. */
async function replayedForUser(
  test: Deno.TestContext,
  { sdk, user: { command, argument } }: { readonly sdk: Sdk; readonly user: SdkUser },
): Promise<void> {
  const scenarios = SCENARIOS[sdk];
  const tapes = scenarios.flatMap((scenario) => tapesOf(`${TAPES}/${tapeFolder(sdk, scenario)}`));
  using temp = tempFolder();
  const folder = temp.path;
  const executable = `${folder}/claude`;
  await writeScript(executable, nthTape(tapes, folder));
  // The user waits for this file, which a tool made when the tape was recorded.
  await Deno.writeTextFile(`${folder}/begun`, "");
  const { code, stdout, stderr } = await startProgram(
    [...command, JSON.stringify({ ...argument, executable, scenarios })],
    { env: { HOME: folder, PATH: "/usr/bin:/bin", DENO_DIR: await denoDir() }, cwd: folder },
  ).ended;
  assertEquals([code, stderr], [0, ""]);
  const expected = new Map(await recorded(sdk));
  for (const line of stdout.trimEnd().split("\n")) {
    const { name, seen } = JSON.parse(line);
    await test.step(name, () => assertEquals(masked(seen, HOME), expected.get(name)));
  }
  for (const [index, tape] of tapes.entries()) {
    assertEquals(await reportIn(`${folder}/${index + 1}`, tape), { tape, divergences: [] });
  }
}

function tapesOf(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`)
    .toSorted((one, other) => one.localeCompare(other, "en", { numeric: true }));
}

/** A program that replays the next tape each time it is started. */
function nthTape(tapes: readonly string[], folder: string): string {
  const cases = tapes.map((tape, index) => `${index + 1}) tape=${shellQuote(tape)} ;;`);
  // Programs that start at the same time are named by a variable.
  const named = tapes.map((tape, index) => {
    const [, scenario = "", number] = /([^/]+)\/(\d+)\.jsonl$/u.exec(tape) ?? [];
    return `${scenario.replaceAll("-", " ")}/${number}`
      .replaceAll(" ", "\\ ") + `) run=${index + 1} ;;`;
  });
  return `#!/bin/sh
run=1
case \${QUERY:-} in
${named.join("\n")}
esac
until mkdir ${folder}/$run 2>/dev/null; do run=$((run + 1)); done
case $run in
${cases.join("\n")}
*) exit 70 ;;
esac
echo $$ > ${folder}/$run/pid
exec ${CLAUDE_PRINT.map(shellQuote).join(" ")} cassette replay "$tape" \
  --report ${folder}/$run/report -- "$@"
`;
}

/** What the user saw of claude -p, with the names that tapes have. */
async function recorded(sdk: Sdk): Promise<readonly (readonly [string, unknown])[]> {
  const nobody = {
    version: "2.1.332",
    home: { path: HOME },
    api: { url: "http://api.example.com" },
  };
  const name = `sdk_${sdk}/scenarios` as const;
  const seen = await asRecorded(
    nobody,
    name,
    () => Promise.reject(new Error("Nothing is recorded")),
  );
  const { api: { url: apiUrl } } = nobody;
  return JSON.parse(neutralText(JSON.stringify(seen), { home: HOME, apiUrl, binary: "/claude" }));
}

/**
 * Waits for the report of a replay. An SDK does not wait for a program's end, and kills a program that has not ended 5 s
 * after SIGTERM.
 *
 * @throws {Error} when the replay ends without a report
 */
async function reportIn(folder: string, tape: string): Promise<unknown> {
  const read = (name: string) => Deno.readTextFile(`${folder}/${name}`).catch(() => "");
  const pid = (await read("pid")).trimEnd();
  if (pid === "") throw new Error(`No program has played ${tape}`);
  for (;;) {
    const isOver = await hasEnded(pid);
    const text = await read("report");
    if (text.endsWith("\n")) return JSON.parse(text);
    if (isOver) throw new Error(`The program that played ${tape} has ended without a report`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Whether a process has ended; it may be a zombie. */
async function hasEnded(pid: string): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return !/\) [^ZX] /u.test(stat);
}
