import { assertEquals } from "@std/assert";
import { Remembered } from "../../../src/relay/exchanges/remembered.ts";

Deno.test("Remembered keeps what was needed last, and no more than it may weigh", () => {
  const remembered = new Remembered<number>(10);
  const known = () => ["a", "b", "c", "d"].filter((key) => remembered.get(key) !== undefined);
  remembered.set("a", { value: 1, weight: 4 });
  remembered.set("b", { value: 2, weight: 4 });
  assertEquals(remembered.get("a"), 1);
  remembered.set("c", { value: 3, weight: 4 });
  assertEquals(known(), ["a", "c"]);
  // Too heavy by itself.
  remembered.set("d", { value: 4, weight: 11 });
  assertEquals(known(), ["a", "c"]);
  remembered.set("a", { value: 5, weight: 10 });
  assertEquals([known(), remembered.get("a")], [["a"], 5]);
});
