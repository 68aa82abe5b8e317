import { assertEquals } from "@std/assert";
import { writableFolders } from "../../../src/sandbox/places/writable_folders.ts";

Deno.test("writableFolders() are those of the run, and what settings add in any of their ways to name it", () => {
  const settings = [
    { permissions: { additionalDirectories: ["/a", "../b", 1] } },
    { sandbox: { filesystem: { allowWrite: ["//c", "/d/*.log", "/**", "~/e", "~", "f"] } } },
    { permissions: "odd", sandbox: { filesystem: { allowWrite: "odd" } } },
  ];
  assertEquals(writableFolders(["/w", "/x"], { settings, home: "/home/u" }), [
    ...["/w", "/x", "/a", "/w/../b", "/c", "/d/", "/", "/home/u/e", "/home/u", "/w/f"],
  ]);
});

Deno.test("writableFolders() are without links", () => {
  const path = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    Deno.mkdirSync(`${path}/real`);
    Deno.symlinkSync("real", `${path}/link`);
    const settings = [{ permissions: { additionalDirectories: ["link", "real/../.."] } }];
    assertEquals(writableFolders([path], { settings, home: undefined }), [
      ...[path, `${path}/real`, path.slice(0, path.lastIndexOf("/"))],
    ]);
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
});
