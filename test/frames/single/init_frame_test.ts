import { assert, assertEquals } from "@std/assert";
import { initFrame } from "../../../src/frames/single/init_frame.ts";

const FACTS = { version: "2.1.332", sessionId: "s", uuid: "u", cwd: "/work dir" };

Deno.test("initFrame: leaves unknown lists empty and unknown facts out", () => {
  const frame = initFrame(FACTS);
  for (const list of ["tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins"]) {
    assertEquals(frame[list], [], list);
  }
  for (const fact of ["model", "memory_paths", "served_by_anthropic", "analytics_disabled"]) {
    assert(!(fact in frame), fact);
  }
  assertEquals([frame.cwd, frame.original_cwd, frame.session_id], ["/work dir", "/work dir", "s"]);
});

Deno.test("initFrame: says whether commands are carried out in a sandbox", () => {
  const told = (facts: object = {}) =>
    initFrame({ ...FACTS, version: "2.1.332", sandboxed: false, ...facts })["sandbox_enabled"];
  assertEquals(told(), false);
  assertEquals(told({ sandboxed: true }), true);
  assertEquals(told({ described: { sandbox_enabled: true } }), true);
});

Deno.test("initFrame: lists Agent as Task, where Agent stands", () => {
  const { tools } = initFrame({ ...FACTS, tools: ["Write", "mcp__a__b", "Bash", "Agent"] });
  assertEquals(tools, ["Task", "Bash", "Write", "mcp__a__b"]);
});

Deno.test("initFrame: prints skills as commands unless the commands are known", () => {
  assertEquals(initFrame({ ...FACTS, skills: ["a"] }).slash_commands, ["a"]);
  const known = initFrame({ ...FACTS, skills: ["a"], slashCommands: ["a", "b"] });
  assertEquals(known.slash_commands, ["a", "b"]);
});
