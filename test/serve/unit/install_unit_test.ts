import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { installUnits, uninstallUnits, unitFolder } from "../../../src/serve/unit/install_unit.ts";
import { unitFiles } from "../../../src/serve/unit/unit_files.ts";

const UNITS = unitFiles({ program: ["/bin/true"], flags: [], env: {}, umask: 0o22 });
const NAMES = UNITS.map(({ name }) => name);

/** Has a folder for units that is not there yet. */
async function inFolder(test: (folder: string) => void | Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await test(`${root}/systemd/user`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();

Deno.test("units are installed, again over those of before, and removed without a trace", async () => {
  await inFolder((folder) => {
    const paths = NAMES.map((name) => `${folder}/${name}`);
    assertEquals(installUnits(folder, UNITS), paths);
    const others = unitFiles({ program: ["/bin/false"], flags: [], env: {}, umask: 0 });
    assertEquals(installUnits(folder, others), paths);
    assertEquals(paths.map((path) => Deno.readTextFileSync(path)), others.map(({ text }) => text));
    assertEquals(names(folder), NAMES.toSorted());
    assertEquals(uninstallUnits(folder, NAMES), paths);
    assertEquals(uninstallUnits(folder, NAMES), []);
    assertEquals(names(folder), []);
  });
});

Deno.test("what systemctl has made of a unit goes with it, and what is somebody's stays", async () => {
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

Deno.test("a folder that cannot be made is told with what to do, and leaves nothing", async () => {
  await inFolder((folder) => {
    const root = folder.replace("/systemd/user", "");
    Deno.writeTextFileSync(`${root}/systemd`, "");
    const error = assertThrows(() => installUnits(folder, UNITS), CliError, "Cannot install");
    assertEquals(typeof error.suggestion, "string");
    assertEquals(names(root), ["systemd"]);
  });
});

Deno.test("units go where systemd looks for this user's", () => {
  assertEquals(unitFolder({ XDG_CONFIG_HOME: "/c", HOME: "/h" }), "/c/systemd/user");
  assertEquals(
    unitFolder({ XDG_CONFIG_HOME: "not/absolute", HOME: "/h" }),
    "/h/.config/systemd/user",
  );
  assertThrows(() => unitFolder({}), CliError, "HOME is not set");
});
