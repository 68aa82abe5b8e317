import type { z } from "zod/mini";
import { MAX_PROMPT_BYTES } from "../../cli/arguments/check_prompt.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";
import { ProblemError } from "../problems.ts";
import { nearestWord } from "../../cli/arguments/nearest_word.ts";
import { PROFILE_SCHEMA } from "../server_profiles.ts";
import { FLAGS } from "../../cli/arguments/flags.ts";

/** Limits for the bodies of requests. */
export interface BodyLimits {
  /** The maximum size of a body, in bytes. */
  readonly bytes: number;
  /** The maximum size of all bodies in memory together, in bytes. */
  readonly totalBytes: number;
  /** The maximum time until a body has arrived, in milliseconds. */
  readonly arrivalMs: number;
}

/** The maximum size of a body: room for the longest prompt with each character escaped, and for images and flags. */
const MAX_BODY_BYTES = 2 * MAX_PROMPT_BYTES + 16_000_000;

export const BODY_LIMITS: BodyLimits = {
  bytes: MAX_BODY_BYTES,
  totalBytes: 4 * MAX_BODY_BYTES,
  arrivalMs: 60_000,
};

/** The number of bytes of all bodies in memory. */
let bytesInMemory = 0;

interface BodyOptions {
  readonly request: Request;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  readonly context: { readonly limits: BodyLimits };
}

/**
 * Reads a JSON body and checks it with a schema.
 *
 * @throws {ProblemError} when it is not JSON, does not match the schema, is too large, or does not arrive
 */
export async function readBody<Body>(
  schema: z.ZodMiniType<Body>,
  options: BodyOptions,
): Promise<Body> {
  const value = JSON.parse(await readJson(options));
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fault = findFault([result.error.issues], { value });
  const place = fault.path.length === 0 ? "it" : fault.path.join(".");
  if (fault.unknownKeys !== undefined) {
    throw unknownKeyError(fault.unknownKeys, { place, known: keysAt(schema, fault.path) });
  }
  throw new ProblemError({
    status: 422,
    detail: `Cannot read the body: ${place} ${fault.what}`,
    suggestion: "What it may hold is in the OpenAPI file: GET /openapi.json",
  });
}

type Issue = z.core.$ZodIssue;

/** A fault of a body, and its place. */
interface Fault {
  readonly path: readonly string[];
  /** The end of a sentence about the place. */
  readonly what: string;
  readonly unknownKeys?: readonly string[];
}

/**
 * Finds the fault to report among the issues of each form that a value may have. A misspelt key is unknown and missing
 * at the same time, and is reported as unknown.
 *
 * @param path the place of the value
 */
function findFault(
  forms: readonly (readonly Issue[])[],
  { value, path = [] }: { readonly value: unknown; readonly path?: readonly string[] },
): Fault {
  const isOfOtherType = ([issue]: readonly Issue[]) =>
    issue?.code === "invalid_type" && issue.path.length === 0;
  const fitting = forms.some((issues) => !isOfOtherType(issues))
    ? forms.filter((issues) => !isOfOtherType(issues))
    : forms;
  const unknown = fitting[0]?.find((issue) => issue.code === "unrecognized_keys");
  const unknownKeys =
    unknown?.keys.filter((key) =>
      fitting.every((issues) =>
        issues.some((issue) => issue.code === "unrecognized_keys" && issue.keys.includes(key))
      )
    ) ?? [];
  const place = (issue: Issue | undefined) => [...path, ...issue?.path.map(String) ?? []];
  if (unknownKeys.length > 0) return { path: place(unknown), what: "", unknownKeys };
  const least = Math.min(...fitting.map(({ length }) => length));
  const nearest = fitting.flatMap((issues) => issues.length === least ? issues.slice(0, 1) : []);
  const issue = nearest.find(({ code }) => code === "unrecognized_keys") ?? nearest[0];
  if (issue?.code === "unrecognized_keys") {
    return { path: place(issue), what: "", unknownKeys: issue.keys };
  }
  if (nearest.every((each) => valueAt(value, each.path) === undefined)) {
    const names = new Set(nearest.map((each) => JSON.stringify(each.path.at(-1))));
    return { path: place(issue).slice(0, -1), what: `has no ${[...names].join(" or ")}` };
  }
  if (issue?.code === "invalid_union") {
    return findFault(issue.errors, { value: valueAt(value, issue.path), path: place(issue) });
  }
  const same = nearest.filter((each) => place(each).join() === place(issue).join());
  return { path: place(issue), what: describeIssues(same) };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Readonly<Record<PropertyKey, unknown>>)[key]
        : undefined,
    value,
  );
}

/** The keys that a schema allows at a path. */
function keysAt(schema: z.core.$ZodType, path: readonly string[]): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "default" || def.type === "optional") return keysAt(def.innerType, path);
  if (def.type === "union") {
    return [...new Set(def.options.flatMap((option) => keysAt(option, path)))];
  }
  if (def.type !== "object") return [];
  const [name, ...rest] = path;
  if (name === undefined) return Object.keys(def.shape);
  const inner = def.shape[name];
  return inner === undefined ? [] : keysAt(inner, rest);
}

/** Describes issues of one value, each in another form that the value may have, as the end of a sentence. */
function describeIssues(issues: readonly Issue[]): string {
  const [issue] = issues;
  switch (issue?.code) {
    case "invalid_type": {
      const types = issues.flatMap((each) => each.code === "invalid_type" ? [each.expected] : []);
      return `is not of type ${types.join(" or ")}`;
    }
    case "invalid_value": {
      const values = issues.flatMap((each) => each.code === "invalid_value" ? each.values : []);
      return `is none of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
    }
    case "invalid_format":
      if ("prefix" in issue) return `does not begin with ${JSON.stringify(issue.prefix)}`;
      return issue.format === "uuid" ? "is no UUID" : "is not as it should be";
    case "invalid_key":
      return "has a name that is not allowed";
    case "too_big":
      return "is too large";
    case "too_small":
      return "is too small";
    default:
      return "is not as it should be";
  }
}

/**
 * Reads the text of a JSON body.
 *
 * @throws {ProblemError} when it is not JSON, is nested too deeply or too large, or does not arrive
 */
async function readJson(options: BodyOptions): Promise<string> {
  const type = options.request.headers.get("content-type");
  // A web page can send any other type to this server without a preflight request.
  if (type === null || !/^application\/json\s*(?:;|$)/iu.test(type)) {
    throw new ProblemError({
      status: 415,
      detail: `Cannot read the body: it is ${type ?? "of no type"}, not application/json`,
      suggestion: "Use curl --json, or send the header Content-Type: application/json",
    });
  }
  const text = await readBodyText(options);
  if (isTooDeep(text)) throw unreadableBody("it is nested too deeply");
  try {
    JSON.parse(text);
  } catch (error) {
    throw unreadableBody(`it is no JSON (${(error as Error).message})`);
  }
  return text;
}

/** @throws {ProblemError} when the body is not UTF-8, is too large, or does not arrive */
async function readBodyText({ request, gone, context }: BodyOptions): Promise<string> {
  const { limits } = context;
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > limits.bytes) throw tooLarge(limits);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const late = AbortSignal.any([gone, AbortSignal.timeout(limits.arrivalMs)]);
  const reader = request.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  late.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true as const, value: undefined };
      if (late.aborted) {
        throw new ProblemError({ status: 408, detail: "Cannot read the body: it does not arrive" });
      }
      if (done) break;
      size += value.length;
      bytesInMemory += value.length;
      if (size > limits.bytes) throw tooLarge(limits);
      if (bytesInMemory > limits.totalBytes) {
        throw new ProblemError({
          status: 503,
          detail: "Cannot read the body: too many of others are being read",
          headers: { "retry-after": "1" },
        });
      }
      pieces.push(value as Uint8Array<ArrayBuffer>);
    }
    const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    cancel();
    if (error instanceof ProblemError) throw error;
    throw unreadableBody(error instanceof TypeError ? "it is no UTF-8" : "it was cut off");
  } finally {
    bytesInMemory -= size;
    late.removeEventListener("abort", cancel);
  }
}

function unreadableBody(why: string): ProblemError {
  return new ProblemError({ status: 400, detail: `Cannot read the body: ${why}` });
}

function tooLarge({ bytes }: BodyLimits): ProblemError {
  return new ProblemError({
    status: 413,
    detail: `Cannot read the body: it is larger than ${bytes / 1_000_000} MB`,
  });
}

/**
 * The error for a body with unknown keys. Suggests the probable meaning.
 *
 * @param keys one or more
 * @param options.place the object that has the keys, such as "profile"
 * @param options.known the keys that are allowed there
 */
function unknownKeyError(
  keys: readonly string[],
  { place, known }: { readonly place: string; readonly known: readonly string[] },
): ProblemError {
  const [key = ""] = keys;
  return new ProblemError({
    status: 422,
    detail: `Cannot read the body: ${place} takes no ${
      keys.map((each) => JSON.stringify(each)).join(", ")
    }`,
    suggestion: `${suggestKey(key, known)} All bodies are in the OpenAPI file: GET /openapi.json`,
  });
}

function suggestKey(key: string, known: readonly string[]): string {
  const flag = findFlagOfKey(key);
  if (key === "cwd" && known.includes("prompt")) return "Give the folder in the URL: ?cwd=/path.";
  if (flag !== undefined && known.includes("args")) {
    return `Give it as a flag: "args": ["${flag}", …].`;
  }
  if (flag !== undefined && known.includes("profile")) {
    return `Give it as a flag: "profile": {"args": ["${flag}", …]}.`;
  }
  if (known.length === 0 || known.includes(key)) return "Leave it out.";
  if (known.includes("profile") && key in PROFILE_SCHEMA.shape) {
    return `Give it in the profile: "profile": {${JSON.stringify(key)}: …}.`;
  }
  const nearest = nearestWord(key, known);
  return nearest === undefined
    ? `It takes ${known.join(", ")}.`
    : `Did you mean ${JSON.stringify(nearest)}?`;
}

/** The flag of a key such as `maxTurns` or `max_turns`. */
function findFlagOfKey(key: string): string | undefined {
  const name = `--${key.replace(/[A-Z]/gu, "-$&").replaceAll("_", "-").toLowerCase()}`;
  return FLAGS.find((flag) => [flag.name, ...flag.aliases].includes(name))?.name;
}
