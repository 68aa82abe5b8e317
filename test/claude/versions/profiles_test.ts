import { assertEquals } from "@std/assert";
import { deriveFiles, readProfiles } from "../../../fixtures/profile_index.ts";
import {
  CAPABILITIES,
  type Capability,
  lackedCapabilities,
} from "../../../src/claude/versions/capabilities.ts";
import { OLDEST_VERSION } from "../../../src/claude/versions/compare_versions.ts";
import { factsFor, factsOf, indexOf } from "../../../src/claude/versions/profile_index.ts";
import {
  constantsOfVersion,
  hasCapability,
  hasProfile,
  isNewerThanProfiles,
  keysOfVersion,
  PROFILED_VERSIONS,
  useLearntFacts,
} from "../../../src/claude/versions/profiles.ts";
import { someProfile } from "./some_profile.ts";

const OLD = someProfile("2.1.99", {
  capabilities: ["a"],
  frames: { "system/init": "type cwd view_mode" },
  constants: { "system/init view_mode": "default" },
});
const NEW = someProfile("2.1.105", {
  capabilities: ["a", "b"],
  frames: { "system/init": "type new? cwd view_mode?", "assistant": "type message" },
  constants: { "system/init view_mode": "default" },
});

Deno.test("the newest profile up to the version holds", () => {
  const index = indexOf([NEW, OLD]);
  assertEquals(index.versions, "2.1.99 2.1.105");
  for (
    const [version, held] of [
      ["2.1.98", OLD],
      ["2.1.99", OLD],
      ["2.1.104", OLD],
      ["2.1.105", NEW],
      ["3.0.0", NEW],
    ] as const
  ) {
    assertEquals(factsFor(index, version), factsOf(held), version);
  }
});

Deno.test("an unchanged fact is in the index once", () => {
  const { capabilities, constants, subcommands } = indexOf([OLD, someProfile("2.1.100", OLD)]);
  assertEquals([capabilities, subcommands], [{ "2.1.99": "a" }, { "2.1.99": "" }]);
  assertEquals(constants.init, { "2.1.99": { view_mode: "default" } });
});

Deno.test("an optional key is known, but never a constant", () => {
  const { keys, constants } = factsOf(NEW);
  assertEquals(keys.init, "type new cwd view_mode");
  assertEquals(constants.init, {});
});

Deno.test("keys that no run has shown come last", () => {
  const unseenKeys = "rare type";
  const { keys } = factsOf(someProfile("2.1.99", { frames: { user: "type message" }, unseenKeys }));
  assertEquals(keys.user, "type message rare");
});

Deno.test("kinds of results share their keys and common constants", () => {
  const { keys, constants } = factsOf(someProfile("2.1.99", {
    frames: {
      "result/error": "type errors uuid late",
      "result/success": "type uuid late extra more",
    },
    constants: {
      "result/error type": 1,
      "result/success type": 2,
      "result/success uuid": 3,
      "result/success extra": 4,
    },
  }));
  assertEquals(keys.result, "type errors uuid late extra more");
  // The kinds differ in one, and one kind lacks another.
  assertEquals(constants.result, { uuid: 3 });
});

Deno.test("the index and the file list match the profiles", async () => {
  const folder = new URL("../../../src/claude/versions/", import.meta.url);
  for (const [name, text] of Object.entries(deriveFiles(await readProfiles()))) {
    assertEquals(await Deno.readTextFile(new URL(name, folder)), text, name);
  }
});

Deno.test("the window begins with the oldest profile", () => {
  assertEquals(PROFILED_VERSIONS[0], OLDEST_VERSION);
});

Deno.test("an unknown version or capability is no capability", () => {
  const [newest = ""] = PROFILED_VERSIONS.slice(-1);
  assertEquals(hasCapability(newest, "exactSocket"), true);
  assertEquals(hasCapability(undefined, "exactSocket"), false);
  assertEquals(hasCapability(newest, "toString" as "exactSocket"), false);
});

Deno.test("versions between profiles have one, newer versions have none", () => {
  const [newest = ""] = PROFILED_VERSIONS.slice(-1);
  assertEquals([hasProfile("2.1.286"), isNewerThanProfiles("2.1.286")], [true, false]);
  assertEquals([hasProfile(newest), isNewerThanProfiles(newest)], [true, false]);
  assertEquals([hasProfile("99.0.0"), isNewerThanProfiles("99.0.0")], [false, true]);
});

Deno.test("a learnt profile only adds to its own version", () => {
  const [version, other] = ["98.0.0", "98.0.1"];
  const before = keysOfVersion(other, "init");
  assertEquals(hasProfile(version), false);
  useLearntFacts(
    version,
    factsOf(someProfile(version, {
      capabilities: ["marksReports", "addedPlugins"],
      frames: { "system/init": "type brand_new" },
      constants: { "system/init brand_new": 1, "system/init type": "user" },
    })),
  );
  assertEquals(hasProfile(version), true);
  assertEquals(new Set(keysOfVersion(version, "init")), new Set([...before, "brand_new"]));
  assertEquals(constantsOfVersion(version, "init"), {
    ...constantsOfVersion(other, "init"),
    brand_new: 1,
  });
  assertEquals(keysOfVersion(other, "init"), before);
});

Deno.test("a learnt profile lacks capabilities that need a shipped profile", () => {
  const learnable = Object.entries(CAPABILITIES).filter(([, kind]) => kind === "printed");
  const [newest = ""] = PROFILED_VERSIONS.slice(-1);
  const all = Object.keys(CAPABILITIES) as Capability[];
  const facts = factsOf(someProfile("98.1.0", { capabilities: [...all, "evil"] }));
  // A version that is not newer has no learnt profile.
  const unchanged = all.map((name) => hasCapability("2.1.286", name));
  for (const version of ["98.1.0", "2.1.286"]) useLearntFacts(version, facts);
  assertEquals(all.map((name) => hasCapability("2.1.286", name)), unchanged);
  for (const name of all) {
    const isLearnable = learnable.some(([each]) => each === name);
    assertEquals(hasCapability("98.1.0", name), isLearnable || hasCapability(newest, name), name);
  }
  assertEquals(hasCapability("98.1.0", "evil" as Capability), false);
});

Deno.test("the needed capabilities are in every shipped profile", async () => {
  for (const { version, capabilities } of await readProfiles()) {
    assertEquals(lackedCapabilities(capabilities), [], version);
  }
  assertEquals(lackedCapabilities(["hooks", "socket", "statusFile", "statusLine"]), [
    "exactSocket",
    "statusLineOnRequest",
  ]);
});
