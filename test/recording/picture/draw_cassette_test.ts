import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../../any_character.ts";
import type { Cassette, CastEvent } from "../../../src/recording/cassette/cassette_format.ts";
import { CliError } from "../../../src/cli_error.ts";
import { drawCassette, drawSvg } from "../../../src/recording/picture/draw_cassette.ts";
import { recordSession } from "../cassette/record_session.ts";

/** A cassette of a small terminal with this output, and with an answer. */
function cassetteOf(
  output: string | readonly (readonly [number, string])[],
  { prompt = "hi", answer = "hello" } = {},
): Cassette {
  const { cast } = recordSession([{ at: 0, type: "spawned" }], {
    session: { size: { rows: 4, cols: 30 } },
    message: { text: prompt },
  });
  const drawn = typeof output === "string" ? [[100, output] as const] : output;
  const events = drawn.map(([at, data]): CastEvent => ({ at, code: "o", data }));
  return {
    cast: { ...cast, events: [...cast.events, ...events] },
    tape: [{ at: 5000, dir: "read", frame: { type: "result", result: answer } }],
  };
}

const draw = async (...of: Parameters<typeof cassetteOf>) => await drawCassette(cassetteOf(...of));

/** The elements of each drawn row. */
function rowsOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<g id="r\w+">(.*)<\/g>/g)].map(([, row = ""]) => row);
}

/** The number of frames, and their duration in seconds. */
function filmOf(svg: string): { readonly frames: number; readonly seconds: number } {
  const [, seconds] = /animation:film ([\d.]+)s/.exec(svg) ?? [];
  return { frames: svg.split("%{transform").length - 1, seconds: Number(seconds) };
}

/** The CSS rule of the element with this text. */
function ruleFor(svg: string, text: string): string | undefined {
  const [, name] = new RegExp(`<text class="(\\w+)"[^>]*>${text}</text>`).exec(svg) ?? [];
  return new RegExp(`^\\.${name}\\{(.*)\\}$`, "m").exec(svg)?.[1];
}

Deno.test("a picture is an SVG without scripts, links and fonts", async () => {
  const svg = await draw("\x1b[31mred\x1b[0m plain");
  assert(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '));
  assert(svg.endsWith("</svg>\n"));
  assertEquals(/<script|<image|<foreignObject|@import|url\(|href="[^#]|onload/.exec(svg), null);
  assertMatch(svg, /<title id="title">claude-print &quot;hi&quot;<\/title>/);
  assertMatch(svg, /<desc id="desc">A terminal in which .* Then it prints: hello<\/desc>/);
  assertMatch(svg, /@media \(prefers-reduced-motion:reduce\)\{\.film\{animation:none\}\}/);
  assertEquals(svg, await draw("\x1b[31mred\x1b[0m plain"), "the same cassette, the same text");
});

Deno.test("without animation the last frame is shown", async () => {
  const svg = await draw("drawn");
  const [, still] = /\.film\{transform:(translateX\(-\d+px\))/.exec(svg) ?? [];
  const last = [...svg.matchAll(/%\{transform:(translateX\(-?\d+px\))\}/g)].at(-1)?.[1];
  assertEquals(still, last);
});

Deno.test("colours and styles are drawn", async () => {
  const svg = await draw(
    "\x1b[31mA\x1b[38;5;208mB\x1b[38;2;1;2;3mC\x1b[0;1mD\x1b[0;2mE\x1b[0;3mF\x1b[0;4mG\x1b[0;9mH\r\n" +
      "\x1b[0;1;34mI\x1b[0;7mJ\x1b[0;44mK\x1b[0;38;5;244mL\x1b[0;8mhidden",
  );
  const rules = Object.fromEntries(
    "ABCDEFGHIJKL".split("").map((text) => [text, ruleFor(svg, text)]),
  );
  assertEquals(rules, {
    A: "fill:#e06c75",
    B: "fill:#ff8700",
    C: "fill:#010203",
    D: "font-weight:700",
    E: "opacity:.6",
    F: "font-style:italic",
    G: "text-decoration:underline",
    H: "text-decoration:line-through",
    I: "fill:#8cc6ff;font-weight:700",
    J: "fill:#14171f",
    K: undefined,
    L: "fill:#808080",
  });
  assert(svg.includes("{fill:#61afef}"), "the background of K");
  assert(!svg.includes("hidden"));
});

Deno.test("wide characters take two cells", async () => {
  const rows = rowsOf(await draw("日本|\x1b[?25l"));
  const [row = ""] = rows.filter((each) => each.includes("日"));
  const places = [...row.matchAll(/x="([\d.]+)"[^>]*>([^<]+)</g)].map(([, x, text]) => [text, x]);
  assertEquals(places, [["日", "8.4"], ["本", "25.2"], ["|", "33.6"]]);
});

Deno.test("boxes and blocks are shapes", async () => {
  const rows = rowsOf(await draw("╭──────╮▐█▌\x1b[?25l"));
  const [row = ""] = rows.filter((each) => each.includes("H"));
  assertEquals(row.includes("─"), false);
  assertEquals([...row.matchAll(/H/g)].length, 1, row);
  assertEquals([...row.matchAll(/Q/g)].length, 2);
  assertEquals([...row.matchAll(/z/g)].length, 3);
});

Deno.test("the cursor is drawn unless it is hidden", async () => {
  const cells = (svg: string) => rowsOf(svg).filter((row) => /^<path/.test(row)).length;
  // The shell has one of its own.
  assertEquals(cells(await draw("\r\n")) - cells(await draw("\x1b[?25l\r\n")), 0);
  assert((await draw("ab\x1b[D")).includes(">b<"), "the letter under the cursor stands alone");
  assert((await draw("ab\x1b[D\x1b[?25l")).includes(">ab<"));
});

Deno.test("the picture of any output is XML without controls", async () => {
  const special = fc.constantFrom(
    "<",
    "&",
    '"',
    "]]>",
    "\x1b",
    "\x07",
    "\x9b",
    "\u202e",
    "\ufffe",
    "é",
    "日",
    "👩‍💻",
    "\x1b[7m",
  );
  const text = fc.string({ unit: fc.oneof(special, anyCharacter) });
  await fc.assert(
    fc.asyncProperty(text, text, text, async (output, prompt, answer) => {
      const svg = await draw(output, { prompt, answer });
      assertEquals(/[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(svg), null);
      assertEquals(/\p{Bidi_Control}/u.exec(svg), null);
      checkMarkup(svg);
    }),
    { numRuns: 15 },
  );
});

Deno.test("equal frames are one, and long pauses are shortened", async () => {
  const base = filmOf(await draw("drawn"));
  const idle = filmOf(
    await draw([[100, "drawn"], [60_000, "\x1b[31m\x1b[0m"], [1_800_000, "\x1b[1G"], [
      3_600_000,
      "\x1b[0m",
    ]]),
  );
  // The cursor moved once.
  assertEquals(idle.frames, base.frames + 1);
  assert(idle.seconds < base.seconds + 5, `${idle.seconds} s`);
});

Deno.test("a run that draws constantly has a bounded picture", async () => {
  const output = Array.from({ length: 1000 }, (_, index) => [index * 200, `\r${index}`] as const);
  const svg = await draw(output);
  const { frames, seconds } = filmOf(svg);
  assert(frames <= 200, `${frames} frames`);
  assert(seconds <= 46, `${seconds} s`);
  assert(svg.length < 100_000, `${svg.length} characters`);
});

Deno.test("floods, extreme sizes and long texts have bounded pictures", async () => {
  const counts = "\x1b[2147483647b\x1b[2147483647L\x1b[2147483647S\x1b[2J\x1bc";
  const flood = Array.from({ length: 10 }, (_, at) => [at * 100, counts.repeat(10)] as const);
  assert((await draw([...flood, [10_000, "\x1b[Hend"]])).includes(">end<"));
  const { cast, tape } = cassetteOf("\x1b[999999ba\x1b[999999b日");
  for (const [width, height] of [[1000, 1000], [1, 1], [2, 1000]] as const) {
    const events: readonly CastEvent[] = [
      ...cast.events,
      ...Array.from({ length: 120 }, (_, at): CastEvent => ({
        at: at * 100 + 200,
        code: at % 2 === 0 ? "o" : "r",
        data: at % 2 === 0 ? `a\x1b[${at}C` : at % 4 === 1 ? "1x1" : `${width}x${height}`,
      })),
    ];
    const svg = await drawCassette({ cast: { ...cast, events }, tape });
    assert(svg.length < 2_000_000, `${svg.length} characters of ${width}x${height} cells`);
    checkMarkup(svg);
  }
  for (
    const text of ["x".repeat(100_000), `日${" ".repeat(100_000)}本`, "a \n".repeat(30_000)]
  ) {
    const svg = await draw("", { prompt: text, answer: text });
    assert(svg.length < 100_000, `${svg.length} characters`);
  }
});

Deno.test("a picture of more than 64 MB is refused", () => {
  const row = [{ col: 0, glyphs: [{ text: "x".repeat(65 << 20), cells: 1 }], style: {} }];
  const frames = [{ ms: 1, shell: [row], child: [] }];
  const film = { title: "", description: "", cols: 1, shellRows: 1, childRows: 1, frames };
  assertThrows(
    () => drawSvg(film),
    CliError,
    "Cannot draw the recording: its picture would be too large",
  );
});

Deno.test("output after the child's kill is not drawn", async () => {
  const { cast, tape } = cassetteOf([[100, "before "], [200, "after"]]);
  const kill: CastEvent = {
    at: 150,
    code: "d",
    data: '{"type":"kill","signal":"SIGTERM","tree":false}',
  };
  const events = cast.events.flatMap((event) => event.data === "after" ? [kill, event] : [event]);
  const svg = await drawCassette({ cast: { ...cast, events }, tape });
  assert(svg.includes("before") && !svg.includes("after"));
});

Deno.test("a growing terminal is drawn in its largest size", async () => {
  const { cast, tape } = cassetteOf("small");
  const events: readonly CastEvent[] = [
    ...cast.events,
    { at: 300, code: "r", data: "40x6" },
    { at: 400, code: "o", data: `\r\n\n\n\n\n${"x".repeat(40)}` },
  ];
  const width = (svg: string) => Number(/width="([\d.]+)"/.exec(svg)?.[1]);
  const svg = await drawCassette({ cast: { ...cast, events }, tape });
  assertEquals(width(svg) - width(await draw("small")), 84);
  assert(svg.includes("x".repeat(40)));
});

Deno.test("the command is quoted for a shell and shortened", async () => {
  const titleOf = async (prompt: string) =>
    /<title id="title">(.*)<\/title>/.exec(await draw("", { prompt }))?.[1];
  assertEquals(await titleOf("What is\n $HOME?"), "claude-print 'What is $HOME?'");
  assertEquals(await titleOf('It\'s a "test"'), `claude-print 'It'\\''s a &quot;test&quot;'`);
  const rows = rowsOf(await draw("", { prompt: "word ".repeat(40), answer: "line\n".repeat(20) }));
  assertEquals(rows.some((row) => row.includes("…")), true);
});

Deno.test("a run without an answer shows the error", async () => {
  const { cast } = cassetteOf("");
  const frame = { type: "result", errors: ["The run timed out after 5 s"] };
  const svg = await drawCassette({ cast, tape: [{ at: 1, dir: "read", frame }] });
  assert(svg.includes("Then it prints: claude-print: The run timed out after 5 s"));
  assert((await drawCassette({ cast, tape: [] })).includes("It prints nothing."));
});

/** Checks that elements are closed in order, and that nothing in a text looks like one. */
function checkMarkup(svg: string): void {
  const open: string[] = [];
  for (
    const [tag, closing, name = "", selfClosing] of svg.matchAll(/<(\/?)([a-z]*)[^<>]*?(\/?)>/gi)
  ) {
    if (closing !== "") assertEquals(open.pop(), name, tag);
    else if (selfClosing === "") open.push(name);
  }
  assertEquals(open, []);
  const texts = svg.replace(/<style>[\s\S]*?<\/style>/g, "").replace(/<[^<>]*>/g, "");
  assertEquals(/[<>]|&(?!(?:amp|lt|gt|quot);)/.exec(texts), null);
}

Deno.test("a long cast is read three times, never kept", async () => {
  const { cast, tape } = cassetteOf("");
  const characters = "one, a character cut in two: \ud83d|\ude00, and more ".split("|");
  const events = Array.from({ length: 10_000 }, (_, at): CastEvent => ({
    at: at + 1,
    code: at % 500 === 499 ? "r" : "o",
    data: at % 500 === 499 ? `${30 + at % 7}x4` : `${characters[at % 2]}${at}`,
  }));
  const whole = { ...cast, events: [...cast.events, ...events] };
  let reading = 0;
  const read = {
    header: cast.header,
    events: {
      *[Symbol.iterator]() {
        reading++;
        yield* whole.events;
      },
    },
  };
  assertEquals(
    await drawCassette({ cast: read, tape: tape.values() }),
    await drawCassette({ cast: whole, tape }),
  );
  // For its message, its sizes and its frames.
  assertEquals(reading, 3);
});

Deno.test("the answer comes after all output, also after a kill", async () => {
  const { cast } = cassetteOf("drawn");
  const kill = '{"type":"kill","signal":"SIGTERM","tree":false}';
  const secondsUntil = async (end: number) => {
    const events: readonly CastEvent[] = [
      ...cast.events,
      { at: 300, code: "d", data: kill },
      { at: end, code: "o", data: "more" },
    ];
    return filmOf(await drawCassette({ cast: { ...cast, events }, tape: [] })).seconds;
  };
  assertEquals(await secondsUntil(1500) - await secondsUntil(500), 1);
});
