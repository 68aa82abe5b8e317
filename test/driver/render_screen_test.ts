import { assertEquals } from "@std/assert";
import { renderScreen } from "../../src/driver/render_screen.ts";
import { readChoices, recogniseDialog } from "../../src/session/dialogs.ts";
import { readRecording } from "../session/recording.ts";

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

for (const version of ["2.1.168", "2.1.197", "2.1.330"]) {
  Deno.test(`the recorded ${version} trust dialog is recognised on the screen`, async () => {
    const chunks: Uint8Array[] = [];
    for (const input of readRecording(`${version}-trust`)) {
      if (input.type === "screen") break;
      if (input.type === "terminal") chunks.push(input.bytes);
    }
    const screen = await renderScreen(chunks, { rows: 50, cols: 220 });
    assertEquals(recogniseDialog(screen)?.name, "workspace trust");
    assertEquals(readChoices(screen).map(({ text }) => text).sort(), [
      "No, exit",
      "Yes, I trust this folder",
    ]);
  });
}
