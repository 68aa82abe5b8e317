import { checkPrompt } from "../../cli/check_prompt.ts";
import { parseListLine } from "../../cli/list_line.ts";
import { readJson } from "./body.ts";
import type { Call } from "./route.ts";
import type { ServeContext } from "./serve_context.ts";

/** One prompt in, its result out: as a line of `--jsonl` and what is printed for it. */
export async function runPrompt(call: Call<ServeContext>): Promise<Response> {
  const { context: { registry }, url, gone } = call;
  const text = await readJson(call);
  const { input, prompt, args } = parseListLine(text);
  const problem = checkPrompt(prompt);
  if (problem !== undefined) throw problem;
  const cwd = url.searchParams.get("cwd") ?? undefined;
  const { frame, exitCode } = await registry.run(prompt, { args, cwd, gone });
  return Response.json({ line: 1, input, exit_code: exitCode, result: frame });
}
