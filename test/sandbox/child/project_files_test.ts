import { assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import {
  commandNames,
  findCustomCommand,
  pluginDirs,
} from "../../../src/sandbox/child/custom_command.ts";
import { gitRoot, mainCheckout, worktreesOf } from "../../../src/sandbox/child/git_repository.ts";
import { tempFolder } from "../../temp_folder.ts";
import { hasScheduledTasks } from "../../../src/sandbox/child/child_environment.ts";

Deno.test("findCustomCommand() finds commands, skills and workflows by name", () => {
  using folder = tempFolder({
    "user/commands/mine.md": "Do $ARGUMENTS",
    "user/commands/..dotted.md": "",
    "user/commands/group/deep/one.md": "",
    "user/commands/group/folder/SKILL.md": "",
    "user/skills/skill/SKILL.md": "---\nname: shown\ndescription: d\n---\nDo",
    "user/skills/quoted/SKILL.md": "\ufeff---\r\nname: 'in quotes'\r\n---\r\nDo",
    "user/skills/broken/SKILL.md": "---\nname: [\n---",
    "user/skills/flat.md": "",
    "user/workflows/flow.js": 'export const meta = {\n  description: "d",\n  name: "flowing" };',
    "user/skills/forked/SKILL.md": "---\ndescription: d\ncontext: fork\n---\nDo",
    "user/commands/forked2.md": "---\ncontext: 'fork'\nbackground: true\n---",
    "user/skills/waits/SKILL.md": "---\ncontext: fork\nbackground: false\n---\nDo",
    "a/.claude/commands/above.md": "",
    "a/b/.claude/skills/hidden/SKILL.md": "---\nuser-invocable: false\n---",
    "a/b/.claude/commands/hidden2.md": "---\nuser-invocable: 'false'\n---",
    "a/b/c/.claude/commands/below.md": "",
    "added/.claude/commands/added.md": "",
    "plugin/commands/deep/cmd.md": "---\nname: plain\n---",
    "plugin/skills/ps/SKILL.md": "---\nname: ps-shown\n---",
  });
  const { path } = folder;
  const find = (name: string) =>
    findCustomCommand(name, {
      projectRoot: `${path}/a/b`,
      configDir: `${path}/user`,
      addDirs: [`${path}/added`],
      plugins: [`${path}/plugin`],
    });
  const found = {
    invocable: "mine ..dotted group:deep:one group:folder skill shown broken waits flowing above " +
      "added plain ps-shown",
    forked: "forked forked2",
    "model-only": "hidden hidden2",
  };
  for (const [kind, names] of Object.entries(found)) {
    for (const name of names.split(" ")) assertEquals(find(name), kind, name);
  }
  assertEquals(find("in quotes"), "invocable");
  const others =
    "Mine mine.md group group:deep deep:one flat flow below cmd ..:user:commands:mine " +
    "../user/commands/mine group/deep/one . d :";
  for (const name of ["", "x\0", ...others.split(" ")]) {
    assertEquals(find(name), undefined, JSON.stringify(name));
  }
});

Deno.test("findCustomCommand() ignores FIFOs, devices, loops and long lines", () => {
  const long = `---\n${"name : ".repeat(140_000)}\nmeta`;
  using folder = tempFolder({
    ".claude/commands/x": "",
    ".claude/skills/y/z": "",
    ".claude/skills/long/SKILL.md": long,
  });
  const { path } = folder;
  makeFifo(`${path}/.claude/commands/fifo.md`);
  makeFifo(`${path}/.claude/skills/y/SKILL.md`);
  makeFifo(`${path}/.claude/workflows`);
  Deno.symlinkSync("/dev/zero", `${path}/.claude/commands/zero.md`);
  Deno.symlinkSync(".", `${path}/.claude/skills/loop`);
  Deno.symlinkSync(".", `${path}/commands`);
  const places = { projectRoot: path, configDir: `${path}/none`, addDirs: [], plugins: [path] };
  for (const name of ["fifo", "y", "zero", "loop", "other"]) {
    assertEquals(findCustomCommand(name, places), undefined, name);
  }
});

Deno.test("pluginDirs() lists installed plugins that are enabled", () => {
  using folder = tempFolder({
    "plugins/installed_plugins.json": JSON.stringify({
      version: 2,
      plugins: {
        "on@m": [{ scope: "user", installPath: "/p/on" }, { installPath: 5 }],
        "off@m": [{ installPath: "/p/off" }],
        "other@m": [{ installPath: "/p/other" }],
        "odd@m": "odd",
      },
    }),
  });
  const enabled = { enabledPlugins: { "on@m": true, "off@m": false, "odd@m": true, "no@m": true } };
  assertEquals(pluginDirs(folder.path, { settings: [{}, enabled] }), ["/p/on"]);
  assertEquals(pluginDirs(folder.path, { settings: [{ enabledPlugins: 1 }] }), []);
  assertEquals(pluginDirs("/nowhere", { settings: [enabled] }), []);
});

Deno.test("commandNames() lists the names of files and their frontmatter", () => {
  using folder = tempFolder({
    "user/commands/group/one.md": "",
    "user/commands/group/folder/SKILL.md": "",
    "user/skills/skill/SKILL.md": "---\nname: shown\n---\nDo",
    "user/workflows/flow.js": 'export const meta = { name: "flowing" };',
    "a/.claude/skills/above/SKILL.md": "",
    "plugin/skills/ps/SKILL.md": "---\nname: other\n---",
    "named/.claude-plugin/plugin.json": '{"name":"n"}',
    "named/commands/cmd.md": "",
  });
  const { path } = folder;
  const { own, ofPlugins } = commandNames({
    projectRoot: `${path}/a/b`,
    configDir: `${path}/user`,
    addDirs: [],
    plugins: [`${path}/plugin`, `${path}/named`, `${path}/nowhere`],
  });
  assertEquals(own.toSorted(), ["above", "flowing", "group:folder", "group:one", "shown", "skill"]);
  assertEquals(ofPlugins, ["plugin:ps", "plugin:other", "n:cmd"]);
});

Deno.test("hasScheduledTasks() looks in .claude of each folder", () => {
  using folder = tempFolder({ "sub/.claude/x": "" });
  const folders = [`${folder.path}/sub`, folder.path];
  assertEquals(hasScheduledTasks(folders), false);
  Deno.mkdirSync(`${folder.path}/.claude`);
  Deno.symlinkSync("nowhere", `${folder.path}/.claude/scheduled_tasks.json`);
  assertEquals(hasScheduledTasks(folders), true);
});

/** A repository with one worktree, removed at the end of the test. */
class Repository implements Disposable {
  readonly #folder = tempFolder({ "main/sub/": "", "tree/sub/": "" });
  readonly path = this.#folder.path;
  readonly main = `${this.path}/main`;
  readonly tree = `${this.path}/tree`;
  readonly own = `${this.main}/.git/worktrees/tree`;

  constructor() {
    Deno.mkdirSync(this.own, { recursive: true });
    Deno.writeTextFileSync(`${this.tree}/.git`, `gitdir: ${this.own}\n`);
    Deno.writeTextFileSync(`${this.own}/commondir`, "../..\n");
    Deno.writeTextFileSync(`${this.own}/gitdir`, `${this.tree}/.git\n`);
  }

  of(cwd: string, home = this.path): string | undefined {
    return mainCheckout(cwd, { home });
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

Deno.test("mainCheckout() is the root of the repository", () => {
  using ground = new Repository();
  const { main, tree } = ground;
  assertEquals(ground.of(`${main}/sub`), main);
  assertEquals(ground.of(tree), main);
  assertEquals(ground.of(`${tree}/sub`), main);
  assertEquals(ground.of(main), undefined, "the working directory needs no second look");
  assertEquals(ground.of(`${main}/sub`, main), undefined, "the home folder is no project");
  assertEquals(ground.of(ground.path), undefined);
  assertEquals(mainCheckout(`${main}/sub`, { home: undefined }), undefined);
});

Deno.test("mainCheckout() ignores a worktree that its repository disowns", () => {
  using ground = new Repository();
  const { own, tree } = ground;
  Deno.writeTextFileSync(`${own}/gitdir`, `${ground.path}/other/.git\n`);
  assertEquals(ground.of(`${tree}/sub`), tree);
  Deno.writeTextFileSync(`${own}/gitdir`, `${tree}/.git\n`);
  Deno.writeTextFileSync(`${own}/commondir`, "/\n");
  assertEquals(ground.of(`${tree}/sub`), tree);
  Deno.removeSync(`${own}/commondir`);
  makeFifo(`${own}/commondir`);
  assertEquals(ground.of(`${tree}/sub`), tree);
});

Deno.test("gitRoot() is the nearest folder with a .git", () => {
  using folder = tempFolder({
    "repo/.git/": "",
    "repo/sub/x/": "",
    "tree/sub/": "",
    "tree/.git": "gitdir: /elsewhere\n",
  });
  const root = folder.path;
  // Anyone may create such files.
  Deno.symlinkSync("/dev/zero", `${root}/repo/sub/.git`);
  Deno.symlinkSync("nowhere", `${root}/.git`);
  assertEquals(gitRoot(`${root}/repo/sub/x`), `${root}/repo`);
  assertEquals(gitRoot(`${root}/repo`), `${root}/repo`);
  assertEquals(gitRoot(`${root}/tree/sub`), `${root}/tree`);
  assertEquals(gitRoot(root), undefined);
});

Deno.test("worktreesOf() lists a repository and its worktrees", () => {
  using ground = new Repository();
  const { main, tree, path } = ground;
  for (const cwd of [main, `${main}/sub`, tree]) assertEquals(worktreesOf(cwd), [main, tree], cwd);
  assertEquals(worktreesOf(path), []);
});

Deno.test("worktreesOf() ignores worktrees without a valid path", () => {
  using ground = new Repository();
  const { main, tree, own } = ground;
  for (const name of ["empty", "fifo", "relative"]) Deno.mkdirSync(`${own}/../${name}`);
  makeFifo(`${own}/../fifo/gitdir`);
  Deno.writeTextFileSync(`${own}/../relative/gitdir`, "somewhere/.git\n");
  assertEquals(worktreesOf(main), [main, tree]);
});
