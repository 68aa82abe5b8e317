import { assertEquals } from "@std/assert";
import { renderScreen } from "../../src/driver/hands/render_screen.ts";

const encoder = new TextEncoder();

Deno.test("renderScreen() shows rows without trailing blanks and the cursor from 1", async () => {
  const screen = await renderScreen(
    [encoder.encode("one\r\n\x1b[3;5Hth"), encoder.encode("ré \x1b[31me\x1b[0m")],
    { rows: 4, cols: 20 },
  );
  assertEquals(screen.lines, ["one", "", "    thré e", ""]);
  assertEquals(screen.cursor, { row: 3, col: 11 });
});

Deno.test("renderScreen() shows the bottom of what has scrolled", async () => {
  const text = Array.from({ length: 30 }, (_, row) => `row ${row}`).join("\r\n");
  const screen = await renderScreen([encoder.encode(text)], { rows: 3, cols: 20 });
  assertEquals(screen.lines, ["row 27", "row 28", "row 29"]);
});

Deno.test("renderScreen() puts characters together that were cut anywhere", async () => {
  const bytes = encoder.encode("│ ❯ é… 日本 🙂 │");
  const size = { rows: 2, cols: 40 };
  const whole = await renderScreen([bytes], size);
  assertEquals(whole.lines[0], "│ ❯ é… 日本 🙂 │");
  const cut = Array.from(bytes, (byte) => Uint8Array.of(byte));
  assertEquals(await renderScreen(cut, size), whole);
});
