import type { ErrorObject, ValidateFunction } from "ajv";
import type { OutputProblem } from "../../conversation/control/input.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";
import { CliError } from "../../cli_error.ts";
import type { OutputSchema } from "../plan/plan_facts.ts";

/** The maximum length of a schema, in UTF-16 code units. Claude Code 2.1.330 accepts schemas of 100,000 values. */
const MAX_LENGTH = 1_000_000;
/** The maximum number of characters of a value, and of a name, that the model sees. */
const LONGEST_VALUE = 300;
const LONGEST_NAME = 80;

/**
 * Compiles a JSON Schema by the rules of Claude Code 2.1.330: draft 07, formats are not checked, and unknown keywords are
 * errors.
 *
 * @throws {CliError} when the text is no such schema
 */
export async function readOutputSchema(text: string): Promise<OutputSchema> {
  const schema = parseSchema(text);
  // Loading ajv takes 40 ms. As a CommonJS package it has "default" both from sources and in the executable.
  const { default: { Ajv } } = await import("ajv");
  const ajv = new Ajv({
    allErrors: true,
    validateFormats: false,
    multipleOfPrecision: 6,
    logger: false,
  });
  let validate: ValidateFunction;
  try {
    if (!ajv.validateSchema(schema)) throw new Error(ajv.errorsText(ajv.errors));
    validate = ajv.compile(schema);
  } catch (cause) {
    throw schemaError(
      `is not a valid JSON Schema: ${cause instanceof Error ? cause.message : cause}`,
    );
  }
  return {
    schema,
    problemsOf: (value) =>
      validate(value)
        ? []
        : (validate.errors ?? []).map((error): OutputProblem => outputProblem(error, value)),
  };
}

function parseSchema(text: string): JsonObject {
  if (text.length > MAX_LENGTH || isTooDeep(text)) throw schemaError("is too large");
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (cause) {
    throw schemaError(`is not valid JSON: ${(cause as Error).message}`);
  }
  if (!isJsonObject(schema)) throw schemaError("must be a JSON object");
  if (schema["$async"]) throw schemaError("must not be asynchronous");
  return schema;
}

function schemaError(why: string): CliError {
  return new CliError(`Error: --json-schema ${why}`, {
    suggestion:
      `Give a JSON Schema, for example --json-schema '{"type":"object","properties":{"ok":{"type":"boolean"}}}'`,
  });
}

/** An error of the validator, in the words in which `claude -p` reports it to the model. */
function outputProblem(error: ErrorObject, value: unknown): OutputProblem {
  const text = `${error.instancePath || "root"}: ${error.message}`;
  return { text, ...definedFields({ found: foundOrAllowed(error, value) }) };
}

/** The found value, or the allowed values. 2.1.330 appends them. */
function foundOrAllowed(
  { keyword, instancePath, params }: ErrorObject,
  value: unknown,
): string | undefined {
  switch (keyword) {
    case "additionalProperties": {
      const name = params["additionalProperty"];
      return typeof name === "string"
        ? ` ('${truncate(name, LONGEST_NAME)}' is not allowed)`
        : undefined;
    }
    case "minLength":
    case "maxLength":
    case "minItems":
    case "maxItems":
    case "minProperties":
    case "maxProperties":
      return ` (got ${sizeOf(valueAt(value, instancePath))})`;
    case "enum":
      return `: ${truncate(JSON.stringify(params["allowedValues"]), LONGEST_VALUE)}`;
    case "const":
      return `: ${truncate(JSON.stringify(params["allowedValue"]), LONGEST_VALUE)}`;
    default:
      return undefined;
  }
}

/** The number of characters, items or properties. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  return Array.isArray(value) ? value.length : Object.keys(value as JsonObject).length;
}

/** The value at a JSON pointer. */
function valueAt(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((inside, name) => (inside as Record<string, unknown>)[name], value);
}

function truncate(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
