import { assert, assertEquals } from "@std/assert";
import { atHome } from "../../../src/transcript/files/at_home.ts";

const HOMES = { child: "/tmp/run/.claude", user: "/home/$&/.claude" };

Deno.test("atHome: what goes home is named as it will be there, wherever it is named", () => {
  const file = "projects/p/s/tool-results/x.txt";
  const line = {
    uuid: "u",
    toolUseResult: { persistedOutputPath: `/tmp/run/.claude/${file}`, size: 9, none: null },
    message: { content: [{ type: "tool_result", content: `to: /tmp/run/.claude/${file}\n\n1` }] },
  };
  assertEquals(atHome(line, HOMES), {
    uuid: "u",
    toolUseResult: { persistedOutputPath: `/home/$&/.claude/${file}`, size: 9, none: null },
    message: { content: [{ type: "tool_result", content: `to: /home/$&/.claude/${file}\n\n1` }] },
  });
});

Deno.test("atHome: anything else stays, and is the same object", () => {
  const line = {
    cwd: "/tmp/run/.claude/settings.json",
    list: ["/tmp/run/.claudes/projects/", 1, null, { is: true }],
  };
  assert(atHome(line, HOMES) === line);
});
