import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { RECORDED_RUNS } from "./recorded_runs.ts";

const SOURCES = new URL("../../src/", import.meta.url).pathname;

/** Builders of frames, what each says of a field, and what it would say of it otherwise. */
const CHANGES = [
  {
    builder: "frames/single/init_frame.ts",
    says: 'permissionMode: facts.permissionMode ?? "default"',
    otherwise: 'permissionMode: "another"',
    told: / \(system\/init\): .* as permissionMode, /u,
  },
  {
    builder: "frames/result/result_frame.ts",
    says: "result_index: facts.index ?? 0",
    otherwise: "result_index: 7",
    told: / \(result\/\w+\): .* as result_index, /u,
  },
] as const;

/** The runs of which the newest version has one each, and which tell of a session and of a turn. */
const RUNS = RECORDED_RUNS.filter(({ name }) => /^2\.1\.330\/(?:answer|tools)$/u.test(name));

/** Copies the sources, with a field of a builder changed, and gives what replays with them. */
async function replayWith(
  folder: string,
  { builder, says, otherwise }: (typeof CHANGES)[number],
): Promise<typeof import("../../src/cassette/replay/replay_cassette.ts")> {
  for (const path of sourcesIn("")) {
    await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
    await Deno.copyFile(`${SOURCES}${path}`, `${folder}/${path}`);
  }
  const text = await Deno.readTextFile(`${SOURCES}${builder}`);
  assertEquals(text.split(says).length, 2, `${builder} says once: ${says}`);
  await Deno.writeTextFile(`${folder}/${builder}`, text.replace(says, otherwise));
  return await import(`file://${folder}/cassette/replay/replay_cassette.ts`);
}

function sourcesIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(`${SOURCES}${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}${name}`;
    return isDirectory ? sourcesIn(`${path}/`) : path.endsWith(".ts") ? [path] : [];
  });
}

for (const change of CHANGES) {
  Deno.test(`recorded runs no longer replay once ${change.builder} says something else of a field`, async () => {
    assert(RUNS.length > 1);
    const folder = await Deno.makeTempDir();
    try {
      const { replayCassette } = await replayWith(folder, change);
      for (const { name, cassette } of RUNS) {
        const { differences: [difference = "", ...more] } = replayCassette(cassette);
        assertEquals(more, [], name);
        assertMatch(difference, change.told, name);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
