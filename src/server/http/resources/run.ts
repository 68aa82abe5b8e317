import { checkPrompt } from "../../../cli/arguments/check_prompt.ts";
import { readListInput } from "../../../cli/arguments/list_line.ts";
import { isJsonObject } from "../../../json_object.ts";
import { readJson } from "../body.ts";
import { unknownKey } from "../unknown_key.ts";
import { problemBody, problemOf } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** What a body may hold; `id` is the client's own, and comes back in `input`. */
const KEYS: readonly string[] = ["prompt", "args", "id"];

/**
 * One prompt in, its result out: as a line of `--jsonl` and what is printed for it.
 *
 * What keeps it from being run is a problem. Once there is a Claude Code for it the answer begins. The run ends when its
 * client goes away.
 */
export async function answerRun(call: Call<ServeContext>): Promise<Response> {
  const { context: { registry }, url } = call;
  const input = JSON.parse(await readJson(call));
  requireKnownKeys(input);
  const { prompt, args } = readListInput(input);
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
  const cwd = url.searchParams.get("cwd") ?? undefined;
  const gone = new AbortController();
  const begun = Promise.withResolvers<void>();
  const running = registry.run(prompt, { args, cwd, gone: gone.signal, onBegun: begun.resolve });
  await Promise.race([running, begun.promise]);
  const line = async () => {
    try {
      const { frame, exitCode } = await running;
      return { line: 1, input, exit_code: exitCode, result: frame };
    } catch (error) {
      const problem = problemOf(error);
      const { exitCode = 2 } = problem;
      return { line: 1, input, exit_code: exitCode, result: null, problem: problemBody(problem) };
    }
  };
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      controller.enqueue(new TextEncoder().encode(`${JSON.stringify(await line())}\n`));
      controller.close();
    },
    cancel: () => gone.abort(),
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** @throws {ProblemError} where there is a key that means nothing, such as the name of a flag */
function requireKnownKeys(input: unknown): void {
  if (!isJsonObject(input)) return;
  const unknown = Object.keys(input).filter((key) => !KEYS.includes(key));
  if (unknown.length > 0) throw unknownKey(unknown, { place: "it", known: KEYS });
}
