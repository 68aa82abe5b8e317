import { assert, assertEquals } from "@std/assert";
import { z } from "zod/mini";
import { CAST_FILE } from "../../../../src/recording/cassette/cassette_format.ts";
import { findTool } from "../../../missing_tool.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { RECORDED_RUNS } from "../../../recording/cassette/recorded_runs.ts";

type Line = readonly [number, string, string];

const linesOf = (text: string): readonly unknown[] =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line));

/** What this machine lacks of asciinema. Only version 3 converts recordings. */
function asciinemaLack(): string | undefined {
  const path = findTool("asciinema");
  if (path === undefined) return "asciinema";
  const { stdout } = new Deno.Command(path, { args: ["--version"], stderr: "null" }).outputSync();
  const [, major = "0"] = /(\d+)\./u.exec(new TextDecoder().decode(stdout)) ?? [];
  return Number(major) < 3 ? "asciinema 3" : undefined;
}

/** A recording, converted by asciinema to another format. */
function converted(folder: string, format: string): string {
  const { success, stdout, stderr } = new Deno.Command(findTool("asciinema") ?? "", {
    args: ["convert", "--output-format", format, `${folder}/${CAST_FILE}`, "-"],
    stdout: "piped",
    stderr: "piped",
  }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test(skipIfLacking(asciinemaLack(), {
  name: "asciinema converts a recording to version 3",
  fn() {
    for (const { name, folder, cassette: { cast } } of RECORDED_RUNS) {
      const [first, ...events] = linesOf(converted(folder, "asciicast-v3"));
      const { version, term } = z.looseObject({
        version: z.number(),
        term: z.looseObject({ cols: z.number(), rows: z.number() }),
      }).parse(first);
      const { width, height } = cast.header;
      assertEquals([version, term.cols, term.rows], [3, width, height], name);
      // asciinema passes markers and unknown codes through.
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

Deno.test(skipIfLacking(asciinemaLack(), {
  name: "asciinema shows only what the child wrote",
  fn() {
    for (const { name, folder, cassette: { cast } } of RECORDED_RUNS) {
      const { header: { width, height }, events } = cast;
      const written = events.filter(({ code }) => code === "o").map(({ data }) => data);
      // It first sets the size of the terminal.
      assertEquals(
        converted(folder, "raw"),
        [`\x1b[8;${height};${width}t`, ...written].join(""),
        name,
      );
    }
  },
}));
