import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { forNewestVersion } from "./for_each_version.ts";
import type { RealClaude } from "./real_claude.ts";

/** The tools that a request offers to the model. */
function toolsOf(real: RealClaude, index: number): readonly string[] {
  const { tools = [] } = real.api.turns[index]?.body as {
    readonly tools?: readonly { readonly name: string }[];
  };
  return tools.map(({ name }) => name).toSorted();
}

forNewestVersion(
  "--restricted offers the tools of claude -p, and heeds no project's settings",
  async (real) => {
    await Deno.mkdir(`${real.home.project}/.claude`);
    const command = `touch ${real.home.path}/hook-ran`;
    await Deno.writeTextFile(
      `${real.home.project}/.claude/settings.json`,
      JSON.stringify({
        permissions: { defaultMode: "acceptEdits" },
        hooks: { UserPromptSubmit: [{ hooks: [{ type: "command", command }] }] },
      }),
    );
    const args = ["--restricted", "--", "Hi [[say yes]]"];
    const ours = await real.print(args);
    const theirs = await real.claudeP(args);
    assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout], ours.stderr);
    assertEquals(toolsOf(real, 0), toolsOf(real, 1));
    assert(!toolsOf(real, 0).includes("Bash"), "no tool that runs code");
    assertEquals(
      [...Deno.readDirSync(real.home.path)].filter(({ name }) => name === "hook-ran"),
      [],
    );
  },
);

forNewestVersion("--restricted takes no mode from a project", async (real) => {
  await Deno.mkdir(`${real.home.project}/.claude`);
  await Deno.writeTextFile(
    `${real.home.project}/.claude/settings.json`,
    JSON.stringify({ permissions: { defaultMode: "acceptEdits" } }),
  );
  const args = ["--output-format", "stream-json", "--verbose", "--restricted", "--", "Hi"];
  for (const { stdout } of [await real.print(args), await real.claudeP(args)]) {
    assertStringIncludes(stdout, '"permissionMode":"default"');
  }
});
