import { assertEquals, assertStringIncludes } from "@std/assert";
import { StandIn } from "../../standin/stand_in.ts";
import { serve } from "./served.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };
const MESSAGES = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
const message = (text: string) =>
  `${JSON.stringify({ type: "user", message: { role: "user", content: text } })}\n`;

Deno.test("a run is carried out by a server where one listens, and without it where that is asked", async () => {
  await using claude = await StandIn.set(ECHO);
  await using server = await serve();
  const { env } = server;
  const print = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await claude.print(["hello", "--trace", ...args], {
      env: { ...env, ...more },
      warns: true,
    });
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    // Whose the private folder is is in its name.
    return stderr.includes(`/${server.pid}-`);
  };
  assertEquals(await print([]), true);
  assertEquals(await print(["--cold"]), false);
  assertEquals(await print([], { CLAUDE_PRINT_SERVE: "off" }), false);
  // What a path begins at is the folder of who has written it.
  assertEquals(await print([], { CLAUDE_CONFIG_DIR: "../.claude" }), false);
  assertEquals(await print(["--record", "own"]), true);
  assertEquals(Deno.statSync(`${claude.home.project}/own/meta.json`).isFile, true);
  const talk = await claude.print([...MESSAGES, "--trace"], {
    stdin: message("one"),
    env,
    warns: true,
  });
  assertEquals([talk.code, talk.result["result"]], [0, "You said one, 1"]);
  assertStringIncludes(talk.stderr, `/${server.pid}-`);
});
