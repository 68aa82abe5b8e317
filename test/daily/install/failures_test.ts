import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { missingTool } from "../../missing_tool.ts";
import { MOUNT_LACK } from "../../program/mount_lack.ts";
import { fakeProgram, type InstallOptions, type Newcomer, sha256 } from "./newcomer.ts";
import { type Needs, testUnderShells } from "./test_under_shells.ts";

/** Runs an install that must fail, and checks that it changes nothing. */
async function assertRefused(
  user: Newcomer,
  args: readonly string[],
  expected: { readonly code?: number; readonly stderr: RegExp; readonly options?: InstallOptions },
): Promise<void> {
  const before = await user.tree();
  const { code, stderr } = await user.install(args, expected.options);
  assertMatch(stderr, expected.stderr);
  assertMatch(stderr, /^install\.sh: .*\n {2}\S.*\n$/, "one line of cause, one of advice");
  assertEquals(code, expected.code ?? 1);
  assertEquals(await user.tree(), before);
}

const FAILS = "exit 1";
const uname = (system: string, machine: string) =>
  `case $1 in -s) echo ${system} ;; -m) echo ${machine} ;; esac`;
const MUSL = "echo 'musl libc (x86_64)' >&2; echo Version 1.2.4 >&2; exit 1";
const OLD_LDD = "echo 'ldd (Ubuntu GLIBC 2.31-0ubuntu9) 2.31'; echo Copyright";

/** Machines that are refused before anything is done. */
const MACHINES: Readonly<Record<string, readonly [Needs["newcomer"], RegExp]>> = {
  "an ARM processor": [
    { scripts: { uname: uname("Linux", "aarch64") } },
    /Cannot install on aarch64/,
  ],
  "macOS": [{ scripts: { uname: uname("Darwin", "arm64") } }, /Cannot install on Darwin/],
  "musl": [
    { scripts: { getconf: FAILS, ldd: MUSL } },
    /its libc is musl, and claude-print needs glibc 2\.34/,
  ],
  "an old glibc": [
    { scripts: { getconf: "echo glibc 2.31" } },
    /its glibc is 2\.31, and .* 2\.34 or newer/,
  ],
  "an old glibc of ldd": [{ scripts: { getconf: FAILS, ldd: OLD_LDD } }, /its glibc is 2\.31/],
  "no mv": [{ without: ["mv"] }, /there is no "mv" on PATH/],
};

for (const [name, [newcomer = {}, stderr]] of Object.entries(MACHINES)) {
  testUnderShells(`a machine is refused: ${name}`, async (user) => {
    await assertRefused(user, ["--from", "nowhere"], { stderr });
  }, { newcomer, otherTools: true, once: true });
}

testUnderShells("a machine of unknown libc is accepted", async (user) => {
  const { code } = await user.install(["--from", await user.release(fakeProgram())]);
  assertEquals(code, 0);
}, { newcomer: { without: ["getconf", "ldd"] }, once: true });

testUnderShells("bad flags are refused", async (user) => {
  for (
    const [args, stderr] of [
      [["--prefix"], /--prefix needs a value/],
      [["--version="], /does not take "--version="/],
      [["--version", "latest"], /"latest" is no version/],
      [["--version", "1;rm"], /"1;rm" is no version/],
      [["now"], /does not take "now"/],
    ] as const
  ) await assertRefused(user, args, { code: 2, stderr });
});

testUnderShells("without a tool for checksums nothing is installed", async (user) => {
  const file = await user.release(fakeProgram());
  await assertRefused(user, ["--from", file], { stderr: /none of sha256sum, shasum and openssl/ });
}, { newcomer: { without: ["sha256sum"] }, otherTools: true, once: true });

for (const tool of ["shasum", "openssl"]) {
  testUnderShells(`${tool} replaces sha256sum`, async (user) => {
    const file = await user.release(fakeProgram());
    assertEquals((await user.install(["--from", file])).code, 0);
    await user.release(fakeProgram({ version: "0.2.0" }));
    await Deno.writeTextFile(file, "changed");
    await assertRefused(user, ["--from", file], { stderr: /its SHA-256 is/ });
  }, {
    // shasum is a Perl script.
    newcomer: { without: ["sha256sum"], tools: [tool, "perl"] },
    otherTools: true,
    once: true,
    lack: missingTool(tool),
  });
}

testUnderShells("a bad program or checksum leaves the old program", async (user) => {
  await user.install(["--from", await user.release(fakeProgram(), "good")]);
  const touch = "#!/bin/sh\ntouch $HOME/ran\n";
  const bad = await user.release(fakeProgram({ version: "6.6.6" }), "bad");
  await Deno.writeTextFile(bad, touch);
  await assertRefused(user, ["--from", bad], {
    stderr: new RegExp(`its SHA-256 is ${await sha256(touch)}, not `),
  });
  const broken = "#!/bin/sh\necho 'libfoo.so: cannot open shared object file' >&2\nexit 127\n";
  await assertRefused(user, ["--from", await user.release(broken, "broken")], {
    stderr: /Cannot start the new claude-print: libfoo\.so: cannot open shared object file\n/,
  });
  const other = await user.release("#!/bin/sh\necho other 1.0\n", "other");
  await assertRefused(user, ["--from", other], { stderr: /it is not claude-print/ });
  const again = await user.release(fakeProgram(), "again");
  await assertRefused(user, ["--from", again, "--version", "v0.2.0"], {
    stderr: /it is claude-print 0\.1\.0, not 0\.2\.0/,
  });
}, { once: true });

testUnderShells("a file without its checksum is refused", async (user) => {
  const file = await user.release(fakeProgram());
  const short = "1ba18071a83e2a2b767732c6b1952d83e690d84331054e7d50a38b112385aad\n";
  for (const text of ["<html>Log in</html>\n", "", short]) {
    await Deno.writeTextFile(`${file}.sha256`, text);
    await assertRefused(user, ["--from", file], { stderr: /does not hold a checksum/ });
  }
  await Deno.remove(`${file}.sha256`);
  await assertRefused(user, ["--from", file], {
    stderr: /Cannot get .*\.sha256: there is no such file/,
  });
  await assertRefused(user, ["--from", "gone"], { stderr: /Cannot get gone: there is no such/ });
});

testUnderShells("a FIFO is refused without waiting", async (user) => {
  const file = await user.release(fakeProgram());
  for (const path of [file, `${file}.sha256`]) {
    const text = await Deno.readTextFile(path);
    await Deno.remove(path);
    assertEquals(new Deno.Command("mkfifo", { args: [path] }).outputSync().code, 0);
    const stderr = new RegExp(`Cannot get ${path}: it is no regular file`);
    await assertRefused(user, ["--from", file], { stderr });
    await Deno.remove(path);
    await Deno.writeTextFile(path, text);
  }
});

testUnderShells("a program that is killed is named", async (user) => {
  const killed = await user.release("#!/bin/sh\nkill -KILL $$\n", "killed");
  await assertRefused(user, ["--from", killed], {
    stderr: /Cannot start the new claude-print: it was killed, or did not end within 60 seconds\n/,
  });
  const text = fakeProgram().replace("man) ", () => "man) kill -KILL $$ ;;\n  never) ");
  const { code, stderr } = await user.install(["--from", await user.release(text, "man")]);
  assertEquals(code, 0);
  assertMatch(stderr, /Warning: Cannot make .*claude-print\.1: it was killed, or did not/);
}, { newcomer: { folders: [".local/share/man"] } });

testUnderShells("every program that is started has a time limit", async (user) => {
  await user.install(["--from", await user.release(fakeProgram())]);
  const limits = await Deno.readTextFile(`${user.path}/limits`);
  const commands = limits.replaceAll(/ \S*\//gu, " ").trimEnd().split("\n");
  assertEquals(commands.map((line) => line.split(" ").slice(0, 6).join(" ")), [
    "--foreground -s KILL 3600 cp claude-print-x86_64-linux.sha256",
    "--foreground -s KILL 3600 cp claude-print-x86_64-linux",
    "--foreground -s KILL 60 claude-print --version",
    "--foreground -s KILL 60 claude-print man",
  ]);
}, {
  newcomer: {
    scripts: {
      timeout: '[ "$2" != 1 ] || exit 0; echo "$*" >>"$HOME/../limits"; shift 4; exec "$@"',
    },
    folders: [".local/share/man"],
  },
  otherTools: true,
  once: true,
});

testUnderShells("a folder at the program's path is refused", async (user) => {
  const file = await user.release(fakeProgram());
  await assertRefused(user, ["--from", file], { stderr: /Cannot install to .*: it is a folder/ });
}, { newcomer: { folders: [".local/bin/claude-print"] }, once: true });

testUnderShells("without a record nothing is installed", async (user) => {
  await Deno.writeTextFile(`${user.home}/.local/share`, "in the way");
  const file = await user.release(fakeProgram());
  await assertRefused(user, ["--from", file], {
    stderr: /Cannot write .*\/installed: nothing was/,
  });
}, { newcomer: { folders: [".local"] }, once: true });

testUnderShells("a manual page that cannot be written is a warning", async (user) => {
  await Deno.writeTextFile(`${user.home}/.local/share/man/man1`, "in the way");
  const before = await user.tree();
  const run = await user.install(["--from", await user.release(fakeProgram())]);
  assertEquals(run.code, 0);
  assertMatch(run.stderr, /Warning: Cannot write .*\/man1\/claude-print\.1: /);
  assert(!run.stdout.includes("manual page"));
  await user.install(["--uninstall"]);
  assertEquals(await user.tree(), before);
}, { newcomer: { folders: [".local/share/man"] }, once: true });

/** Runs the installer with a small or read-only disk, and copies the disk after it. */
const ON_ANOTHER_DISK = `
  cp -r "$HOME/.local/bin" "$HOME/before"
  mount -t tmpfs -o size=$0 none "$HOME/.local/bin" || exit 99
  cp "$HOME/before/"* "$HOME/.local/bin"
  case $0 in 4m) mount -o remount,ro "$HOME/.local/bin" || exit 99 ;; esac
  "$@"
  code=$?
  cp -r "$HOME/.local/bin" "$HOME/after"
  exit $code
`;

testUnderShells("a full or read-only disk leaves the old program", async (user) => {
  const old = fakeProgram();
  await user.install(["--from", await user.release(old, "old")]);
  const fresh = await user.release(fakeProgram({ version: "0.2.0", ballast: 200_000 }), "new");
  for (
    const [size, stderr] of [
      ["64k", /^install\.sh: Cannot get .*: no space left on the disk of .*\n {2}Free some/],
      ["4m", /^install\.sh: Cannot write to .*\n {2}Make it writable or free space/],
    ] as const
  ) {
    const run = await user.install(["--from", fresh], {
      wrap: ["unshare", "-rm", "/bin/sh", "-c", ON_ANOTHER_DISK, size],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    assertEquals(run.code, 1, run.stderr);
    assertMatch(run.stderr, stderr);
    const tree = await user.tree();
    const left = Object.entries(tree).filter(([path]) => path.startsWith("after/"));
    assertEquals(left, [["after/", ""], ["after/claude-print", `755 ${old}`]]);
    assertStringIncludes(tree[".local/share/claude-print/installed"] ?? "", await sha256(old));
    for (const name of ["before", "after"]) {
      await Deno.remove(`${user.home}/${name}`, { recursive: true });
    }
  }
}, { lack: MOUNT_LACK, once: true });
