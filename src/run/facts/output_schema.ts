import type { ErrorObject, ValidateFunction } from "ajv";
import type { OutputProblem } from "../../conversation/control/input.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";
import { CliError } from "../../cli_error.ts";
import type { OutputSchema } from "../plan/plan_facts.ts";

/** Longest schema, in UTF-16 code units: Claude Code takes 100,000 values (2.1.330). */
const MAX_LENGTH = 1_000_000;
/** How much is told of a value, and of a name, before it is cut off. */
const MAX_TOLD = 300;
const MAX_NAME = 80;

/**
 * Reads what a structured answer has to look like, by the rules of Claude Code 2.1.330: draft 07, formats are not looked
 * at, and words that no schema knows are mistakes.
 *
 * @throws {CliError} when it is no schema
 */
export async function readOutputSchema(text: string): Promise<OutputSchema> {
  const schema = parseSchema(text);
  // Whoever wants no structured answer does without it: it takes 40 ms.
  // A package of CommonJS has no other name that is the same from sources and in the executable.
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
    throw unfit(
      `is not a valid JSON Schema: ${cause instanceof Error ? cause.message : cause}`,
    );
  }
  return {
    schema,
    problemsOf: (value) =>
      validate(value)
        ? []
        : (validate.errors ?? []).map((error): OutputProblem => problemOf(error, value)),
  };
}

function parseSchema(text: string): JsonObject {
  if (text.length > MAX_LENGTH || isTooDeep(text)) throw unfit("is too large");
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (cause) {
    throw unfit(`is not valid JSON: ${(cause as Error).message}`);
  }
  if (!isJsonObject(schema)) throw unfit("must be a JSON object");
  if (schema["$async"]) throw unfit("must not be asynchronous");
  return schema;
}

function unfit(why: string): CliError {
  return new CliError(`Error: --json-schema ${why}`, {
    suggestion:
      `Give a JSON Schema, for example --json-schema '{"type":"object","properties":{"ok":{"type":"boolean"}}}'`,
  });
}

/** What a validator says, as `claude -p` tells the model. */
function problemOf(error: ErrorObject, value: unknown): OutputProblem {
  const text = `${error.instancePath || "root"}: ${error.message}`;
  const found = foundBy(error, value);
  return found === undefined ? { text } : { text, found };
}

/** What was found, or would have been right, which 2.1.330 tells too. */
function foundBy(
  { keyword, instancePath, params }: ErrorObject,
  value: unknown,
): string | undefined {
  switch (keyword) {
    case "additionalProperties": {
      const name = params["additionalProperty"];
      return typeof name === "string" ? ` ('${cut(name, MAX_NAME)}' is not allowed)` : undefined;
    }
    case "minLength":
    case "maxLength":
    case "minItems":
    case "maxItems":
    case "minProperties":
    case "maxProperties":
      return ` (got ${sizeOf(valueAt(value, instancePath))})`;
    case "enum":
      return `: ${cut(JSON.stringify(params["allowedValues"]), MAX_TOLD)}`;
    case "const":
      return `: ${cut(JSON.stringify(params["allowedValue"]), MAX_TOLD)}`;
    default:
      return undefined;
  }
}

/** How many characters, items or properties there are. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  return Array.isArray(value) ? value.length : Object.keys(value as JsonObject).length;
}

/** What stands at a JSON pointer that a validator has found. */
function valueAt(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((inside, name) => (inside as Record<string, unknown>)[name], value);
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
