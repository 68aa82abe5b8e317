import { assertEquals, assertStringIncludes } from "@std/assert";
import { platformCheck } from "../../src/doctor/platform_check.ts";

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
