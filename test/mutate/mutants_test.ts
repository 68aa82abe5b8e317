import { assertEquals } from "@std/assert";
import plugin, { type Change } from "./mutants.ts";

/** Returns the mutants of a source text, as the rule and the changed text of each. */
function mutantsOf(source: string): readonly (readonly [string, string])[] {
  return Deno.lint.runPlugin(plugin, "source.ts", source)
    .map(({ message }) => JSON.parse(message) as Change)
    .toSorted((one, other) => one.start - other.start || (one.rule < other.rule ? -1 : 1))
    .map(({ rule, start, end, text }) => [
      rule,
      `${source.slice(0, start)}${text}${source.slice(end)}`,
    ]);
}

const ROWS: readonly {
  readonly name: string;
  readonly source: string;
  readonly mutants: readonly (readonly [string, string])[];
}[] = [
  {
    name: "a guard is always and never taken",
    source: "if (a === b) return c;",
    mutants: [["always", "if ((true as boolean) || (a === b)) return c;"], [
      "never",
      "if ((false as boolean) && (a === b)) return c;",
    ]],
  },
  {
    name: "each operand of a chain is left out",
    source: "f((a || b) && c && !d);",
    mutants: [
      ["drop-statement", "{}"],
      ["drop-left", "f(c && !d);"],
      ["drop-left", "f((b) && c && !d);"],
      ["drop-right", "f((a) && c && !d);"],
      ["drop-right", "f((a || b) && !d);"],
      ["drop-right", "f((a || b) && c);"],
      ["drop-not", "f((a || b) && c && d);"],
    ],
  },
  {
    name: "comparisons, numbers and methods are changed",
    source: "const x = list.some((each) => each < 3);",
    mutants: [
      ["method", "const x = list.every((each) => each < 3);"],
      ["operator", "const x = list.some((each) => each <= 3);"],
      ["number", "const x = list.some((each) => each < 4);"],
    ],
  },
  {
    name: "effects are left out, one by one",
    source: "const x = [...(a), EFFECT];",
    mutants: [
      ["drop-element", "const x = [ EFFECT];"],
      ["drop-element", "const x = [...(a), ];"],
    ],
  },
  {
    name: "a changed property of a state is left out",
    source: 'const x = { ...state, phase: "done" };',
    mutants: [
      ["drop-property", "const x = { ...state,  };"],
      ["string", 'const x = { ...state, phase: "" };'],
    ],
  },
  {
    name: "a case is never taken, unless the default takes it",
    source: "switch (a) { case 'b': f = 1; break; case 'c': default: }",
    mutants: [
      ["no-case", "switch (a) { case undefined as never: f = 1; break; case 'c': default: }"],
      ["drop-statement", "switch (a) { case 'b': {} break; case 'c': default: }"],
      ["number", "switch (a) { case 'b': f = 2; break; case 'c': default: }"],
    ],
  },
  {
    name: "a function that may return nothing returns nothing",
    source: "function f(): string | undefined { return a?.b ?? c; }",
    mutants: [
      [
        "return-at-once",
        "function f(): string | undefined { if (true as boolean) return undefined; return a?.b ?? c; }",
      ],
      ["no-chain", "function f(): string | undefined { return a.b ?? c; }"],
      ["drop-right", "function f(): string | undefined { return a?.b; }"],
    ],
  },
  {
    name: "types, imports, errors and needless defaults stay",
    source: `
      import { a } from "b";
      type C = "d" | 1;
      if (x === undefined) throw new Error(y ? "one" : "two");
      const z = list[i] ?? "";
    `,
    mutants: [],
  },
];

for (const { name, source, mutants } of ROWS) {
  Deno.test(`mutants: ${name}`, () => assertEquals(mutantsOf(source), mutants));
}
