import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Moment, Scenario } from "../../../fixtures/mock/scenario.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../../standin/stand_in.ts";
import { dyingServer, type Step } from "./dying_server.ts";
import { serve } from "./served.ts";

const TURNS = [[{ text: "You said {prompt}, {turn}" }]];
const ANSWER = "You said hello, 1\n";

/** A Claude Code's way to kill whoever has started it. */
const KILLS = "read -r _ _ _ parent _ < /proc/$CLAUDE/stat; kill -KILL $parent";

/** What is not to be told before the server is dead waits for so long. */
const NEVER_MS = 600_000;

/** When a server is killed: at a step of the hand-over, or by its Claude Code at a moment of the turn. */
type Death = ({ readonly step: Step } | { readonly at: Moment }) & {
  /** Whether a Claude Code waits that the run can have. */
  readonly waits?: true;
};

/** What the caller has of it: exit code, stdout, and a part of what it is told. */
type Fate = readonly [code: 0 | 2, stdout: string, told: string];

const COLD: Fate = [0, ANSWER, "without a server: the server is gone\n"];
const LOST = "claude-print: Cannot tell how the run ended: the server is gone\n";

/** Each with how many Claude Codes there are for it in all. */
const DEATHS: readonly (readonly [death: Death, fate: Fate, starts: number])[] = [
  [{ step: "connect" }, COLD, 1],
  [{ step: "taken" }, COLD, 1],
  [{ step: "streams" }, COLD, 1],
  [{ step: "ready" }, COLD, 1],
  [{ step: "go" }, [2, "", LOST], 0],
  [{ at: "start" }, [2, "", LOST], 1],
  [{ at: "prompt" }, [2, "", LOST], 1],
  [{ at: "stop" }, [2, "", LOST], 1],
  // The answer is there, and whether all of the run is nobody knows.
  [{ step: "exit" }, [2, ANSWER, LOST], 1],
  [{ step: "end" }, [0, ANSWER, ""], 1],
  // One that has waited goes with its server, like any other one.
  [{ step: "ready", waits: true }, COLD, 2],
  [{ step: "go", waits: true }, [2, "", LOST], 1],
  [{ at: "prompt", waits: true }, [2, "", LOST], 1],
  [{ step: "exit", waits: true }, [2, ANSWER, LOST], 1],
];

Deno.test("a server may be killed at each step of a run: its caller has the answer or an error, and the next server removes what is left", async () => {
  await using claude = await StandIn.set();
  const { env } = claude.home;
  let starts = 0;
  for (const [death, [code, stdout, told], started] of DEATHS) {
    const what = JSON.stringify(death);
    const step = "step" in death ? death.step : undefined;
    const scenario: Partial<Scenario> = "at" in death
      ? { turns: TURNS, sabotage: [{ at: death.at, run: KILLS }], transcriptDelayMs: NEVER_MS }
      : { turns: TURNS };
    const own = { MOCK_CLAUDE_SCENARIO: JSON.stringify(scenario) };
    const waits = death.waits === undefined
      ? undefined
      : { args: ["--claude-binary", claude.binary], cwd: claude.home.project, env: own };
    await using server = await dyingServer({ step, env, waits });
    // The one before it has been killed.
    if (waits === undefined) {
      assertEquals(await leftovers(claude.home, { but: ownedBy(server.pid) }), [], what);
    }
    const keptBefore = kept(claude);
    const run = await claude.print(["hello", "--trace"], {
      env: { ...server.env, ...own },
      killed: true,
    });
    assertEquals([run.code, run.stdout], [code, stdout], what);
    assertStringIncludes(run.stderr, told, what);
    // An answer that was told is in a transcript that is at home.
    if (stdout === ANSWER) assertEquals(kept(claude), keptBefore + 1, what);
    await server.ended;
    starts += started;
    assertEquals((await claude.journal("start")).length, starts, what);
  }
  await using last = await serve({ env });
  assertEquals(await leftovers(claude.home, { but: ownedBy(last.pid) }), []);
});

/** What belongs to a server that is alive, and the folder of all. */
function ownedBy(pid: number): RegExp {
  return new RegExp(`/claude-print-\\d+(?:/${pid}-.*)?$|^process ${pid}:`, "u");
}

/** How many transcripts with an answer are at home. */
function kept(claude: StandIn): number {
  return [...claude.transcripts().values()].filter((text) => text.includes(ANSWER.trim())).length;
}
