import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { renderLiveLine } from "../../../src/commands/watch/render_live_line.ts";
import { type Progress, PROGRESS_START } from "../../../src/commands/watch/progress.ts";
import { renderScreen } from "../../../src/driver/hands/render_screen.ts";

const STYLE = { columns: 80, color: false, elapsedMs: 12_345, cwd: "/home/user/project" };

function working(subject?: string, name = "Bash"): Progress {
  const tool = { id: "t1", name, ...(subject === undefined ? {} : { subject }) };
  return { ...PROGRESS_START, phase: "working", tools: [tool] };
}

Deno.test("a live line tells phase, tool, time and tokens", () => {
  const last = { id: "m1", tokens: 1234 };
  assertEquals(renderLiveLine(PROGRESS_START, STYLE), "starting · 12 s");
  assertEquals(
    renderLiveLine({ ...working("npm test"), last }, STYLE),
    "working · Bash npm test · 12 s · 1.2k tokens",
  );
  assertEquals(renderLiveLine(working(), STYLE), "working · Bash · 12 s");
});

Deno.test("a live line counts tasks, attempts and further tools", () => {
  const [tool] = working("npm test").tools;
  assert(tool !== undefined);
  const lines = [
    { ...PROGRESS_START, phase: "waiting", count: 1 },
    { ...PROGRESS_START, phase: "waiting", count: 2 },
    { ...PROGRESS_START, phase: "retrying", count: 4 },
    { ...PROGRESS_START, phase: "working", tools: [tool, tool, tool] },
  ] as const;
  assertEquals(lines.map((progress) => renderLiveLine(progress, STYLE)), [
    "waiting for a background task · 12 s",
    "waiting for 2 background tasks · 12 s",
    "retrying (attempt 4) · 12 s",
    "working · (+2) Bash npm test · 12 s",
  ]);
});

Deno.test("a live line tells times and tokens in the unit they fill", () => {
  const render = (elapsedMs: number, tokens: number) =>
    renderLiveLine({ ...PROGRESS_START, last: { id: "", tokens } }, { ...STYLE, elapsedMs });
  assertEquals(render(59_999, 1), "starting · 59 s · 1 token");
  assertEquals(render(65_000, 999), "starting · 1 min 05 s · 999 tokens");
  assertEquals(render(3_725_000, 12_345), "starting · 1 h 02 min · 12k tokens");
});

Deno.test("a live line names files from the folder the run works in", () => {
  const line = renderLiveLine(working("/home/user/project/src/a.ts", "Read"), STYLE);
  assertEquals(line, "working · Read src/a.ts · 12 s");
  const other = renderLiveLine(working("/home/user/project2/a.ts", "Read"), STYLE);
  assertEquals(other, "working · Read /home/user/project2/a.ts · 12 s");
});

Deno.test("a live line shortens the tool to the columns there are, whatever width its characters have", () => {
  const columns = 40;
  const render = (subject: string) => renderLiveLine(working(subject), { ...STYLE, columns });
  assertEquals(render("a".repeat(99)), "working · Bash aaaaaaaaaaaaaaaa… · 12 s");
  assertEquals(render("日".repeat(99)), "working · Bash 日日日日日日日日… · 12 s");
  assertEquals(render("e\u0301".repeat(99)), `working · Bash ${"e\u0301".repeat(16)}… · 12 s`);
  assertEquals(render("👍".repeat(99)), "working · Bash 👍👍👍👍👍👍👍👍… · 12 s");
});

Deno.test("a live line leaves the tool out of a narrow terminal, and is cut in one that is narrower", () => {
  const render = (columns: number) => renderLiveLine(working("npm test"), { ...STYLE, columns });
  assertEquals(render(25), "working · 12 s");
  assertEquals(render(10), "working…");
  assertEquals([render(2), render(1), render(0)], ["…", "", ""]);
});

Deno.test("a live line may be dim", () => {
  const line = renderLiveLine(PROGRESS_START, { ...STYLE, color: true });
  assertEquals(line, "\x1b[2mstarting · 12 s\x1b[22m");
});

Deno.test("what a tool's input holds is one line without control characters", () => {
  const line = renderLiveLine(working("a\n\tb\x1b[31m\x07\u009b6n\u202e\ud800 c"), STYLE);
  assertEquals(line, "working · Bash a b[31m6n c · 12 s");
  assertEquals(
    renderLiveLine(working("rm \u3164 \u2800\ufe0f\u034f ☎\ufe0f"), STYLE),
    "working · Bash rm <U+3164> <U+2800><U+FE0F><U+034F> ☎\ufe0f · 12 s",
  );
});

Deno.test("no input makes a live line wrap, scroll or move", async () => {
  const subject = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 120 }),
    fc.array(fc.nat(0x10ffff), { maxLength: 120 }).map((codes) => String.fromCodePoint(...codes)),
  );
  for (const columns of [2, 17, 40, 41, 80]) {
    const rendered = fc.sample(subject, 60)
      .map((subject) => renderLiveLine(working(subject), { ...STYLE, columns }));
    for (const line of rendered) assertMatch(line, /^[^\p{Cc}\p{Cf}\p{Cs}]*$/u);
    // One below the other, each erased from where the cursor was left: nothing of any may stay.
    const text = rendered.map((line) => `${line}\r\x1b[K\n`).join("");
    const { lines, cursor } = await renderScreen([new TextEncoder().encode(text)], {
      rows: 100,
      cols: columns,
    });
    assertEquals(cursor, { row: 61, col: 1 }, JSON.stringify(rendered));
    assertEquals(lines.filter((line) => line !== ""), [], JSON.stringify(rendered));
  }
});
