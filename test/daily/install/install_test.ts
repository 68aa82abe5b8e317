import { assertEquals, assertStringIncludes } from "@std/assert";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { fakeProgram, sha256 } from "./newcomer.ts";
import { testUnderShells } from "./test_under_shells.ts";

testUnderShells("a first install is the program and its record", async (user) => {
  const program = fakeProgram({ claude: "2.1.330" });
  const file = await user.release(program);
  const expected = {
    code: 0,
    stdout: `Getting ${file}
Installed claude-print 0.1.0: ${user.target}
Found Claude Code 2.1.330

${user.home}/.local/bin is not on PATH. Add this line to ~/.bashrc, and open a new shell:
  export PATH="$HOME/.local/bin:$PATH"
Then "claude-print doctor" looks whether all is well
`,
    stderr: "",
  };
  const record = `644 claude-print 0.1.0
${await sha256(program)} ${user.target}
folder ${user.home}/.local/share/claude-print
folder ${user.home}/.local/share
folder ${user.home}/.local/bin
folder ${user.home}/.local
end
`;
  for (const piped of [false, true]) {
    assertEquals(await user.install(["--from", file], { piped }), expected);
    assertEquals(await user.tree(), {
      ".local/": "",
      ".local/bin/": "",
      ".local/bin/claude-print": `755 ${program}`,
      ".local/share/": "",
      ".local/share/claude-print/": "",
      ".local/share/claude-print/installed": record,
    });
    assertEquals((await user.install(["--uninstall"])).code, 0);
    assertEquals(await user.tree(), {});
  }
});

/** Folders that other programs have made, the environment, and what is put where. */
const PLACES = [
  {
    folders: [".needle", ".config/fish", ".local/share/man", ".local/share/bash-completion"]
      .concat(".zfunc"),
    env: () => ({ ZDOTDIR: undefined }),
    files: {
      ".local/share/man/man1/claude-print.1": ".TH CLAUDE-PRINT 1 0.1.0\n",
      ".local/share/bash-completion/completions/claude-print": "# claude-print 0.1.0 for bash\n",
      ".zfunc/_claude-print": "# claude-print 0.1.0 for zsh\n",
      ".config/fish/completions/claude-print.fish": "# claude-print 0.1.0 for fish\n",
      ".needle/agents/claude-print.yaml": "",
    },
  },
  {
    folders: ["my data/man", "conf/fish", "z/completions"],
    env: (home: string) => ({
      XDG_DATA_HOME: `${home}/my data`,
      XDG_CONFIG_HOME: `${home}/conf`,
      ZDOTDIR: `${home}/z`,
    }),
    files: {
      "my data/claude-print/installed": "",
      "my data/man/man1/claude-print.1": "",
      "conf/fish/completions/claude-print.fish": "",
      "z/completions/_claude-print": "",
    },
  },
];

for (const { folders, env, files } of PLACES) {
  testUnderShells(`manual page and completions go to ${folders.at(-1)}`, async (user) => {
    const before = await user.tree();
    const file = await user.release(fakeProgram());
    const options = { env: env(user.home) };
    assertEquals((await user.install(["--from", file], options)).code, 0);
    const tree = await user.tree();
    for (const [path, text] of Object.entries(files)) {
      assertEquals(tree[path]?.startsWith(`644 ${text}`), true, path);
    }
    assertEquals((await user.install(["--uninstall"], options)).code, 0);
    assertEquals(await user.tree(), before);
  }, { newcomer: { folders } });
}

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

testUnderShells("a second install is an upgrade", async (user) => {
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

testUnderShells("changed and foreign files are left alone", async (user) => {
  const agent = `${user.home}/.needle/agents/claude-print.yaml`;
  const foreign = `${user.home}/.zfunc/_claude-print`;
  await Deno.writeTextFile(foreign, "mine\n");
  const first = await user.release(fakeProgram(), "first");
  const second = await user.release(fakeProgram({ version: "0.2.0" }), "second");
  await user.install(["--from", first]);
  await Deno.writeTextFile(agent, "model: opus\n");
  const upgrade = await user.install(["--from", second]);
  assertEquals(upgrade.code, 0);
  assertStringIncludes(upgrade.stdout, "Left as it is, because it was not installed from here or");
  for (const path of [agent, foreign]) assertStringIncludes(upgrade.stdout, path);
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
    ".zfunc/": "",
    ".zfunc/_claude-print": "644 mine\n",
  });
}, { newcomer: { folders: [".needle", ".zfunc"] } });

testUnderShells("the agent file of NEEDLE has its fields", async (user) => {
  await user.install(["--from", await user.release(fakeProgram())]);
  const yaml = (await user.tree())[".needle/agents/claude-print.yaml"] ?? "";
  for (
    const line of [
      ...["name: claude-print", "description: ", "agent_cli: claude-print"],
      'version_command: "claude-print --version"',
      ...["input_method:\n  method: stdin", "timeout_secs: 3600", "provider: anthropic"],
      ...["model: ", "output_transform: needle-transform-claude", "cost:\n  type: use_or_lose"],
    ]
  ) assertStringIncludes(yaml, `\n${line}`);
  const [, folded = ""] = /^invoke_template: >-\n((?: {2}.*\n)+)/m.exec(yaml) ?? [];
  const words = folded.trim().split(/\s+/);
  assertEquals(words.slice(0, 4), ["cd", "{workspace}", "&&", "claude-print"]);
  assertEquals(words.slice(-2), ["<", "{prompt_file}"]);
  const parsed = await parseArguments(words.slice(4, -2));
  assertEquals(parsed.kind === "run" && parsed.request.outputFormat, "stream-json");
}, { newcomer: { folders: [".needle"] }, once: true });

testUnderShells("the advice for PATH is of the user's shell", async (user) => {
  const file = await user.release(fakeProgram());
  const bin = `${user.home}/.local/bin`;
  const advice = async (shell: string) => {
    const { stdout } = await user.install(["--from", file], { env: { SHELL: shell } });
    return stdout.split("\n").slice(-4, -2);
  };
  const start = `${bin} is not on PATH. Add this line to`;
  const line = '  export PATH="$HOME/.local/bin:$PATH"';
  assertEquals(await advice("/bin/zsh"), [`${start} ~/.zshrc, and open a new shell:`, line]);
  assertEquals(await advice("/usr/bin/fish"), [
    `${start} ~/.config/fish/config.fish, and open a new shell:`,
    '  fish_add_path "$HOME/.local/bin"',
  ]);
  assertEquals(await advice("/bin/sh"), [`${start} ~/.profile, and open a new shell:`, line]);
  const options = { env: { PATH: `${user.tools}:${bin}` } };
  const onPath = await user.install(["--from", file], options);
  assertEquals(
    onPath.stdout.split("\n").at(-2),
    'Next: "claude-print doctor" looks whether all is well',
  );
  assertEquals(
    onPath.stderr,
    "install.sh: Warning: there is no claude on PATH: claude-print drives Claude Code, so " +
      "install that too\n",
  );
  await Deno.writeTextFile(`${user.tools}/claude-print`, "#!/bin/sh\n", { mode: 0o755 });
  const late = await user.install(["--from", file], options);
  assertStringIncludes(
    late.stderr,
    `Warning: ${user.tools}/claude-print comes before ${user.target} on PATH`,
  );
}, { once: true });

testUnderShells("--uninstall warns of a shim, or that nothing is installed", async (user) => {
  const nothing = await user.install(["--uninstall"]);
  assertEquals([nothing.code, nothing.stdout], [1, ""]);
  assertStringIncludes(
    nothing.stderr,
    `there is no ${user.home}/.local/share/claude-print/installed`,
  );
  await user.install(["--from", await user.release(fakeProgram())]);
  const shim = `${user.tools}/claude`;
  await Deno.writeTextFile(shim, "#!/bin/sh\n# claude-print shim, made\n", { mode: 0o755 });
  const { code, stderr } = await user.install(["--uninstall"]);
  assertEquals([code, stderr], [
    0,
    `install.sh: Warning: ${shim} sends calls to claude-print, which goes: remove ${shim} too\n`,
  ]);
});
