import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { StandIn } from "../stand_in.ts";

Deno.test("--trace tells of the steps on stderr, of the command line without secrets, and never the prompt", async () => {
  await using claude = await StandIn.set();
  const env = { LEVEL: "loud-and-clear", A_KEY: "letmein-now" };
  const agents = { one: { description: "One", prompt: "Be one", mcpServers: [{ env }] } };
  for (const inject of ["stdin", "paste"]) {
    const { code, stdout, stderr } = await claude.printHere([
      ...["--trace", "--inject", inject, "--agents", JSON.stringify(agents)],
      ...["--name", "Never say letmein-now or swordfish-42", "open sesame"],
    ], { warns: true, env: { DOOR_PASSWORD: "swordfish-42" } });
    assertEquals([code, stdout], [0, "Hello from the stand-in.\n"]);
    for (const line of stderr.trimEnd().split("\n")) assertMatch(line, /^\[ *\d+ ms\] \S/);
    for (const step of ["sandbox /", "hook Stop", "exit code 0"]) {
      assertStringIncludes(stderr, step);
    }
    assertStringIncludes(stderr, '"env":{"LEVEL":"[redacted]","A_KEY":"[redacted]"}');
    assertStringIncludes(stderr, "Never say [redacted] or [redacted]");
    for (const secret of ["loud-and-clear", "letmein-now", "swordfish-42", "open sesame"]) {
      assert(!stderr.includes(secret), `${secret} in ${stderr}`);
    }
  }
});

Deno.test("the last screen of a failure is shown without secrets", async () => {
  const screen = "The door is open: swordfish-42, sk-ant-api03-0123456789abcdef\r\n";
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7, screen } });
  const { code, stderr } = await claude.printHere(["hello"], {
    env: { DOOR_PASSWORD: "swordfish-42" },
  });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "  | The door is open: [redacted], [redacted]\n");
});
