import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { RECORDED_RUNS } from "./recorded_runs.ts";

const SOURCES = new URL("../../src/", import.meta.url).pathname;

/** Builders of frames, what each says of a field, and what it would say of it otherwise. */
const CHANGES = [
  {
    builder: "frames/single/init_frame.ts",
    field: "permissionMode",
    says: 'facts.permissionMode ?? "default"',
    otherwise: '"another"',
    told: / \(system\/init\): .* as permissionMode, /u,
  },
  {
    builder: "frames/result/result_frame.ts",
    field: "result_index",
    says: "facts.index ?? 0",
    otherwise: "7",
    told: / \(result\/\w+\): .* as result_index, /u,
  },
] as const;

/** The runs of which the newest version has one each, and which tell of a session and of a turn. */
const RUNS = RECORDED_RUNS.filter(({ name }) => /^2\.1\.332\/(?:answer|tools)$/u.test(name));

/** The global variable that holds the builder which says something else at the moment. */
const CHANGED = "changedBuilder";

/** Copies the sources, with a field of each builder changed for as long as it is the one, and gives what replays with them. */
async function changeableReplay(
  folder: string,
): Promise<typeof import("../../src/cassette/replay/replay_cassette.ts")> {
  for (const path of sourcesIn("")) {
    await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
    await Deno.copyFile(`${SOURCES}${path}`, `${folder}/${path}`);
  }
  for (const { builder, field, says, otherwise } of CHANGES) {
    const text = await Deno.readTextFile(`${SOURCES}${builder}`);
    assertEquals(text.split(`${field}: ${says}`).length, 2, `${builder} says once: ${says}`);
    const either = `globalThis.${CHANGED} === "${builder}" ? ${otherwise} : (${says})`;
    await Deno.writeTextFile(
      `${folder}/${builder}`,
      text.replace(`${field}: ${says}`, `${field}: ${either}`),
    );
  }
  return await import(`file://${folder}/cassette/replay/replay_cassette.ts`);
}

function sourcesIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(`${SOURCES}${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}${name}`;
    return isDirectory ? sourcesIn(`${path}/`) : /\.(?:ts|json)$/u.test(path) ? [path] : [];
  });
}

Deno.test("recorded runs no longer replay once a builder of frames says something else of a field", async () => {
  assert(RUNS.length > 1);
  const folder = await Deno.makeTempDir();
  try {
    const { replayCassette } = await changeableReplay(folder);
    for (const { name, cassette } of RUNS) {
      assertEquals(replayCassette(cassette).differences, [], name);
      for (const { builder, told } of CHANGES) {
        Reflect.set(globalThis, CHANGED, builder);
        const { differences: [difference = "", ...more] } = replayCassette(cassette);
        assertEquals(more, [], name);
        assertMatch(difference, told, name);
        Reflect.deleteProperty(globalThis, CHANGED);
      }
    }
  } finally {
    Reflect.deleteProperty(globalThis, CHANGED);
    await Deno.remove(folder, { recursive: true });
  }
});
