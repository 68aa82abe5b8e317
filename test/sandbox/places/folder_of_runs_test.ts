import { assertEquals, assertThrows } from "@std/assert";
import {
  folderOfRuns,
  ForeignFolderError,
  makeFolderIn,
} from "../../../src/sandbox/places/folder_of_runs.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { OTHER_USER_LACK } from "../../security/other_user.ts";

Deno.test(unlessLacking(OTHER_USER_LACK, {
  name:
    "makeFolderIn() makes nothing in a folder that somebody else has put there since it was looked at",
  fn: () => {
    const place = Deno.makeTempDirSync();
    const runs = folderOfRuns(place);
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
      Deno.removeSync(place, { recursive: true });
    }
  },
}));
