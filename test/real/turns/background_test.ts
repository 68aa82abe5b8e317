import { assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { asRecorded, type RecordedName } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { type JsonObject, outlineOfFrames, parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

/** A shell in the background, and an answer that is written until there is a file `go`. */
const patientAnswer = ({ home }: RealClaude): string =>
  `Do it. [[tool Bash ${
    JSON.stringify({ command: "true", description: "Do it", run_in_background: true })
  }]] [[until ${home.project}/go]] [[say started]]`;

/** A subagent in the background that never answers. */
const SILENT_SUBAGENT = `Look. [[tool Agent ${
  JSON.stringify({
    description: "Look around",
    prompt: "Look. [[hang]]",
    subagent_type: "general-purpose",
    run_in_background: true,
  })
}]] [[say started]] [[next]] [[say done]]`;

/** The session's own frames as a list; what tools say holds ids and paths of the run. */
function outlineOf(frames: readonly JsonObject[]): readonly string[] {
  const own = frames.filter(({ parent_tool_use_id: parent }) => typeof parent !== "string");
  return outlineOfFrames(own).map((frame) =>
    frame.replace(/ tool_result\(.*\)$/su, " tool_result")
  );
}

/** Runs a program whose background shell ends once it has printed a sign, and gives all it printed. */
async function printUntil(
  real: RealClaude,
  [program = "", ...args]: readonly string[],
  { sign, env }: { readonly sign: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  const child = new Deno.Command(program, {
    args,
    cwd: real.home.project,
    clearEnv: true,
    env: { ...real.home.env, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const go = `${real.home.project}/go`;
  let printed = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (printed.includes(sign)) await Deno.writeTextFile(go, "");
  }
  assertEquals((await child.status).code, 0);
  await Deno.remove(go);
  return printed;
}

/** Runs `claude-print` like that, and gives what `claude -p` prints of it too. */
async function printBoth(
  real: RealClaude,
  { recorded, args, sign }: {
    readonly recorded: RecordedName;
    readonly args: readonly string[];
    readonly sign: string;
  },
) {
  const all = ["-p", "--allowedTools", "Bash", ...args];
  // Enough for a run that does what it should, and an end for one that waits for its shell.
  const ours = [...CLAUDE_PRINT, "--claude-binary", real.binary, "--timeout", "60", ...all];
  // What `claude -p` leaves in its own TMPDIR does not count.
  const env = { TMPDIR: `${real.home.path}/t` };
  return {
    ours: await printUntil(real, ours, { sign }),
    theirs: await asRecorded(
      real,
      recorded,
      () => printUntil(real, [real.binary, ...all], { sign, env }),
    ),
  };
}

forNewestVersion(
  "a shell that ends while the last answer is written starts a turn, as in claude -p",
  async (real) => {
    const { ours, theirs } = await printBoth(real, {
      recorded: "background/followed",
      args: [...STREAM_FORMAT, "--", patientAnswer(real)],
      sign: '"subtype":"task_updated"',
    });
    const frames = parseFrames(ours);
    assertEquals(outlineOf(frames), outlineOf(parseFrames(theirs)));
    assertEquals(
      frames.filter(({ type }) => type === "result").map(({ result }) => result),
      ["started", "Hello from the scripted API"],
    );
  },
);

forNewestVersion("a subagent in the background is waited for up to the ceiling", async (real) => {
  const args = [...STREAM_FORMAT, "--allowedTools", "Agent", "--", SILENT_SUBAGENT];
  const env = { CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: "500" };
  const message = { type: "user", message: { role: "user", content: SILENT_SUBAGENT } };
  const [ours, said, theirs] = await Promise.all([
    real.print(args, { env }),
    // Nothing more can come on a stdin that is at its end: its results wait as those of one prompt.
    real.print([...args.slice(0, -2), "--input-format", "stream-json"], {
      env,
      stdin: `${JSON.stringify(message)}\n`,
    }),
    real.claudeP(args, { env, recorded: "background/ceiling" }),
  ]);
  assertEquals([ours.code, said.code, theirs.code], [0, 0, 0]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  assertEquals(outlineOf(frames), outlineOf(expected));
  assertEquals(outlineOf(parseFrames(said.stdout)), outlineOf(expected));
  assertEquals(frames.at(-1)?.result, "started");
  assertStringIncludes(ours.stderr, 'subagent "Look around"');
});
