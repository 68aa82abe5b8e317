import type { z } from "zod/mini";
import { MAX_PROMPT_BYTES } from "../../cli/prompt_source.ts";
import { isTooDeep } from "../../wire/json_text.ts";
import { ProblemError } from "./problem.ts";

/** Room for the longest prompt, each character of it escaped, for images, and for flags. */
export const MAX_BODY_BYTES: number = 2 * MAX_PROMPT_BYTES + 16_000_000;

/** How much of bodies there may be in memory at once, in bytes. */
const MOST_AT_ONCE = 4 * MAX_BODY_BYTES;

/** How long a body may take to arrive, in milliseconds. */
const ARRIVAL_MS = 60_000;

/** What of the bodies of all requests is in memory. */
let held = 0;

/** How the body of a request is read. */
export interface BodyOptions {
  readonly request: Request;
  /** Aborted once nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}

/**
 * Reads a body that a schema describes.
 *
 * @throws {ProblemError} when it is no JSON, something else, too large, or does not arrive
 */
export async function readBody<Body>(
  schema: z.ZodMiniType<Body>,
  options: BodyOptions,
): Promise<Body> {
  const value = await readJson(options);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues: [issue], message } = result.error;
  const place = issue?.path.map(String).join(".") ?? "";
  throw new ProblemError({
    status: 422,
    detail: `Cannot read the body: ${place === "" ? "" : `${place}: `}${issue?.message ?? message}`,
    suggestion: "What it may hold is in the OpenAPI file: GET /openapi.json",
  });
}

async function readJson(options: BodyOptions): Promise<unknown> {
  const type = options.request.headers.get("content-type");
  // A page of the web can send anything else without being asked first.
  if (type === null || !/^application\/json\s*(?:;|$)/iu.test(type)) {
    throw new ProblemError({
      status: 415,
      detail: `Cannot read the body: it is ${type ?? "of no type"}, not application/json`,
      suggestion: "Send the header Content-Type: application/json",
    });
  }
  return parseJson(await readText(options));
}

/**
 * A text as JSON.
 *
 * @throws {ProblemError} when it is none
 */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw unreadable("it is nested too deeply");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable(`it is no JSON (${(error as Error).message})`);
  }
}

/**
 * Reads a body as a text.
 *
 * @throws {ProblemError} when it is no UTF-8, too large, or does not arrive
 */
export async function readText({ request, gone }: BodyOptions): Promise<string> {
  const said = Number(request.headers.get("content-length") ?? "0");
  if (said > MAX_BODY_BYTES) throw tooLarge();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const late = AbortSignal.any([gone, AbortSignal.timeout(ARRIVAL_MS)]);
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
      held += value.length;
      if (size > MAX_BODY_BYTES) throw tooLarge();
      if (held > MOST_AT_ONCE) {
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
    throw unreadable(error instanceof TypeError ? "it is no UTF-8" : "it was cut off");
  } finally {
    held -= size;
    late.removeEventListener("abort", cancel);
  }
}

function unreadable(why: string): ProblemError {
  return new ProblemError({ status: 400, detail: `Cannot read the body: ${why}` });
}

function tooLarge(): ProblemError {
  return new ProblemError({
    status: 413,
    detail: `Cannot read the body: it is larger than ${MAX_BODY_BYTES / 1_000_000} MB`,
  });
}
