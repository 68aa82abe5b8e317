import { assertEquals, assertStringIncludes } from "@std/assert";
import { libcCheck, platformCheck } from "../../src/doctor/platform_check.ts";

const GOOD = { os: "linux", arch: "x86_64", env: "gnu", ffiPermission: "granted", glibc: "2.36" };

Deno.test("platformCheck() takes x86_64 Linux with a glibc that is new enough", () => {
  const { ok, detail, data } = platformCheck(GOOD);
  assertEquals([ok, detail], [true, "x86_64 Linux, glibc 2.36"]);
  assertEquals(data, { os: "linux", arch: "x86_64", glibc: "2.36" });
});

Deno.test("platformCheck() says what is wrong with another platform, and what to use", () => {
  const cases = [
    { platform: { ...GOOD, os: "darwin" }, found: "darwin on x86_64" },
    { platform: { ...GOOD, arch: "aarch64" }, found: "Linux on aarch64" },
    { platform: { ...GOOD, glibc: "2.31" }, found: "glibc 2.31" },
    { platform: { ...GOOD, ffiPermission: "denied" }, found: 'permission is "denied"' },
  ];
  for (const { platform, found } of cases) {
    const { ok, detail, suggestion } = platformCheck(platform);
    assertEquals(ok, false);
    assertStringIncludes(detail, found);
    assertEquals(typeof suggestion, "string");
  }
});

const platform = { os: "linux", arch: "x86_64", ffiPermission: "granted" };

Deno.test("libcCheck() takes a library that has every function", () => {
  const { ok, data } = libcCheck({ platform, functions: 30, missing: [] });
  assertEquals([ok, data], [true, { functions: 30, missing: [] }]);
});

Deno.test("libcCheck() names the functions that are missing", () => {
  const { ok, detail } = libcCheck({ platform, functions: 30, missing: ["eventfd", "poll"] });
  assertEquals([ok, detail], [false, "2 of 30 functions are missing: eventfd, poll"]);
});
