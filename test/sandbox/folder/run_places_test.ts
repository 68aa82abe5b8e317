import { assertEquals, assertThrows } from "@std/assert";
import {
  folderOfRuns,
  ForeignFolderError,
  makeFolderIn,
  orderPlaces,
} from "../../../src/sandbox/folder/run_places.ts";
import { findExposedRuns, findWritableFolders } from "../../../src/sandbox/folder/tool_access.ts";
import { OTHER_USER_LACK } from "../../other_user.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { tempFolder } from "../../temp_folder.ts";

const ALL = ["/srv/tmp", "/tmp", "/var/tmp"] as const;
const placesFrom = (...folders: readonly string[]) =>
  orderPlaces(ALL, { folders, writable: folders });

Deno.test("orderPlaces() takes the first place that tools cannot write", () => {
  for (const writable of ["/home", "/srv/tmp2", "/srv/tm", "/srv/tmp/claude", "/tmp", "/var"]) {
    assertEquals(placesFrom(writable)[0], "/srv/tmp", writable);
  }
});

Deno.test("orderPlaces() falls back to the first place", () => {
  assertEquals(placesFrom("/srv"), ["/tmp", "/var/tmp", "/srv/tmp"]);
  assertEquals(placesFrom("/srv/tmp", "/tmp"), ["/var/tmp", "/srv/tmp"]);
  const runs = `/srv/tmp/claude-print-${Deno.uid()}`;
  assertEquals(placesFrom(runs, "/var"), ["/tmp", "/srv/tmp"]);
  assertEquals(placesFrom("/"), ["/srv/tmp"]);
});

Deno.test("orderPlaces() avoids the working directory if everything is writable", () => {
  const folders = ["/srv"];
  const writable = ["/srv", "/"];
  assertEquals(orderPlaces(ALL, { folders, writable }), ["/tmp", "/var/tmp", "/srv/tmp"]);
  assertEquals(orderPlaces(ALL, { folders, writable: ["/srv", "/tmp"] })[0], "/var/tmp");
});

/** The folders that tools may write to by these settings. */
const writableBy = (...settings: readonly Record<string, unknown>[]) =>
  findWritableFolders(["/w", "/x"], { settings, projectRoot: "/p", home: "/home/u" }).slice(2);

Deno.test("findWritableFolders() adds folders of settings and rules", () => {
  assertEquals(
    writableBy(
      { permissions: { additionalDirectories: ["/a", "../b", 1] } },
      { sandbox: { filesystem: { allowWrite: ["//c", " /d/*.log", "/**", "~/e", "~", "f"] } } },
      { permissions: "odd", sandbox: { filesystem: { allowWrite: "odd" } } },
    ),
    ["/a", "/b", "/c", "/d", "/", "/home/u/e", "/home/u", "/w/f", "/p/f"],
  );
  const rules = ["//tmp/**", "~/e/*.md", "/src/**", "docs"].map((path) => `Edit(${path})`);
  const allow = [...rules, "Edit", "Bash(Edit(//x))", 7];
  assertEquals(
    writableBy({ permissions: { allow, deny: ["Edit(//y)"] } }),
    ["/tmp", "/home/u/e", "/p/src", "/w/docs"],
  );
});

Deno.test("findWritableFolders() resolves links", () => {
  using folder = tempFolder({ "real/": "" });
  const { path } = folder;
  Deno.symlinkSync("real", `${path}/link`);
  const settings = [{ permissions: { additionalDirectories: ["link", "real/../.."] } }];
  assertEquals(findWritableFolders([path], { settings, projectRoot: path, home: undefined }), [
    ...[path, `${path}/real`, path.slice(0, path.lastIndexOf("/"))],
  ]);
});

const RUNS = ["/tmp/claude-print-1", "/run/1/claude-print-1"];
const FOLDER = "/run/1/claude-print-1/7-8-00000000";

Deno.test("findExposedRuns() lists the folders that tools may write to", () => {
  const exposedTo = (...writable: readonly string[]) =>
    findExposedRuns(RUNS, { writable, inside: [FOLDER, "/w"] });
  assertEquals(exposedTo("/w", "/tmp/claude", "/run/1/claude-print-1/7-8-00000000"), []);
  assertEquals(exposedTo("/w", "/tmp"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/tmp/claude-print-1"), ["/tmp/claude-print-1"]);
  assertEquals(exposedTo("/"), ["/tmp/claude-print-1"], "not the folder of the run itself");
});

Deno.test("findExposedRuns() omits the folder that the run works in", () => {
  const work = "/tmp/claude-print-1/5-6-00000000/tmp/work";
  assertEquals(findExposedRuns(RUNS, { writable: ["/"], inside: [FOLDER, work] }), []);
});

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "makeFolderIn() refuses a folder that another user swapped in",
  fn: () => {
    using place = tempFolder();
    const runs = folderOfRuns(place.path);
    const { mkdirSync } = Deno;
    Deno.mkdirSync = (path, options) => {
      if (path === `${runs}/mine`) {
        Deno.removeSync(runs);
        mkdirSync(runs);
        Deno.chownSync(runs, 65534, 65534);
      }
      mkdirSync(path, options);
    };
    try {
      assertThrows(() => makeFolderIn(runs, "mine"), ForeignFolderError);
      assertEquals([...Deno.readDirSync(runs)], []);
    } finally {
      Deno.mkdirSync = mkdirSync;
    }
  },
}));
