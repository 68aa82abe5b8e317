import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { readOutputSchema } from "../../../src/run/facts/output_schema.ts";

/** What is wrong with a value, as 2.1.330 says it. */
async function problems(schema: object, value: unknown): Promise<readonly string[]> {
  const { problemsOf } = await readOutputSchema(JSON.stringify(schema));
  return problemsOf(value).map(({ text, found = "" }) => `${text}${found}`);
}

Deno.test("what does not fit is told with its place, and with what was found there", async () => {
  const schema = {
    type: "object",
    properties: {
      short: { type: "string", maxLength: 2 },
      list: { type: "array", minItems: 2, items: { type: "integer" } },
      map: { type: "object", maxProperties: 1 },
      "a/b~c": { type: "string", minLength: 3 },
      kind: { enum: ["one", "two"] },
      sure: { const: true },
      price: { type: "number", multipleOf: 0.01 },
      day: { type: "string", format: "date" },
    },
    required: ["short"],
    additionalProperties: false,
  };
  assertEquals(
    await problems(schema, {
      short: "🙂🙂🙂",
      list: ["x"],
      map: { a: 1, b: 2 },
      "a/b~c": "",
      kind: "three",
      sure: false,
      price: 19.99,
      day: "never",
      [`${"k".repeat(81)}`]: 1,
    }),
    [
      `root: must NOT have additional properties ('${"k".repeat(80)}…' is not allowed)`,
      "/short: must NOT have more than 2 characters (got 3)",
      "/list: must NOT have fewer than 2 items (got 1)",
      "/list/0: must be integer",
      "/map: must NOT have more than 1 properties (got 2)",
      "/a~1b~0c: must NOT have fewer than 3 characters (got 0)",
      '/kind: must be equal to one of the allowed values: ["one","two"]',
      "/sure: must be equal to constant: true",
    ],
  );
  assertEquals(await problems(schema, { price: 1 }), ["root: must have required property 'short'"]);
  assertEquals(await problems(schema, { short: "" }), []);
});

Deno.test("a schema that is none is refused with the reason", async () => {
  for (
    const [text, reason] of [
      ["[]", "must be a JSON object"],
      ["nonsense", "is not valid JSON: Unexpected token 'o', \"nonsense\" is not valid JSON"],
      [
        '{"type":"object","foo":1}',
        'is not a valid JSON Schema: strict mode: unknown keyword: "foo"',
      ],
      [
        '{"$ref":"#/definitions/x"}',
        "is not a valid JSON Schema: can't resolve reference #/definitions/x from id #",
      ],
      ['{"$async":true}', "must not be asynchronous"],
      [`${'{"not":'.repeat(501)}{}${"}".repeat(501)}`, "is too large"],
      [`{"title":"${"x".repeat(1_000_000)}"}`, "is too large"],
    ] as const
  ) {
    const error = await assertRejects(() => readOutputSchema(text), CliError);
    assertEquals(error.message, `Error: --json-schema ${reason}`);
  }
});
