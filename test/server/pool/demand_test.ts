import { assertEquals, assertThrows } from "@std/assert";
import { Demand } from "../../../src/server/pool/demand.ts";
import { type ChildProfile, readProfiles } from "../../../src/server/server_profiles.ts";
import { CliError } from "../../../src/cli_error.ts";

const profile = (digest: string) => ({ digest }) as ChildProfile;
const [A, B, C] = [profile("a"), profile("b"), profile("c")];
const SUPPLY = { warm: 2, max: 3, idleMs: 1000 };

const waiting = (counts: Readonly<Record<string, number>> = {}) => new Map(Object.entries(counts));

Deno.test("the latest profile is started first", () => {
  const demand = new Demand(SUPPLY);
  assertEquals(demand.planNext(waiting(), 0), undefined);
  demand.recordRequest(A, 1);
  demand.recordRequest(B, 2);
  assertEquals(demand.planNext(waiting(), 3), { start: B });
  assertEquals(demand.planNext(waiting({ b: 1 }), 3), { start: B });
  assertEquals(demand.planNext(waiting({ b: 2 }), 3), { start: A });
  assertEquals(demand.planNext(waiting({ b: 2, a: 1 }), 3), undefined);
});

Deno.test("a repeated demand evicts the oldest profile", () => {
  const demand = new Demand({ ...SUPPLY, warm: 1, max: 2 });
  demand.recordRequest(A, 1);
  demand.recordRequest(B, 2);
  demand.recordRequest(C, 3);
  assertEquals(demand.planNext(waiting({ a: 1, b: 1 }), 4), undefined);
  demand.recordRequest(C, 5);
  assertEquals(demand.planNext(waiting({ a: 1, b: 1 }), 6), { start: C, evict: "a" });
  assertEquals(demand.planNext(waiting({ b: 1, c: 1 }), 6), undefined);
  assertEquals(new Demand({ ...SUPPLY, max: 0 }).planNext(waiting(), 7), undefined);
});

Deno.test("an idle profile is forgotten", () => {
  const demand = new Demand(SUPPLY);
  demand.recordRequest(A, 0);
  demand.recordRequest(B, 500);
  assertEquals(demand.nextCheckAt(600), 1000);
  assertEquals(demand.removeUnused(999), []);
  assertEquals(demand.removeUnused(1000), ["a"]);
  assertEquals(demand.profiles.map(({ profile: { digest } }) => digest), ["b"]);
  assertEquals(demand.removeUnused(1500), ["b"]);
  assertEquals(demand.nextCheckAt(1600), Infinity);
});

Deno.test("failing children restart after growing pauses", () => {
  const demand = new Demand({ ...SUPPLY, idleMs: 10 ** 9 });
  demand.recordRequest(A, 0);
  let now = 0;
  const pauses = Array.from({ length: 12 }, (_, count) => {
    assertEquals(demand.recordFailure("a", now), count === 0);
    const until = demand.nextCheckAt(now);
    assertEquals(demand.planNext(waiting(), until - 1), undefined);
    assertEquals(demand.planNext(waiting(), until), { start: A });
    const pause = until - now;
    now = until;
    return pause / 1000;
  });
  assertEquals(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
  demand.recordSuccess("a");
  assertEquals(demand.recordFailure("a", now), true);
  // Of one that was forgotten meanwhile somebody hears as well.
  assertEquals(demand.recordFailure("b", now), true);
});

Deno.test("unused outdated children restart less and less often", () => {
  const demand = new Demand({ ...SUPPLY, idleMs: 10 ** 9 });
  demand.recordRequest(A, 0);
  demand.recordOutdated("a", 0);
  demand.recordOutdated("a", 0);
  assertEquals(demand.planNext(waiting(), 3999), undefined);
  assertEquals(demand.planNext(waiting(), 4000), { start: A });
  demand.recordOutdated("a", 4000);
  demand.recordRequest(A, 4001);
  assertEquals(demand.planNext(waiting(), 4001), { start: A });
  assertEquals(demand.recordFailure("a", 4001), true);
});

Deno.test("a kept profile waits without demand", () => {
  const demand = new Demand(SUPPLY);
  demand.pin(A, 0);
  demand.recordRequest(A, 1);
  assertEquals([demand.nextCheckAt(10 ** 9), demand.removeUnused(10 ** 9)], [Infinity, []]);
  assertEquals(demand.planNext(waiting(), 10 ** 9), { start: A });
});

Deno.test("an invalid profile line is named", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/profiles`;
  const refused = (lines: string) => {
    Deno.writeTextFileSync(path, lines);
    return assertThrows(() => readProfiles(path), CliError).message.replace(
      "Cannot pre-warm ",
      "",
    );
  };
  try {
    for (
      const [lines, why] of [
        ["{", `line 1 of ${path}: it is no object with a profile`],
        ["{}\n\n[]", `line 3 of ${path}: it is no object with a profile`],
        ['{"args": [1]}', `line 1 of ${path}: args.0 is none of one`],
        ['{"arg": []}', `line 1 of ${path}: it is no object with a profile`],
        ['{"text": 1}', `line 1 of ${path}: text is none of one`],
      ] as const
    ) assertEquals(refused(lines), why);
    await Deno.remove(path);
    const gone = assertThrows(() => readProfiles(path), CliError);
    assertEquals(gone.message, `Cannot pre-warm ${path}: it does not exist`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
