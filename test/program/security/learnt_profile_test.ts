import { assertEquals, assertMatch } from "@std/assert";
import {
  storeLearntProfile,
  useLearntProfiles,
} from "../../../src/claude/program/learnt_profiles.ts";
import { hasProfile, keysOfVersion } from "../../../src/claude/versions/profiles.ts";
import { someProfile } from "../../claude/versions/some_profile.ts";
import { OTHER_USER_LACK } from "../../other_user.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";

/** Each test has another version, because a learnt profile holds for the whole process. */
let count = 0;

/** A cache with the learnt profile of a version that is newer than all. */
async function learntCache() {
  const cache = await Deno.makeTempDir();
  const version = `96.${++count}.0`;
  const env = { XDG_CACHE_HOME: cache };
  const frames = { "system/init": "type learnt_key" };
  const path = storeLearntProfile(someProfile(version, { frames }), env);
  return {
    ...{ cache, version, path, env },
    folder: `${cache}/claude-print/versions`,
    [Symbol.asyncDispose]: () => Deno.remove(cache, { recursive: true }),
  };
}

/** Holds that the profile is not believed, for a reason that the one warning names. */
async function assertRefused(
  { env, path, version }: Awaited<ReturnType<typeof learntCache>>,
  reason: RegExp,
): Promise<void> {
  const { facts, warnings } = await useLearntProfiles(env);
  assertEquals([facts, warnings.length, hasProfile(version)], [{}, 1, false]);
  const [warning = ""] = warnings;
  assertEquals(warning.includes(path), true, warning);
  assertMatch(warning, reason);
}

Deno.test("a learnt profile of the user is used", async () => {
  await using cache = await learntCache();
  assertEquals((await Deno.stat(cache.path)).mode! & 0o777, 0o600);
  assertEquals((await Deno.stat(cache.folder)).mode! & 0o777, 0o700);
  const { facts, warnings } = await useLearntProfiles(cache.env);
  assertEquals([Object.keys(facts), warnings], [[cache.version], []]);
  assertEquals(keysOfVersion(cache.version, "init").includes("learnt_key"), true);
});

Deno.test("a learnt profile with hostile content is refused", async () => {
  const good = JSON.stringify(someProfile("1.2.3"));
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const rows: readonly (readonly [string, RegExp])[] = [
    ["", /it is no JSON/u],
    [good.slice(0, -1), /it is no JSON/u],
    ["null", /has a wrong value/u],
    [" ".repeat(1_000_001), /larger than 1 MB/u],
    [good.replace("[]", nested(20)), /more than 16 levels deep/u],
    [good.replace("[]", nested(200_000)), /more than 16 levels deep/u],
    [good.replace('"constants":{}', '"constants":{"a":{"__proto__":1}}'), /"__proto__"/u],
    [good.replace("{", '{"__proto__":{"capabilities":["evil"]},'), /"__proto__"/u],
    [good.replace('"frames":{}', '"frames":{"user":["type"]}'), /frames\.user has a wrong value/u],
    [good.replace('"frames":{}', '"frames":{"user":"__proto__"}'), /keys\.user has a wrong/u],
    [good.replace('"capabilities":[]', '"capabilities":{}'), /capabilities has a wrong value/u],
    [good, /it is of version 1\.2\.3/u],
  ];
  for (const [text, reason] of rows) {
    await using cache = await learntCache();
    await Deno.writeTextFile(cache.path, text);
    await assertRefused(cache, reason);
  }
});

Deno.test("a learnt profile that others may change is refused", async () => {
  for (const part of ["path", "folder"] as const) {
    await using cache = await learntCache();
    await Deno.chmod(cache[part], part === "path" ? 0o620 : 0o770);
    await assertRefused(cache, /others may write to /u);
  }
  await using cache = await learntCache();
  await Deno.chmod(cache.cache, 0o777);
  await assertRefused(cache, /others may write to /u);
});

Deno.test("a learnt profile behind a symbolic link is refused", async () => {
  for (const part of ["path", "folder"] as const) {
    await using cache = await learntCache();
    const elsewhere = `${cache.cache}/elsewhere`;
    await Deno.rename(cache[part], elsewhere);
    await Deno.symlink(elsewhere, cache[part]);
    await assertRefused(cache, /is a symbolic link/u);
  }
});

Deno.test("a folder in a learnt profile's place is refused", async () => {
  await using cache = await learntCache();
  await Deno.remove(cache.path);
  await Deno.mkdir(cache.path);
  await assertRefused(cache, /is no file/u);
});

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "another user's learnt profile is refused",
  fn: async () => {
    for (const part of ["path", "folder"] as const) {
      await using cache = await learntCache();
      await Deno.chown(cache[part], 65534, 65534);
      await assertRefused(cache, /belongs to another user/u);
    }
  },
}));

Deno.test("no learnt profile of a shipped version is read", async () => {
  await using cache = await learntCache();
  await Deno.writeTextFile(`${cache.folder}/2.1.300.json`, "nonsense");
  await Deno.writeTextFile(`${cache.folder}/notes.txt`, "nonsense");
  assertEquals((await useLearntProfiles(cache.env)).warnings, []);
});

Deno.test("without a cache there are no learnt profiles", async () => {
  assertEquals(await useLearntProfiles({}), { facts: {}, warnings: [] });
  assertEquals(await useLearntProfiles({ HOME: "/nowhere" }), { facts: {}, warnings: [] });
});
