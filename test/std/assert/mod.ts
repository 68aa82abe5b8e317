// @ts-types="./mod.d.ts"
export {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "npm:deno-std@1.4.0/assert/mod.js";
