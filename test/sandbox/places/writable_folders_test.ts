import { assertEquals } from "@std/assert";
import { exposedRuns, writableFolders } from "../../../src/sandbox/places/writable_folders.ts";

Deno.test("writableFolders() are those of the run, and what settings add in any of their ways to name it", () => {
  const settings = [
    { permissions: { additionalDirectories: ["/a", "../b", 1] } },
    { sandbox: { filesystem: { allowWrite: ["//c", " /d/*.log", "/**", "~/e", "~", "f"] } } },
    { permissions: "odd", sandbox: { filesystem: { allowWrite: "odd" } } },
  ];
  assertEquals(writableFolders(["/w", "/x"], { settings, projectRoot: "/p", home: "/home/u" }), [
    ...["/w", "/x", "/a", "/b", "/c", "/d", "/", "/home/u/e", "/home/u", "/w/f", "/p/f"],
  ]);
});

Deno.test("writableFolders() are those, too, in which rules allow files to be edited", () => {
  const allow = [
    "Edit(//tmp/**)",
    "Edit(~/e/*.md)",
    "Edit(/src/**)",
    "Edit(docs)",
    "Edit",
    "Bash(Edit(//x))",
    7,
  ];
  assertEquals(
    writableFolders(["/w"], {
      settings: [{ permissions: { allow, deny: ["Edit(//y)"] } }],
      projectRoot: "/p",
      home: "/home/u",
    }),
    ["/w", "/tmp", "/home/u/e", "/p/src", "/w/docs"],
  );
});

Deno.test("writableFolders() are without links", () => {
  const path = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    Deno.mkdirSync(`${path}/real`);
    Deno.symlinkSync("real", `${path}/link`);
    const settings = [{ permissions: { additionalDirectories: ["link", "real/../.."] } }];
    assertEquals(writableFolders([path], { settings, projectRoot: path, home: undefined }), [
      ...[path, `${path}/real`, path.slice(0, path.lastIndexOf("/"))],
    ]);
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
});

Deno.test("writableFolders() takes a time in proportion to what settings hold, of which some are a project's", () => {
  const long = "a".repeat(1_900_000);
  const settings = [{ permissions: { additionalDirectories: [long], allow: [`Edit(${long})`] } }];
  const folders = writableFolders(["/w"], { settings, projectRoot: "/w", home: undefined });
  assertEquals(folders.map((folder) => folder.length), [2, 3 + long.length]);
});

const RUNS = ["/tmp/claude-print-1", "/run/1/claude-print-1"];
const FOLDER = "/run/1/claude-print-1/7-8-00000000";

Deno.test("exposedRuns() names the folders of runs that tools may write to", () => {
  const exposedTo = (...writable: readonly string[]) =>
    exposedRuns(RUNS, { writable, inside: [FOLDER, "/w"] });
  assertEquals(exposedTo("/w", "/tmp/claude", "/run/1/claude-print-1/7-8-00000000"), []);
  assertEquals(exposedTo("/w", "/tmp"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/tmp/claude-print-1"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/"), ["/tmp/claude-print-1"], "its own it cannot close");
});

Deno.test("exposedRuns() names none that the run works in, as one that a run's tool starts may do", () => {
  const work = "/tmp/claude-print-1/5-6-00000000/tmp/work";
  assertEquals(exposedRuns(RUNS, { writable: ["/"], inside: [FOLDER, work] }), []);
});
