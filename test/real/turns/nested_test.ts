import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { projectSlug } from "../../../src/transcript/files/project_slug.ts";
import { filesBelow } from "../files_below.ts";
import { lackOf } from "../../find_tool.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion, REAL_VERSIONS } from "../for_each_version.ts";
import { factsOfResult, parseObject } from "../print_mode_facts.ts";
import { RealClaude } from "../real_claude.ts";

const JSON_FORMAT = ["--output-format", "json"];

/** Hooks of the project that start `claude -p`: two for new sessions, one that resumes the session. */
async function nestClaude({ binary, home: { path, project } }: RealClaude): Promise<string> {
  const log = `${path}/nested`;
  const ask =
    `[ -n "$NESTED" ] || NESTED=1 '${binary}' -p 'Nested [[say asked]]' >> ${log} < /dev/null`;
  const resume = `[ -n "$NESTED" ] || NESTED=1 '${binary}' -p --resume \
    "$(sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')" 'Sum it up [[say summed up]]' >> ${log} < /dev/null`;
  const commands = { SessionStart: ask, UserPromptSubmit: ask, Stop: resume };
  await Deno.mkdir(`${project}/.claude`);
  await Deno.writeTextFile(
    `${project}/.claude/settings.json`,
    JSON.stringify({
      hooks: Object.fromEntries(
        Object.entries(commands).map((
          [event, command],
        ) => [event, [{ hooks: [{ type: "command", command: `${command}; true` }] }]]),
      ),
    }),
  );
  return log;
}

forNewestVersion(
  "sessions that hooks start are kept but not printed",
  async (real) => {
    const log = await nestClaude(real);
    const projects = `${real.home.config}/projects`;
    const args = [...JSON_FORMAT, "--allowedTools=Bash", "--", "[[bash echo hi]] [[say done]]"];
    const facts = async (run: RealClaude["print"]) => {
      const { code, stdout, stderr } = await run(args);
      assertEquals([code, stderr], [0, ""]);
      const result = parseObject(stdout);
      assertEquals(await Deno.readTextFile(log), "asked\nasked\nsummed up\n");
      const texts = [...filesBelow(projects)].filter(([path]) => path.endsWith(".jsonl"));
      const [own = ""] = texts.filter(([path]) => path.includes(`${result.session_id}`))
        .map(([, text]) => text);
      for (const text of ["[[say done]]", "Sum it up"]) assertStringIncludes(own, text);
      assertEquals(texts.length, 3);
      await Deno.remove(log);
      await Deno.remove(projects, { recursive: true });
      return factsOfResult(result);
    };
    const ours = await facts((args) => real.printHere(args));
    assertEquals([ours.result, ours.num_turns], ["done", 2]);
    const theirs = await asRecorded(
      real,
      "nested/hooks",
      () => facts((args) => real.claudeP(args)),
    );
    assertEquals(ours, { ...theirs, claude_version: real.version });
  },
);

const [NEWEST = ""] = REAL_VERSIONS.slice(-1);

Deno.test(unlessLacking(lackOf("git"), {
  name: `${NEWEST}: a session that enters a worktree is moved`,
  fn: async () => {
    await using real = await RealClaude.set(NEWEST);
    const { project, config, env } = real.home;
    const git = "git init -q && git -c user.name=n -c user.email=e commit -q --allow-empty -m x";
    await new Deno.Command("sh", { args: ["-c", git], cwd: project, env, clearEnv: true }).output();
    const id = crypto.randomUUID();
    assertEquals((await real.claudeP(["--session-id", id, "--", "Remember 4711"])).code, 0);
    const run = await real.printHere([
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
