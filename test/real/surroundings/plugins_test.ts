import { assert, assertEquals } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import type { RealClaude } from "../real_claude.ts";

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

for (const place of ["AGENTS.md", ".claude/AGENTS.md", "src/AGENTS.md"]) {
  forNewestVersion(`what ${place} says is told as by claude -p`, async (real) => {
    await fill(real, { "src/main.ts": "1;\n", [place]: "Count to two.\n" });
    const prompt = reading(real, "src/main.ts");
    const isTold = () => JSON.stringify(real.api.turns.at(-1)?.body).includes("Count to two.");
    const isToldByClaude = await asRecorded(
      real,
      `plugins/${place.replaceAll("/", "-")}`,
      async () => {
        assertEquals((await real.claudeP([prompt])).stdout, "read\n");
        return isTold();
      },
    );
    assert(isToldByClaude, "claude -p");
    assertEquals((await real.print([prompt])).stdout, "read\n");
    assert(isTold(), "claude-print");
  });
}
