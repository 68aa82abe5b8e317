import { assertEquals, assertThrows } from "@std/assert";
import { Demand } from "../../../src/server/pool/demand.ts";
import { type ChildProfile, readProfiles } from "../../../src/server/profiles.ts";
import { CliError } from "../../../src/cli_error.ts";

const profile = (digest: string) => ({ digest }) as ChildProfile;
const [A, B, C] = [profile("a"), profile("b"), profile("c")];
const SUPPLY = { warm: 2, max: 3, idleMs: 1000 };

const waiting = (counts: Readonly<Record<string, number>> = {}) => new Map(Object.entries(counts));

Deno.test("the latest profile is started first", () => {
  const demand = new Demand(SUPPLY);
  assertEquals(demand.next(waiting(), 0), undefined);
  demand.ask(A, 1);
  demand.ask(B, 2);
  assertEquals(demand.next(waiting(), 3), { start: B });
  assertEquals(demand.next(waiting({ b: 1 }), 3), { start: B });
  assertEquals(demand.next(waiting({ b: 2 }), 3), { start: A });
  assertEquals(demand.next(waiting({ b: 2, a: 1 }), 3), undefined);
});

Deno.test("a repeated demand evicts the oldest profile", () => {
  const demand = new Demand({ ...SUPPLY, warm: 1, max: 2 });
  demand.ask(A, 1);
  demand.ask(B, 2);
  demand.ask(C, 3);
  assertEquals(demand.next(waiting({ a: 1, b: 1 }), 4), undefined);
  demand.ask(C, 5);
  assertEquals(demand.next(waiting({ a: 1, b: 1 }), 6), { start: C, letGo: "a" });
  assertEquals(demand.next(waiting({ b: 1, c: 1 }), 6), undefined);
  assertEquals(new Demand({ ...SUPPLY, max: 0 }).next(waiting(), 7), undefined);
});

Deno.test("an idle profile is forgotten", () => {
  const demand = new Demand(SUPPLY);
  demand.ask(A, 0);
  demand.ask(B, 500);
  assertEquals(demand.dueAt(600), 1000);
  assertEquals(demand.forget(999), []);
  assertEquals(demand.forget(1000), ["a"]);
  assertEquals(demand.known.map(({ profile: { digest } }) => digest), ["b"]);
  assertEquals(demand.forget(1500), ["b"]);
  assertEquals(demand.dueAt(1600), Infinity);
});

Deno.test("failing children restart after growing pauses", () => {
  const demand = new Demand({ ...SUPPLY, idleMs: 10 ** 9 });
  demand.ask(A, 0);
  let now = 0;
  const pauses = Array.from({ length: 12 }, (_, count) => {
    assertEquals(demand.failed("a", now), count === 0);
    const until = demand.dueAt(now);
    assertEquals(demand.next(waiting(), until - 1), undefined);
    assertEquals(demand.next(waiting(), until), { start: A });
    const pause = until - now;
    now = until;
    return pause / 1000;
  });
  assertEquals(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
  demand.succeeded("a");
  assertEquals(demand.failed("a", now), true);
  // Of one that was forgotten meanwhile somebody hears as well.
  assertEquals(demand.failed("b", now), true);
});

Deno.test("unused outdated children restart less and less often", () => {
  const demand = new Demand({ ...SUPPLY, idleMs: 10 ** 9 });
  demand.ask(A, 0);
  demand.outdated("a", 0);
  demand.outdated("a", 0);
  assertEquals(demand.next(waiting(), 3999), undefined);
  assertEquals(demand.next(waiting(), 4000), { start: A });
  demand.outdated("a", 4000);
  demand.ask(A, 4001);
  assertEquals(demand.next(waiting(), 4001), { start: A });
  assertEquals(demand.failed("a", 4001), true);
});

Deno.test("a kept profile waits without demand", () => {
  const demand = new Demand(SUPPLY);
  demand.keep(A, 0);
  demand.ask(A, 1);
  assertEquals([demand.dueAt(10 ** 9), demand.forget(10 ** 9)], [Infinity, []]);
  assertEquals(demand.next(waiting(), 10 ** 9), { start: A });
});

Deno.test("an invalid profile line is named", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/profiles`;
  const refused = (lines: string) => {
    Deno.writeTextFileSync(path, lines);
    return assertThrows(() => readProfiles(path), CliError).message.replace(
      "Cannot have Claude Codes wait for ",
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
    assertEquals(gone.message, `Cannot have Claude Codes wait for ${path}: it does not exist`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
