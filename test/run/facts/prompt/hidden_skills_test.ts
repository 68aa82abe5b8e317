import { assertEquals } from "@std/assert";
import { hiddenSkills } from "../../../../src/run/facts/prompt/hidden_skills.ts";

Deno.test("hiddenSkills() leaves what a caller has chosen, of plugins by the end of the name", async () => {
  const path = await Deno.makeTempDir();
  try {
    for (const name of ["user/skills/a", "user/skills/b", "p/skills/a", "p/skills/ba"]) {
      await Deno.mkdir(`${path}/${name}`, { recursive: true });
      await Deno.writeTextFile(`${path}/${name}/SKILL.md`, "");
    }
    const places = {
      projectRoot: "/",
      configDir: `${path}/user`,
      addDirs: [],
      plugins: [`${path}/p`],
    };
    const hidden = (chosen: readonly string[], version = "2.1.330") => {
      const { own, ofPlugins } = hiddenSkills(chosen, { places, version });
      const looked = ["a", "b", "verify", "dataviz"];
      return [looked.filter((name) => own.includes(name)), ofPlugins.toSorted()];
    };
    assertEquals(hidden([]), [["a", "b", "verify", "dataviz"], ["p:a", "p:ba"]]);
    assertEquals(hidden(["a", "verify"]), [["b", "dataviz"], ["p:ba"]]);
    // A project's names are no way to have settings that Claude Code does not read.
    const named = (letter: string, count: number) =>
      Deno.writeTextFile(
        `${path}/user/skills/b/SKILL.md`,
        `---\nname: ${letter.repeat(count)}\n---\n`,
      );
    const all = () => hiddenSkills([], { places, version: "2.1.330" }).own;
    await named("l", 1000);
    assertEquals(all().includes("l".repeat(1000)), true);
    await named("l", 1_000_000);
    assertEquals(all().every((name) => name.length <= 1000) && all().includes("b"), true);
    assertEquals(hidden(["p:a"]), [["a", "b", "verify", "dataviz"], ["p:ba"]]);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});
