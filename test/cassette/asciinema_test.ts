import { assert, assertEquals } from "@std/assert";
import { z } from "zod/mini";
import { CAST_FILE } from "../../src/cassette/cassette.ts";
import { encodeCast } from "../../fixtures/encode_whole.ts";
import { findTool } from "../find_tool.ts";
import { unlessLacking } from "../unless_lacking.ts";
import { RECORDED_RUNS } from "./recorded_runs.ts";

/** The header of docs.asciinema.org/manual/asciicast/v2, and what is written there besides. */
const header = z.strictObject({
  version: z.literal(2),
  width: z.int().check(z.positive()),
  height: z.int().check(z.positive()),
  timestamp: z.int().check(z.positive()),
  env: z.record(z.string(), z.string()),
  claude_print: z.looseObject({ conversation: z.looseObject({}) }),
});

/** Its events; a player ignores codes that it does not know. */
const event = z.tuple([z.number().check(z.nonnegative()), z.string(), z.string()]);

/** What the data of an event may be, by its code. */
const DATA: Readonly<Record<string, RegExp>> = {
  o: /^[^]+$/u,
  i: /^[^]+$/u,
  r: /^[1-9]\d*x[1-9]\d*$/u,
  m: /^[^]*$/u,
  // Of version 3, which players of version 2 ignore.
  x: /^\d+$/u,
  // Our own.
  h: /^\{"type":.*\}$/u,
  d: /^\{"type":.*\}$/u,
};

type Line = readonly [number, string, string];

const linesOf = (text: string): readonly unknown[] =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line));

for (const { name, cassette: { cast } } of RECORDED_RUNS) {
  Deno.test(`${name} is an asciicast of version 2`, () => {
    const text = encodeCast(cast);
    assert(text.endsWith("\n"));
    const [first, ...rest] = linesOf(text);
    header.parse(first);
    const events = rest.map((line) => event.parse(line));
    let before = 0;
    for (const [at, code, data] of events) {
      assert(at >= before, `${at} is earlier than ${before}`);
      before = at;
      const known = DATA[code];
      assert(known !== undefined, `${code} is no code of a cast`);
      assert(known.test(data), `${code} has the data ${data}`);
    }
    // Once, as the very end of what a player shows.
    const shown = events.map(([, code]) => code).filter((code) => "oirmx".includes(code));
    assertEquals([shown.indexOf("x"), shown.at(-1)], [shown.length - 1, "x"]);
  });
}

/** What of asciinema this machine lacks: only version 3 converts recordings. */
function asciinemaLack(): string | undefined {
  const path = findTool("asciinema");
  if (path === undefined) return "asciinema";
  const { stdout } = new Deno.Command(path, { args: ["--version"], stderr: "null" }).outputSync();
  const [, major = "0"] = /(\d+)\./u.exec(new TextDecoder().decode(stdout)) ?? [];
  return Number(major) < 3 ? "asciinema 3" : undefined;
}

/** A recording as asciinema gives it in another format. */
function converted(folder: string, format: string): string {
  const { success, stdout, stderr } = new Deno.Command(findTool("asciinema") ?? "", {
    args: ["convert", "--output-format", format, `${folder}/${CAST_FILE}`, "-"],
    stdout: "piped",
    stderr: "piped",
  }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test(unlessLacking(asciinemaLack(), {
  name: "asciinema converts a recording to version 3, with the child's exit",
  fn() {
    for (const { name, folder, cassette: { cast } } of RECORDED_RUNS) {
      const [first, ...events] = linesOf(converted(folder, "asciicast-v3"));
      const { version, term } = z.looseObject({
        version: z.number(),
        term: z.looseObject({ cols: z.number(), rows: z.number() }),
      }).parse(first);
      const { width, height } = cast.header;
      assertEquals([version, term.cols, term.rows], [3, width, height], name);
      // Markers and codes that are not known there are passed through.
      assertEquals(
        (events as readonly Line[]).map(([, code, data]) => [code, data]),
        cast.events.map(({ code, data }) => [code, data]),
        name,
      );
      const exits = (events as readonly Line[]).filter(([, code]) => code === "x");
      assertEquals(exits.map(([, , data]) => /^\d+$/u.test(data)), [true], name);
    }
  },
}));

Deno.test(unlessLacking(asciinemaLack(), {
  name: "asciinema shows of a recording what the child wrote, and nothing else",
  fn() {
    for (const { name, folder, cassette: { cast } } of RECORDED_RUNS) {
      const { header: { width, height }, events } = cast;
      const written = events.filter(({ code }) => code === "o").map(({ data }) => data);
      // First of all it gives the terminal its size.
      assertEquals(
        converted(folder, "raw"),
        [`\x1b[8;${height};${width}t`, ...written].join(""),
        name,
      );
    }
  },
}));
