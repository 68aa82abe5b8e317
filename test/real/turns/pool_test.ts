import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Pool } from "../../../src/serve/pool/pool.ts";
import { leftovers } from "../../leftovers.ts";
import { runInPool } from "../../serve/pool/run_in_pool.ts";
import { until } from "../../standin/stand_in.ts";
import { forEachVersion, REAL_VERSIONS } from "../for_each_version.ts";
import { maskedRequests } from "../parity/bodies.ts";
import type { RealClaude } from "../real_claude.ts";

/** A shell's commands in the project. */
async function shell({ home }: RealClaude, script: string): Promise<void> {
  const { success } = await new Deno.Command("sh", {
    args: ["-ec", script],
    cwd: home.project,
    env: home.env,
    clearEnv: true,
  }).output();
  assert(success);
}

/** The number of stopped processes in the project. */
function stoppedIn({ home }: RealClaude): number {
  return [...Deno.readDirSync("/proc")].filter(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/${name}/cwd`) === home.project &&
        / T \d/u.test(Deno.readTextFileSync(`/proc/${name}/stat`));
    } catch {
      return false;
    }
  }).length;
}

const LAY = `
git init -q
echo Use tabs. > CLAUDE.md
mkdir .claude
echo '{"permissions": {"allow": ["Read"]}}' > .claude/settings.json
git add .
git -c user.name=a -c user.email=a@b commit -qm First
`;

/** Changes of the project while a child is warm, and what the model is told then. */
const CHANGES = "echo Use spaces. > CLAUDE.md; touch new.txt; git checkout -qb other";
const TOLD = ["Use spaces.", "?? new.txt", "Current branch: other"];

forEachVersion(
  "warm and cold children send the same requests",
  async (real) => {
    await shell(real, LAY);
    {
      await using pool = new Pool({ warm: 1, max: 1, idleMs: 600_000, tell: () => {}, awakeMs: 0 });
      const told = async (isWarm: boolean) => {
        const before = real.api.turns.length;
        const { frames, results, traces, warnings } = await runInPool(pool, real);
        assertEquals(results.length, 1);
        assertStringIncludes(
          traces.join("\n"),
          isWarm ? ": a child has waited" : ": no child waits",
        );
        const said = { requests: real.api.turns.slice(before), home: real.home.path };
        return {
          warnings,
          requests: maskedRequests(said, { row: "pool" }),
          frames: frames.map(({ type, subtype }) => `${type} ${subtype}`),
        };
      };
      const untilAsleep = () => until(() => stoppedIn(real) > 0, "the one that waits sleeps");
      const cold = await told(false);
      await untilAsleep();
      assertEquals(await told(true), cold);
      // When one is outdated is not the child's to say.
      if (real.version !== REAL_VERSIONS.at(-1)) return;
      await untilAsleep();
      await shell(real, CHANGES);
      const { requests } = await told(false);
      assertEquals(requests.length, cold.requests.length);
      for (const words of TOLD) assertStringIncludes(JSON.stringify(requests), words);
      assert(!JSON.stringify(requests).includes("Use tabs."));
    }
    assertEquals(await leftovers(real.home), []);
  },
);
