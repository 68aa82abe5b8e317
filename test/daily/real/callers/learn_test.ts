import { assertEquals } from "@std/assert";
import { learnProfile, profileText } from "../../../../src/recording/learn/learn_profile.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";

const VERSIONS = new URL("../../../../src/claude/versions/", import.meta.url);

forNewestVersion("learn measures the shipped profile", async ({ binary, version }) => {
  const shipped = await Deno.readTextFile(new URL(`${version}.json`, VERSIONS));
  assertEquals(profileText(await learnProfile(binary)), shipped);
});
