import { assert, assertEquals } from "@std/assert";
import type { LoggedRequest } from "../../fixtures/messages_api.ts";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { performHere } from "./perform_here.ts";
import type { RealClaude } from "./real_claude.ts";

/** Puts files into the project, by path. */
async function fill(real: RealClaude, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = `${real.home.project}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
}

/** Reads a file of the project and says so: two requests. */
function reading(real: RealClaude, name: string): string {
  const file = JSON.stringify({ file_path: `${real.home.project}/${name}` });
  return `Look [[tool Read ${file}]] [[say read]]`;
}

/** What the model is told in a run, but for what is another in each: ids, and the run's private folder. */
async function told(
  real: RealClaude,
  options: { readonly prompt: string; readonly args?: readonly string[] },
  { leftOut }: { readonly leftOut: boolean },
): Promise<readonly unknown[]> {
  const before = real.api.turns.length;
  const { report } = await performHere(real, {
    ...options,
    before: ({ args }) => {
      const path = args.find((each) => each.startsWith("--settings="))?.slice(11) ?? "";
      const { enabledPlugins, ...settings } = JSON.parse(Deno.readTextFileSync(path));
      assertEquals(enabledPlugins, { "diff@builtin": false, "agents-md@builtin": false });
      if (!leftOut) Deno.writeTextFileSync(path, JSON.stringify(settings));
    },
  });
  assertEquals(report.result.result, "read");
  const requests = real.api.turns.slice(before);
  assertEquals(requests.length, 2);
  return requests.map(contentOf);
}

function contentOf({ body, headers }: LoggedRequest): unknown {
  const text = JSON.stringify({ body, beta: headers["anthropic-beta"] })
    .replace(/cc_version=[^;]*;/gu, "")
    .replace(/toolu_\w+/gu, "<tool>")
    .replace(/claude-print-\d+\/[-\w]+/gu, "<folder>")
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gu, "<id>");
  return JSON.parse(text);
}

async function assertSame(
  real: RealClaude,
  options: { readonly prompt: string; readonly args?: readonly string[] },
): Promise<void> {
  assertEquals(
    await told(real, options, { leftOut: true }),
    await told(real, options, { leftOut: false }),
  );
}

forEachVersion("without its own idle plugins Claude Code asks the same", async (real) => {
  await fill(real, { "src/main.ts": "1;\n" });
  await assertSame(real, { prompt: reading(real, "src/main.ts") });
});

forEachVersion("the same beside a CLAUDE.md, whatever AGENTS.md is below", async (real) => {
  await fill(real, {
    "CLAUDE.md": "Be brief.\n",
    "src/main.ts": "1;\n",
    "src/AGENTS.md": "Count to two.\n",
  });
  await assertSame(real, {
    prompt: reading(real, "src/main.ts"),
    args: ["--permission-mode", "acceptEdits"],
  });
});

for (const place of ["AGENTS.md", ".claude/AGENTS.md", "src/AGENTS.md"]) {
  forNewestVersion(`what ${place} says is told as by claude -p`, async (real) => {
    await fill(real, { "src/main.ts": "1;\n", [place]: "Count to two.\n" });
    const prompt = reading(real, "src/main.ts");
    const isTold = () => JSON.stringify(real.api.turns.at(-1)?.body).includes("Count to two.");
    assertEquals((await real.claudeP([prompt])).stdout, "read\n");
    assert(isTold(), "claude -p");
    assertEquals((await real.print([prompt])).stdout, "read\n");
    assert(isTold(), "claude-print");
  });
}
