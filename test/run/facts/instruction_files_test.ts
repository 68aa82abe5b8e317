import { assertEquals } from "@std/assert";
import { instructionFiles } from "../../../src/run/facts/instruction_files.ts";

/** What is found in a project with these files, by path, as seen from its folder `inner`. */
function found(
  files: readonly string[],
  { readsProject = true, project = "w/inner" }: {
    readonly readsProject?: boolean;
    readonly project?: string;
  } = {},
): string {
  const top = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    const [root, cwd, userDir] = [`${top}/w`, `${top}/w/inner`, `${top}/user`];
    const projectRoot = `${top}/${project}`;
    for (const dir of [cwd, userDir]) Deno.mkdirSync(dir, { recursive: true });
    for (const file of files) {
      const path = `${top}/${file}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      if (file.endsWith("/link")) Deno.symlinkSync("/nowhere", path);
      else Deno.writeTextFileSync(path, file.endsWith("/empty/CLAUDE.md") ? "" : "Be brief.");
    }
    const { claude, agents, skills } = instructionFiles({
      ...{ cwd, root, userDir, readsProject },
      projectRoot,
    });
    return [claude && "claude", agents && "agents", skills && "skills"].filter(Boolean).join(" ");
  } finally {
    Deno.removeSync(top, { recursive: true });
  }
}

Deno.test("instructionFiles() finds CLAUDE.md and AGENTS.md where Claude Code does", () => {
  assertEquals(found([]), "");
  assertEquals(found(["w/CLAUDE.md"]), "claude");
  assertEquals(found(["w/CLAUDE.md"], { readsProject: false }), "");
  // That of a folder further down says nothing of the others.
  assertEquals(found(["w/inner/CLAUDE.md"]), "");
  for (const above of ["", "w/", "w/inner/"]) {
    assertEquals(found([`${above}AGENTS.md`]), "agents");
    assertEquals(found([`${above}.claude/AGENTS.md`, "w/CLAUDE.md"]), "claude agents");
  }
});

Deno.test("instructionFiles() looks for AGENTS.md below where one would count", () => {
  assertEquals(found(["w/other/deep/AGENTS.md"]), "agents");
  assertEquals(found(["w/other/deep/AGENTS.md", "w/CLAUDE.md"]), "claude");
  assertEquals(found(["w/.git/AGENTS.md", "w/other/agents.md"]), "");
  assertEquals(found(["w/other/link"]), "agents");
});

Deno.test("instructionFiles() takes a project that is too large to look for one that has some", () => {
  const many = (count: number, of: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => of(index));
  assertEquals(found(many(50, (index) => `w/f${index}/x`)), "");
  assertEquals(found(many(70, (index) => `w/f${index}/x`)), "agents");
  assertEquals(found(many(2001, (index) => `w/inner/${index}`)), "agents");
});

Deno.test("instructionFiles() sees skills and commands, which may allow tools", () => {
  for (const dir of ["user", "w/.claude", "w/inner/.claude"]) {
    for (const name of ["skills/s/SKILL.md", "commands/c.md", "agents/a.md"]) {
      assertEquals(found([`${dir}/${name}`]), "skills");
    }
  }
  assertEquals(found(["user/settings.json", "w/.claude/settings.json"]), "");
  assertEquals(found(["w/.claude/skills/s/SKILL.md"], { project: "p" }), "");
  assertEquals(found(["p/.claude/skills/s/SKILL.md"], { project: "p/inner" }), "skills");
});
