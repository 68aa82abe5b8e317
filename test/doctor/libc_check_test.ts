import { assertEquals } from "@std/assert";
import { libcCheck } from "../../src/doctor/libc_check.ts";

const platform = { os: "linux", arch: "x86_64", ffiPermission: "granted" };

Deno.test("libcCheck() takes a library that has every function", () => {
  const { ok, data } = libcCheck({ platform, functions: 30, missing: [] });
  assertEquals([ok, data], [true, { functions: 30, missing: [] }]);
});

Deno.test("libcCheck() names the functions that are missing", () => {
  const { ok, detail } = libcCheck({ platform, functions: 30, missing: ["eventfd", "poll"] });
  assertEquals([ok, detail], [false, "2 of 30 functions are missing: eventfd, poll"]);
});
