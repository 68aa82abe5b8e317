import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import { projectSlug } from "../../../src/claude/transcript/session_files.ts";
import { missingTool } from "../../missing_tool.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { asRecorded, type RecordedName } from "../as_recorded.ts";
import { filesBelow } from "../files_below.ts";
import { forNewestVersion, REAL_VERSIONS } from "../for_each_version.ts";
import { parseObject } from "../print_mode_facts.ts";
import { RealClaude } from "../real_claude.ts";
import { textsIn } from "../texts_in.ts";

const JSON_FORMAT = ["--output-format", "json"];

/** Flags for a run that is only looked at. */
const ASIDE = ["--fork-session", "--no-session-persistence"];

/** Path of a session's transcript in the user's config dir. */
function transcriptPath(real: RealClaude, session: unknown): string {
  const slug = projectSlug(real.home.project);
  return `${real.home.config}/projects/${slug}/${session}.jsonl`;
}

async function linesOf(path: string): Promise<readonly JsonObject[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n").map(parseObject);
}

/** The line of the answer that is a text. */
function answerIn(lines: readonly JsonObject[], text: string): JsonObject {
  const line = lines.find(({ type, message }) =>
    type === "assistant" && JSON.stringify(message).includes(JSON.stringify(text))
  );
  assert(line !== undefined, text);
  return line;
}

/** The texts in the latest request. */
const lastConversation = ({ api }: RealClaude) => textsIn(api.turns.at(-1)?.body);

forNewestVersion(
  "sessions are named, continued, shortened and forked",
  async (real) => {
    /** Runs a prompt and gives its session. */
    const say = async (
      who: "printInProcess" | "claudeP",
      args: readonly string[],
    ): Promise<unknown> => {
      const run = await real[who]([...JSON_FORMAT, ...args]);
      assertEquals([run.code, run.stderr], [0, ""]);
      const { session_id, num_turns } = parseObject(run.stdout);
      assertEquals(num_turns, 1);
      return session_id;
    };
    /** The request of `claude -p` for a prompt, without changing the session. */
    const saidByClaude = async (recorded: RecordedName, args: readonly string[]) =>
      await asRecorded(real, recorded, async () => {
        await say("claudeP", [...ASIDE, ...args]);
        return lastConversation(real);
      });

    const session = crypto.randomUUID();
    const begun = ["--session-id", session, "--name", "Some title", "--", "1 [[say one]]"];
    assertEquals(await say("printInProcess", begun), session);
    const path = transcriptPath(real, session);
    assertEquals(await say("claudeP", ["-c", "--", "2 [[say two]]"]), session);
    let before = await Deno.readTextFile(path);
    assertEquals(await say("printInProcess", ["--continue", "--", "3 [[say three]]"]), session);
    const spoken = ["1 [[say one]]", "one", "2 [[say two]]", "two", "3 [[say three]]"];
    assertEquals(lastConversation(real), spoken);
    const after = await Deno.readTextFile(path);
    assert(after.startsWith(before) && after.length > before.length, "it was appended to");
    const lines = await linesOf(path);
    const uuids = lines.flatMap(({ uuid }) => typeof uuid === "string" ? [uuid] : []);
    assertEquals(new Set(uuids).size, uuids.length, "no line is there twice");

    const part = ["--resume", session, "--resume-session-at"];
    const two = String(answerIn(lines, "two")["uuid"]);
    const third = lines.find(({ type, message }) =>
      type === "user" && JSON.stringify(message).includes("three")
    );
    const turn = ["--resume-drops-turn", String(third?.["uuid"])];
    const shortened = [...part, two, ...turn, "--", "4 [[say four]]"];
    const theirs = await saidByClaude("sessions/shortened", shortened);
    before = after;
    assertEquals(await say("printInProcess", shortened), session);
    assertEquals(lastConversation(real), theirs);
    assertEquals(theirs, [...spoken.slice(0, 4), "4 [[say four]]"]);
    const added = (await Deno.readTextFile(path)).slice(before.length);
    assert((await Deno.readTextFile(path)).startsWith(before), "what was left out is still there");
    const prompt = added.trimEnd().split("\n").map(parseObject).find(({ type }) => type === "user");
    const parent = lines.find(({ uuid }) => uuid === prompt?.["parentUuid"]);
    assert(parent !== undefined, "it goes on from a line that was there");
    const sent = {
      type: "user",
      uuid: third?.["uuid"],
      message: { role: "user", content: "Again" },
    };
    const stream = ["-p", "--verbose", "--input-format", "stream-json"];
    const repeated = await real.print(
      [...stream, "--output-format", "stream-json", ...part, two],
      { stdin: JSON.stringify(sent) },
    );
    assertEquals([repeated.code, repeated.stderr], [0, ""]);
    assertEquals(lastConversation(real), theirs, "what was left out has its id still");

    // The shorter branch is the conversation from now on, for both, by its title too.
    const branch = [...theirs, "four"];
    const titled = ["--resume", "some TITLE"];
    assertEquals(await saidByClaude("sessions/by-title", [...titled, "--", "7"]), [...branch, "7"]);
    const unchanged = await Deno.readTextFile(path);
    const fork = await say("printInProcess", [...titled, "--fork-session", "--", "7"]);
    assert(fork !== session, "it has an id of its own");
    assertEquals(lastConversation(real), [...branch, "7"]);
    assertEquals(await Deno.readTextFile(path), unchanged);
    assertStringIncludes(await Deno.readTextFile(transcriptPath(real, fork)), '"7"');
  },
);

forNewestVersion(
  "a saved tool output stays readable in a resumed session",
  async (real) => {
    const stream = ["-p", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
    const first = await real.printInProcess([
      ...stream,
      "--",
      "Go. [[bash seq 1 20000]] [[say one]]",
    ]);
    const [, id = ""] = /"session_id":"([^"]+)/u.exec(first.stdout) ?? [];
    const [, path = ""] = /"persistedOutputPath":"([^"]+)/u.exec(first.stdout) ?? [];
    assert(path.startsWith(`${real.home.config}/projects/`), path);
    assertStringIncludes(first.stdout, `saved to: ${path}\\n`);
    assertStringIncludes(await Deno.readTextFile(path), "\n19999\n");
    const read = `Go on. [[tool Read ${JSON.stringify({ file_path: path, offset: 19_000 })}]]`;
    const { code, stderr } = await real.printInProcess([
      ...stream,
      "--resume",
      id,
      "--",
      `${read} [[say two]]`,
    ]);
    assertEquals([code, stderr], [0, ""]);
    const asked = real.api.turns.at(-1)?.text ?? "";
    assertStringIncludes(asked, `saved to: ${path}\\n`);
    assertStringIncludes(asked, "19001");
  },
);

const [NEWEST = ""] = REAL_VERSIONS.slice(-1);

Deno.test(skipIfLacking(missingTool("git"), {
  name: `${NEWEST}: a session that enters a worktree is moved`,
  fn: async () => {
    await using real = await RealClaude.set(NEWEST);
    const { project, config, env } = real.home;
    const git = "git init -q && git -c user.name=n -c user.email=e commit -q --allow-empty -m x";
    await new Deno.Command("sh", { args: ["-c", git], cwd: project, env, clearEnv: true }).output();
    const id = crypto.randomUUID();
    assertEquals((await real.claudeP(["--session-id", id, "--", "Remember 4711"])).code, 0);
    const run = await real.printInProcess([
      ...[...JSON_FORMAT, "--resume", id, "--allowedTools=EnterWorktree,Bash"],
      ...["--", '[[tool EnterWorktree {"name":"tree"}]] [[bash pwd]] [[say done]]'],
    ]);
    assertEquals([run.code, run.stderr], [0, ""]);
    const { result, num_turns: turns } = parseObject(run.stdout);
    assertEquals([result, turns], ["done", 3]);
    const slug = projectSlug(`${project}/.claude/worktrees/tree`);
    const transcripts = filesBelow(`${config}/projects`);
    assertEquals([...transcripts.keys()], [`${slug}/${id}.jsonl`]);
    const text = transcripts.get(`${slug}/${id}.jsonl`) ?? "";
    assert(text.indexOf("Remember 4711") < text.indexOf("[[say done]]"));
  },
}));
