import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { MOUNT_LACK } from "../../mount_lack.ts";
import { startProgram } from "../../../start_program.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { filesBelow, makeCassette } from "../../../recording/lint/scene.ts";
import { tempFolder } from "../../../temp_folder.ts";

/** Copies the cassette to a full disk, runs a command there, and copies the disk back. */
const ON_A_FULL_DISK = `
  mkdir disk after
  mount -t tmpfs -o size=80k none disk
  cp -r before/. disk
  "$@"
  code=$?
  cp -r disk/. after
  exit $code
`;

Deno.test(skipIfLacking(MOUNT_LACK, {
  name: "a full disk is reported and changes no cassette",
  fn: async () => {
    using temp = tempFolder();
    const folder = temp.path;
    makeCassette(`${folder}/before`);
    const before = filesBelow(`${folder}/before`);
    const wrap = ["unshare", "-rm", "/bin/sh", "-c", ON_A_FULL_DISK, "sh"];
    const scrub = [...wrap, ...CLAUDE_PRINT, "cassette", "scrub", "disk"];
    const { code, stdout, stderr } = await startProgram(scrub, {
      env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir() },
      cwd: folder,
    }).ended;
    assertEquals([code, stdout], [2, ""]);
    assert(stderr.startsWith("claude-print: Cannot scrub disk: No space left on device"), stderr);
    assertStringIncludes(stderr, "\n  Give it folders of yours on a disk with room\n");
    assertEquals(filesBelow(`${folder}/after`), before);
  },
}));
