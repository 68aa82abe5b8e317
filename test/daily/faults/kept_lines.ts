/**
 * Many runs of the real Claude Code at once, each of which is told to go at Stop: whether a line of the transcript is
 * lost by it, or the answer. Half of them use a tool.
 *
 * Flags: `--runs`, `--parallel`, `--version`, and `--served`, with which a server carries them out: they are over before
 * their Claude Code is.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { RealClaude } from "../../real/real_claude.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { concurrently } from "../../concurrently.ts";

/** Exit code, output and transcript of a run. */
interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly messages: readonly string[];
}

/** The expected outcome of a run. */
function expected(index: number): Outcome & { readonly prompt: string } {
  const usesTool = index % 2 === 1;
  const answer = `This is answer ${index}`;
  return {
    prompt: `Work.${usesTool ? ` [[bash echo ${index}]]` : ""} [[say ${answer}]]`,
    code: 0,
    stdout: `${answer}\n`,
    messages: ["prompt", ...usesTool ? ["call", "return"] : [], answer].sort(),
  };
}

async function runOnce(
  real: RealClaude,
  { index, env }: { readonly index: number; readonly env: Readonly<Record<string, string>> },
): Promise<Outcome & { readonly stderr: string }> {
  const { prompt } = expected(index);
  const run = await real.print(["--trace", "--allowedTools=Bash", "--", prompt], { env });
  const [, sessionId = ""] = /--session-id=(\S+)/u.exec(run.stderr) ?? [];
  return { ...run, messages: messagesOf(real, { sessionId, prompt }) };
}

function messagesOf(
  { home: { config } }: RealClaude,
  { sessionId, prompt }: { readonly sessionId: string; readonly prompt: string },
): readonly string[] {
  const [project] = Deno.readDirSync(`${config}/projects`);
  const path = `${config}/projects/${project?.name}/${sessionId}.jsonl`;
  const lines = Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
  Deno.removeSync(path);
  const messages: string[] = lines.filter(({ type }) => type === "user" || type === "assistant")
    .map(
      ({ message: { content } }) => {
        if (content === prompt) return "prompt";
        const [{ type, text }] = content;
        return type === "text" ? text : type === "tool_use" ? "call" : "return";
      },
    );
  // 2.1.197 may write its first lines last.
  return messages.sort();
}

const args = parseArgs(Deno.args, {
  string: ["runs", "parallel", "version"],
  boolean: ["served"],
});
const runs = Number(args.runs ?? 200);
const parallel = Number(args.parallel ?? 8);
const version = args.version ?? "2.1.332";
const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
await using real = await RealClaude.set(version);
await using server = args.served
  ? await serve({ args: ["--warm", "2"], env: real.home.env, cwd: real.home.project })
  : undefined;
const env = server?.env ?? {};
let done = 0;
let lost = 0;
let letGo = 0;
await concurrently(Array.from({ length: runs }, (_, index) => index), {
  limit: parallel,
  each: async (index) => {
    const { prompt: _, ...whole } = expected(index);
    const { stderr, ...outcome } = await runOnce(real, { index, env });
    done++;
    if (stderr.includes("whole: ")) letGo++;
    if (JSON.stringify(outcome) !== JSON.stringify(whole)) {
      lost++;
      print(`- run ${index}: ${JSON.stringify(outcome)}\n${stderr}`);
    }
    if (done % 100 === 0) print(`${done} runs, ${lost} with a loss`);
  },
});
const before = server === undefined ? "" : `, ${letGo} of them over before their Claude Code`;
print(`Claude Code ${version}, ${runs} runs, ${parallel} at a time${before}: ${lost} with a loss`);
Deno.exitCode = lost === 0 ? 0 : 1;
