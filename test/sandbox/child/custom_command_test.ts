import { assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import {
  commandNames,
  findCustomCommand,
  pluginDirs,
} from "../../../src/sandbox/child/custom_command.ts";

/** A folder with files in it, each named by its path, that is gone after the test. */
async function folderWith(
  files: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "commands-" });
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(`${path}/${name}`.replace(/\/[^/]*$/u, ""), { recursive: true });
    await Deno.writeTextFile(`${path}/${name}`, text);
  }
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("findCustomCommand() knows a command by its file, wherever Claude Code reads it", async () => {
  await using folder = await folderWith({
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
  for (
    const name of [
      ...[
        "mine",
        "..dotted",
        "group:deep:one",
        "group:folder",
        "skill",
        "shown",
        "in quotes",
        "broken",
      ],
      "waits",
      ...["flowing", "above", "added", "plain", "ps-shown"],
    ]
  ) {
    assertEquals(find(name), "invocable", name);
  }
  for (const name of ["forked", "forked2"]) assertEquals(find(name), "forked", name);
  for (const name of ["hidden", "hidden2"]) assertEquals(find(name), "model-only", name);
  for (
    const name of [
      ...["", "Mine", "mine.md", "group", "group:deep", "deep:one", "flat", "flow", "below", "cmd"],
      ...[
        "..:user:commands:mine",
        "../user/commands/mine",
        "group/deep/one",
        ".",
        "d",
        "x\0",
        ":",
      ],
    ]
  ) {
    assertEquals(find(name), undefined, JSON.stringify(name));
  }
});

Deno.test("findCustomCommand() waits for nobody", async () => {
  await using folder = await folderWith({ ".claude/commands/x": "", ".claude/skills/y/z": "" });
  const { path } = folder;
  makeFifo(`${path}/.claude/commands/fifo.md`);
  makeFifo(`${path}/.claude/skills/y/SKILL.md`);
  makeFifo(`${path}/.claude/workflows`);
  await Deno.symlink("/dev/zero", `${path}/.claude/commands/zero.md`);
  await Deno.symlink(".", `${path}/.claude/skills/loop`);
  await Deno.symlink(".", `${path}/commands`);
  const long = `${"name : ".repeat(140_000)}\nmeta`;
  await Deno.mkdir(`${path}/.claude/skills/long`);
  await Deno.writeTextFile(`${path}/.claude/skills/long/SKILL.md`, `---\n${long}`);
  const places = { projectRoot: path, configDir: `${path}/none`, addDirs: [], plugins: [path] };
  for (const name of ["fifo", "y", "zero", "loop", "other"]) {
    assertEquals(findCustomCommand(name, places), undefined, name);
  }
});

Deno.test("pluginDirs() names the plugins that are installed and not turned off", async () => {
  await using folder = await folderWith({
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

Deno.test("commandNames() has the names of files and those that their frontmatter gives, of plugins behind the plugin's", async () => {
  await using folder = await folderWith({
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
