import { assertEquals, assertStringIncludes } from "@std/assert";
import { parseArguments } from "../../src/cli/parse_arguments.ts";
import { fakeProgram } from "./fake_program.ts";
import { sha256 } from "./newcomer.ts";
import { testUnderShells } from "./test_under_shells.ts";

const FOLDERS = [
  ".needle",
  ".config/fish",
  ".local/share/man",
  ".local/share/bash-completion",
  ".zfunc",
];

testUnderShells(
  "a first install into an empty home is the program and its record",
  async (user) => {
    const program = fakeProgram({ claude: "2.1.330" });
    const file = await user.release(program);
    assertEquals(await user.install(["--from", file]), {
      code: 0,
      stdout: `Getting ${file}
Installed claude-print 0.1.0: ${user.target}
Found Claude Code 2.1.330

${user.home}/.local/bin is not on PATH. Add this line to ~/.bashrc, and open a new shell:
  export PATH="$HOME/.local/bin:$PATH"
Then "claude-print doctor" looks whether all is well
`,
      stderr: "",
    });
    assertEquals(await user.tree(), {
      ".local/": "",
      ".local/bin/": "",
      ".local/bin/claude-print": `755 ${program}`,
      ".local/share/": "",
      ".local/share/claude-print/": "",
      ".local/share/claude-print/installed": `644 claude-print 0.1.0
${await sha256(program)} ${user.target}
folder ${user.home}/.local/share/claude-print
folder ${user.home}/.local/share
folder ${user.home}/.local/bin
folder ${user.home}/.local
end
`,
    });
  },
);

testUnderShells(
  "completions, manual page and agent file go where there are folders for them",
  async (user) => {
    const before = await user.tree();
    const file = await user.release(fakeProgram());
    const { code } = await user.install(["--from", file], { env: { ZDOTDIR: undefined } });
    assertEquals(code, 0);
    const tree = await user.tree();
    assertEquals(tree[".local/share/man/man1/claude-print.1"], "644 .TH CLAUDE-PRINT 1 0.1.0\n");
    for (
      const [shell, path] of [
        ["bash", ".local/share/bash-completion/completions/claude-print"],
        ["zsh", ".zfunc/_claude-print"],
        ["fish", ".config/fish/completions/claude-print.fish"],
      ] as const
    ) {
      assertEquals(tree[path], `644 # claude-print 0.1.0 for ${shell}\n`);
    }
    assertStringIncludes(tree[".needle/agents/claude-print.yaml"] ?? "", "644 ");
    assertEquals((await user.install(["--uninstall"])).code, 0);
    assertEquals(await user.tree(), before);
  },
  { newcomer: { folders: FOLDERS } },
);

testUnderShells("the folders that XDG and zsh name are used", async (user) => {
  const file = await user.release(fakeProgram());
  const env = {
    XDG_DATA_HOME: `${user.home}/my data`,
    XDG_CONFIG_HOME: `${user.home}/conf`,
    ZDOTDIR: `${user.home}/z`,
  };
  const before = await user.tree();
  assertEquals((await user.install(["--from", file], { env })).code, 0);
  const tree = await user.tree();
  for (
    const path of [
      "my data/claude-print/installed",
      "my data/man/man1/claude-print.1",
      "conf/fish/completions/claude-print.fish",
      "z/completions/_claude-print",
    ]
  ) assertEquals(tree[path]?.slice(0, 4), "644 ", path);
  assertEquals((await user.install(["--uninstall"], { env })).code, 0);
  assertEquals(await user.tree(), before);
}, { newcomer: { folders: ["my data/man", "conf/fish", "z/completions"] }, once: true });

testUnderShells("--prefix needs no HOME, and keeps all below it", async (user) => {
  const file = await user.release(fakeProgram());
  const before = await user.tree();
  for (const args of [["--prefix", "home/opt/cp/"], [`--prefix=${user.home}/opt/cp`]]) {
    const options = { env: { HOME: undefined } };
    const { code, stdout } = await user.install(["--from", file, ...args], options);
    assertEquals(code, 0);
    assertStringIncludes(stdout, `export PATH="${user.home}/opt/cp/bin:$PATH"`);
    const tree = await user.tree();
    assertEquals(tree["opt/cp/bin/claude-print"]?.slice(0, 4), "755 ");
    assertEquals(tree["opt/cp/share/zsh/site-functions/_claude-print"]?.slice(0, 4), "644 ");
    assertEquals(tree["opt/cp/share/man/"], undefined);
    assertEquals((await user.install(["--uninstall", ...args], options)).code, 0);
    assertEquals(await user.tree(), before);
  }
}, { newcomer: { folders: ["opt/cp/share/zsh/site-functions"] } });

testUnderShells("a second install is an upgrade, and says from what to what", async (user) => {
  const old = await user.release(fakeProgram({ version: "0.1.0" }), "old");
  const fresh = await user.release(fakeProgram({ version: "0.2.0-rc.1" }), "new");
  const lines = async (file: string) => {
    const { stdout, stderr, code } = await user.install(["--from", file]);
    assertEquals([code, stderr.replaceAll(/^.*no claude on PATH.*\n/gm, "")], [0, ""]);
    return stdout.split("\n").slice(0, 2);
  };
  await lines(old);
  assertEquals(await lines(fresh), [
    `Getting ${fresh}`,
    `Replaced claude-print 0.1.0 by 0.2.0-rc.1: ${user.target}`,
  ]);
  const tree = await user.tree();
  assertEquals(await lines(fresh), [
    `No need to get ${fresh}: it is here already`,
    `Installed claude-print 0.2.0-rc.1 again: ${user.target}`,
  ]);
  assertEquals(await user.tree(), tree);
  assertEquals(tree[".zfunc/_claude-print"], "644 # claude-print 0.2.0-rc.1 for zsh\n");
  assertEquals((await user.install(["--uninstall"])).code, 0);
  assertEquals(await user.tree(), { ".zfunc/": "" });
}, { newcomer: { folders: [".zfunc"] } });

testUnderShells("a script that comes through a pipe does the same", async (user) => {
  const file = await user.release(fakeProgram());
  const { code, stdout } = await user.install(["--from", file], { piped: true });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "Installed claude-print 0.1.0");
  assertEquals((await user.tree())[".local/bin/claude-print"]?.slice(0, 4), "755 ");
});

testUnderShells("a changed file is neither upgraded nor removed, and is named", async (user) => {
  const agent = `${user.home}/.needle/agents/claude-print.yaml`;
  const first = await user.release(fakeProgram(), "first");
  const second = await user.release(fakeProgram({ version: "0.2.0" }), "second");
  await user.install(["--from", first]);
  await Deno.writeTextFile(agent, "model: opus\n");
  const upgrade = await user.install(["--from", second]);
  assertEquals(upgrade.code, 0);
  assertStringIncludes(upgrade.stdout, `Left as it is, because it was not installed from here or`);
  assertStringIncludes(upgrade.stdout, agent);
  const { code, stdout } = await user.install(["--uninstall"]);
  assertEquals([code, stdout], [
    0,
    `Removed ${user.target}
Left as it is, because it was changed since it was installed: ${agent}
`,
  ]);
  assertEquals(await user.tree(), {
    ".needle/": "",
    ".needle/agents/": "",
    ".needle/agents/claude-print.yaml": "644 model: opus\n",
  });
}, { newcomer: { folders: [".needle"] } });

testUnderShells("a file that somebody else put there is left alone", async (user) => {
  const page = `${user.home}/.local/share/man/man1/claude-print.1`;
  const other = `${user.home}/.zfunc/_claude-print`;
  await Deno.writeTextFile(page, ".TH CLAUDE-PRINT 1 0.1.0\n");
  await Deno.writeTextFile(other, "mine\n");
  const before = await user.tree();
  const { stdout } = await user.install(["--from", await user.release(fakeProgram())]);
  assertEquals(stdout.includes(page), false);
  assertStringIncludes(stdout, `Left as it is`);
  assertEquals((await user.tree())[".zfunc/_claude-print"], "644 mine\n");
  await user.install(["--uninstall"]);
  assertEquals(await user.tree(), before);
}, { newcomer: { folders: [".local/share/man/man1", ".zfunc"] }, once: true });

testUnderShells("the agent file of NEEDLE has its fields", async (user) => {
  await user.install(["--from", await user.release(fakeProgram())]);
  const yaml = (await user.tree())[".needle/agents/claude-print.yaml"] ?? "";
  for (
    const line of [
      "name: claude-print",
      "description: ",
      "agent_cli: claude-print",
      'version_command: "claude-print --version"',
      "input_method:\n  method: stdin",
      "timeout_secs: 3600",
      "provider: anthropic",
      "model: ",
      "output_transform: needle-transform-claude",
      "cost:\n  type: use_or_lose",
    ]
  ) assertStringIncludes(yaml, `\n${line}`);
  const [, folded = ""] = /^invoke_template: >-\n((?: {2}.*\n)+)/m.exec(yaml) ?? [];
  const words = folded.trim().split(/\s+/);
  assertEquals(words.slice(0, 4), ["cd", "{workspace}", "&&", "claude-print"]);
  assertEquals(words.slice(-2), ["<", "{prompt_file}"]);
  const parsed = await parseArguments(words.slice(4, -2));
  assertEquals(parsed.kind === "run" && parsed.request.outputFormat, "stream-json");
}, { newcomer: { folders: [".needle"] }, once: true });

testUnderShells("the line for PATH is one that the user's shell understands", async (user) => {
  const file = await user.release(fakeProgram());
  const advice = async (shell: string) => {
    const { stdout } = await user.install(["--from", file], { env: { SHELL: shell } });
    return stdout.split("\n").slice(-4, -2);
  };
  const start = `${user.home}/.local/bin is not on PATH. Add this line to`;
  const line = '  export PATH="$HOME/.local/bin:$PATH"';
  assertEquals(await advice("/bin/zsh"), [`${start} ~/.zshrc, and open a new shell:`, line]);
  assertEquals(await advice("/usr/bin/fish"), [
    `${start} ~/.config/fish/config.fish, and open a new shell:`,
    '  fish_add_path "$HOME/.local/bin"',
  ]);
  assertEquals(await advice("/bin/sh"), [`${start} ~/.profile, and open a new shell:`, line]);
}, { once: true });

testUnderShells(
  "a folder that is on PATH needs no advice, one that comes late does",
  async (user) => {
    const file = await user.release(fakeProgram());
    const bin = `${user.home}/.local/bin`;
    const onPath = await user.install(["--from", file], { env: { PATH: `${user.tools}:${bin}` } });
    assertEquals(
      onPath.stdout.split("\n").at(-2),
      'Next: "claude-print doctor" looks whether all is well',
    );
    await Deno.writeTextFile(`${user.tools}/claude-print`, "#!/bin/sh\n", { mode: 0o755 });
    const late = await user.install(["--from", file], { env: { PATH: `${user.tools}:${bin}` } });
    assertStringIncludes(
      late.stderr,
      `Warning: ${user.tools}/claude-print comes before ${user.target} on PATH`,
    );
    assertEquals([onPath.code, late.code], [0, 0]);
  },
);

testUnderShells("without a claude on PATH it installs, and warns", async (user) => {
  const { code, stdout, stderr } = await user.install([
    "--from",
    await user.release(fakeProgram()),
  ]);
  assertEquals([code, stdout.includes("Found Claude Code")], [0, false]);
  assertEquals(
    stderr,
    "install.sh: Warning: there is no claude on PATH: claude-print drives Claude Code, so " +
      "install that too\n",
  );
}, { once: true });

testUnderShells(
  "--uninstall warns of a shim that would call a program that is gone",
  async (user) => {
    await user.install(["--from", await user.release(fakeProgram())]);
    const shim = `${user.tools}/claude`;
    await Deno.writeTextFile(shim, "#!/bin/sh\n# claude-print shim, made\n", { mode: 0o755 });
    const { code, stderr } = await user.install(["--uninstall"]);
    assertEquals([code, stderr], [
      0,
      `install.sh: Warning: ${shim} sends calls to claude-print, which goes: remove ${shim} too\n`,
    ]);
  },
);

testUnderShells("--uninstall of what is not installed says where it looked", async (user) => {
  const { code, stdout, stderr } = await user.install(["--uninstall"]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, `there is no ${user.home}/.local/share/claude-print/installed`);
  assertEquals(await user.tree(), {});
});
