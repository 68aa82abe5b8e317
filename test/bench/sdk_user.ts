/**
 * A user of the Agent SDK for TypeScript, who holds a conversation and prints what each turn took, as a line of JSON.
 *
 * Its argument is JSON: the SDK's module, the executable in the place of Claude Code's, the prompt of each turn and how
 * many there are.
 *
 * @module
 */

const { sdk, executable, prompt, turns } = JSON.parse(Deno.args[0] ?? "");
const { query } = await import(sdk);

const times: { readonly wordsMs: number; readonly resultMs: number }[] = [];
let saidAt = 0;
let wordsMs = 0;
let next = Promise.withResolvers<void>();

async function* messages() {
  for (let turn = 0; turn < turns; turn++) {
    saidAt = performance.now();
    yield { type: "user", message: { role: "user", content: prompt }, parent_tool_use_id: null };
    await next.promise;
    next = Promise.withResolvers();
  }
}

const options = { pathToClaudeCodeExecutable: executable };
for await (const { type } of query({ prompt: messages(), options })) {
  if (type === "assistant") wordsMs = performance.now() - saidAt;
  if (type !== "result") continue;
  times.push({ wordsMs, resultMs: performance.now() - saidAt });
  next.resolve();
}
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(times)}\n`));
