import { assert, assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import {
  createUnits,
  findUnitFolder,
  installUnits,
  isOurUnit,
  takeInheritedSocket,
  uninstallUnits,
  type UnitOptions,
} from "../../../src/server/systemd_units.ts";
import { missingTool } from "../../missing_tool.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { tempFolder } from "../../temp_folder.ts";

const UNITS = createUnits({ program: ["/bin/true"], flags: [], env: {}, umask: 0o22 });
const NAMES = UNITS.map(({ name }) => name);

/** Has a folder for units that is not there yet. */
async function inFolder(test: (folder: string) => void | Promise<void>): Promise<void> {
  using temp = tempFolder();
  const root = temp.path;
  await test(`${root}/systemd/user`);
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();

Deno.test("units are installed, replaced and removed", async () => {
  await inFolder((folder) => {
    const paths = NAMES.map((name) => `${folder}/${name}`);
    assertEquals(installUnits(folder, UNITS), paths);
    const others = createUnits({ program: ["/bin/false"], flags: [], env: {}, umask: 0 });
    assertEquals(installUnits(folder, others), paths);
    assertEquals(paths.map((path) => Deno.readTextFileSync(path)), others.map(({ text }) => text));
    assertEquals(names(folder), NAMES.toSorted());
    assertEquals(uninstallUnits(folder, NAMES), paths);
    assertEquals(uninstallUnits(folder, NAMES), []);
    assertEquals(names(folder), []);
  });
});

Deno.test("uninstalling removes systemctl's links, not the user's", async () => {
  await inFolder((folder) => {
    installUnits(folder, UNITS);
    for (const wants of ["default.target.wants", "mine.target.wants"]) {
      Deno.mkdirSync(`${folder}/${wants}`);
    }
    Deno.symlinkSync(
      `${folder}/claude-print.service`,
      `${folder}/default.target.wants/claude-print.service`,
    );
    Deno.symlinkSync("/elsewhere", `${folder}/mine.target.wants/claude-print.service`);
    uninstallUnits(folder, NAMES);
    assertEquals(names(`${folder}/default.target.wants`), []);
    assertEquals(names(`${folder}/mine.target.wants`), ["claude-print.service"]);
  });
});

/** What may be in the place of a unit, and be somebody's. */
const FOREIGN: Readonly<Record<string, (path: string) => void>> = {
  "a unit of somebody's own": (path) => Deno.writeTextFileSync(path, "[Service]\nExecStart=/x\n"),
  "an empty file": (path) => Deno.writeTextFileSync(path, ""),
  "a unit that somebody has changed": (path) =>
    Deno.writeTextFileSync(path, `${UNITS[1]?.text}Environment=A=1\n`),
  "a link to a unit of ours": (path) => {
    Deno.writeTextFileSync(`${path}.real`, `${UNITS[1]?.text}`);
    Deno.symlinkSync(`${path}.real`, path);
  },
  "a link to nothing": (path) => Deno.symlinkSync("/nowhere/at/all", path),
  "a folder": (path) => Deno.mkdirSync(path),
  "a file without an end": (path) => Deno.symlinkSync("/dev/zero", path),
};

for (const [what, put] of Object.entries(FOREIGN)) {
  Deno.test(`${what} is neither overwritten nor removed`, async () => {
    await inFolder((folder) => {
      Deno.mkdirSync(folder, { recursive: true });
      put(`${folder}/claude-print.service`);
      const before = names(folder);
      assertThrows(() => installUnits(folder, UNITS), CliError, "claude-print.service");
      assertThrows(() => uninstallUnits(folder, NAMES), CliError, "claude-print.service");
      assertEquals(names(folder), before);
    });
  });
}

Deno.test("a unit folder that cannot be made is reported", async () => {
  await inFolder((folder) => {
    const root = folder.replace("/systemd/user", "");
    Deno.writeTextFileSync(`${root}/systemd`, "");
    const error = assertThrows(() => installUnits(folder, UNITS), CliError, "Cannot install");
    assertEquals(typeof error.suggestion, "string");
    assertEquals(names(root), ["systemd"]);
  });
});

Deno.test("units go where systemd looks for this user's", () => {
  assertEquals(findUnitFolder({ XDG_CONFIG_HOME: "/c", HOME: "/h" }), "/c/systemd/user");
  assertEquals(
    findUnitFolder({ XDG_CONFIG_HOME: "not/absolute", HOME: "/h" }),
    "/h/.config/systemd/user",
  );
  assertThrows(() => findUnitFolder({}), CliError, "HOME is not set");
});

const ORDER: UnitOptions = {
  program: ["/bin/true"],
  flags: ["--warm", "2"],
  env: { PATH: "/usr/bin:/bin" },
  umask: 0o22,
};

function textOf(name: string, order: Partial<UnitOptions> = {}): string {
  return createUnits({ ...ORDER, ...order }).find((unit) => unit.name === name)?.text ?? "";
}

Deno.test("the service is started as it was asked for", () => {
  const lines = textOf("claude-print.service").split("\n");
  assert(lines.includes('ExecStart="/bin/true" "serve" "--warm" "2"'));
  assert(lines.includes('Environment="PATH=/usr/bin:/bin"'));
  assert(lines.includes("UMask=0022"));
  // The socket is passed on as one that waits, where whoever takes a connection would wait for the next one.
  assert(lines.includes("NonBlocking=yes"));
  // A signal to all would end Claude Code in the midst of its turns.
  assert(lines.includes("KillMode=mixed"));
});

Deno.test("words in units are escaped", () => {
  const text = textOf("claude-print.service", {
    program: ['/a "b"/$HOME/%h/\\c'],
    flags: ["x\ny"],
    env: { PATH: "/50%/$d" },
  });
  assert(text.includes(String.raw`ExecStart="/a \"b\"/$$HOME/%%h/\\c" "serve" "x\x0ay"` + "\n"));
  assert(text.includes('Environment="PATH=/50%%/$d"\n'));
});

Deno.test("the socket is this user's alone, in the runtime directory", () => {
  const lines = textOf("claude-print.socket").split("\n");
  for (
    const line of ["ListenStream=%t/claude-print/run.sock", "SocketMode=0600", "DirectoryMode=0700"]
  ) {
    assert(lines.includes(line), line);
  }
});

Deno.test("a changed unit is not ours", () => {
  for (const { text } of createUnits(ORDER)) {
    assert(isOurUnit(text));
    assert(!isOurUnit(`${text}# mine\n`));
    assert(!isOurUnit(text.replace("[Install]", "[install]")));
    assert(!isOurUnit(text.split("\n").slice(2).join("\n")));
  }
  assert(!isOurUnit(""));
});

Deno.test("a socket is inherited by pid and name", () => {
  const env = { LISTEN_PID: "7", LISTEN_FDS: "2", LISTEN_FDNAMES: "other:run" };
  const inherited = (changed: Readonly<Record<string, string>>, isListener = true) =>
    takeInheritedSocket({ ...env, ...changed }, { pid: 7, isListener: () => isListener });
  assertEquals(inherited({}), 4);
  for (
    const other of [
      { LISTEN_PID: "8" },
      { LISTEN_FDS: "1" },
      { LISTEN_FDS: "many" },
      { LISTEN_FDNAMES: "other" },
    ]
  ) {
    assertEquals(inherited(other), undefined);
  }
  assertEquals(takeInheritedSocket({}, { pid: 7 }), undefined);
  const { message, suggestion } = assertThrows(() => inherited({}, false), CliError);
  assertEquals(
    message,
    "Cannot start the server: descriptor 4 of LISTEN_FDS is no Unix socket that is listened on",
  );
  assert(suggestion !== undefined);
});

Deno.test(skipIfLacking(missingTool("systemd-analyze"), {
  name: "systemd finds nothing wrong with the units",
  async fn() {
    using temp = tempFolder();
    const folder = temp.path;
    const paths: string[] = [];
    const awkward = { env: { PATH: '/a "b"/50%:/$c', X: "a\\b\nc" }, flags: ["--x=$a%h'"] };
    for (const { name, text } of createUnits({ ...ORDER, ...awkward })) {
      // The manual page is not there before the program is installed.
      await Deno.writeTextFile(`${folder}/${name}`, text.replace(/^Documentation=.*\n/mu, ""));
      paths.push(`${folder}/${name}`);
    }
    const { code, stderr } = await new Deno.Command("systemd-analyze", {
      args: ["verify", "--user", "--recursive-errors=no", ...paths],
      clearEnv: true,
      env: { HOME: folder, XDG_RUNTIME_DIR: folder, PATH: "/usr/bin:/bin" },
    }).output();
    assertEquals({ code, stderr: new TextDecoder().decode(stderr) }, { code: 0, stderr: "" });
  },
}));
