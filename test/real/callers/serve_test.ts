import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { lackOf } from "../../find_tool.ts";
import { serve } from "../../serve/runs/served.ts";
import { startProgram } from "../../start_program.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { RealClaude } from "../real_claude.ts";

const version = REAL_VERSIONS.at(-1) ?? "";
const QUESTION = {
  question: "Which?",
  header: "Pick",
  options: [{ label: "A", description: "a" }, { label: "B", description: "b" }],
  multiSelect: false,
};

Deno.test(unlessLacking(lackOf("python3") ?? lackOf("curl"), {
  name: `${version}: Python and curl hold a conversation over HTTP`,
  fn: async () => {
    await using real = await RealClaude.set(version);
    await using server = await serve({
      args: ["--warm", "0"],
      env: real.home.env,
      cwd: real.home.project,
    });
    const socket = `${server.env.XDG_RUNTIME_DIR}/claude-print/http.sock`;
    const run = async (command: readonly string[]) => {
      const { code, stdout, stderr } = await startProgram(command, {
        env: real.home.env,
        cwd: "/",
      }).ended;
      assertEquals([code, stderr], [0, ""]);
      return stdout;
    };
    const script = new URL("serve_client.py", import.meta.url).pathname;
    const questions = JSON.stringify({ questions: [QUESTION] });
    const said = await run([
      ...["python3", script, socket, real.binary],
      "One. [[bash touch made]] [[say first]]",
      `Two. [[tool AskUserQuestion ${questions}]] [[say second]]`,
    ]);
    const lines = said.trimEnd().split("\n");
    assertMatch(lines[0] ?? "", /^permission Bash: /u);
    assertEquals(lines.slice(1, -1), ["first", "question AskUserQuestion: Which?", "second"]);
    const [path = "", ...state] = lines.at(-1)?.split(" ") ?? [];
    assertEquals(state, ["idle", "2"]);
    await Deno.lstat(`${real.home.project}/made`);
    const answered = real.api.requests.map(({ text }) => text).join("\n");
    assertStringIncludes(answered, 'Which?\\"=\\"B');

    const curl = ["curl", "-sS", "--fail", "--unix-socket", socket];
    assertStringIncludes(await run([...curl, `http://localhost${path}/screen`]), "second");
    const line = JSON.stringify({
      prompt: "Three. [[say third]]",
      args: ["--claude-binary", real.binary],
    });
    const ran = await run([
      ...[...curl, "-H", "content-type: application/json", "-d", line],
      `http://localhost/v1/run?cwd=${real.home.project}`,
    ]);
    assertEquals(JSON.parse(ran).result.result, "third");
    await run([...curl, "-X", "DELETE", `http://localhost${path}`]);
    assertEquals(JSON.parse(await run([...curl, "http://localhost/v1/conversations"])), {
      conversations: [],
    });
  },
}));
