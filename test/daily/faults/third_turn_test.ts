import { assertEquals, assertMatch } from "@std/assert";
import type { Moment, Scenario } from "../../../fixtures/mock/scenario.ts";
import type { TurnResult } from "../../../src/library/mod.ts";
import { leftovers } from "../../leftovers.ts";
import { converseWithLibrary } from "../../program/library/converse_with_library.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { concurrently } from "../../concurrently.ts";

/** How many conversations there are at a time. */
const LIMIT = 5;

/** The moments of a turn at which a fault strikes, in order. */
const MOMENTS = ["prompt", "stream", "tool", "answer", "stop"] as const satisfies readonly Moment[];

/** Exit code, subtype and problem of the faulty turn. */
type Ends = readonly [code: number, subtype: string, problem: RegExp];

const ANSWERED: Ends = [0, "success", /^$/];

/** Faults, and the end of the faulty turn at each moment but the last, at which the turn is answered. */
const FAULTS: readonly {
  readonly name: string;
  readonly run: string;
  readonly ends: Ends;
  /** Whether the child goes on. */
  readonly outlived?: true;
}[] = [
  {
    name: "the child is killed",
    run: 'kill -KILL "$CLAUDE"',
    ends: [2, "internal_error", /ended .*: SIGKILL$/],
  },
  {
    name: "the private folder is removed",
    run: 'rm -rf "$SANDBOX"',
    ends: [2, "internal_error", /^Claude Code's hooks cannot /],
  },
  {
    name: "the FIFO of hooks is removed",
    run: 'rm "$SANDBOX/own/hooks.fifo"',
    ends: ANSWERED,
    outlived: true,
  },
  {
    name: "the transcript is truncated",
    run: ': > "$TRANSCRIPT"',
    ends: ANSWERED,
    outlived: true,
  },
];

/** The turn in which the fault strikes. */
const FAULTY = 2;
/** The warning that the conversation goes on with another child. */
const GONE = "Claude Code is gone";
const TEXTS = ["one", "two", "three", "four", "five"];
const ECHO = { text: "You said {prompt}" };

/** A conversation with a tool and a fault in its third turn. */
function scenarioAt(at: Moment, run: string): Partial<Scenario> {
  return {
    turns: [[ECHO], [ECHO], [
      { text: "Let me see.", tools: [{ name: "Bash", input: { command: "sleep 0.3" } }] },
      ECHO,
    ], [ECHO]],
    sabotage: [
      { at: "prompt", run: 'echo >> "$HOME/prompts"' },
      { at, run: `[ "$(wc -l < "$HOME/prompts")" != 3 ] || { ${run}; : > "$HOME/done"; }` },
    ],
  };
}

for (const { name, run, ends, outlived } of FAULTS) {
  Deno.test(`a conversation goes on after a fault: ${name}`, () =>
    concurrently(MOMENTS, {
      limit: LIMIT,
      each: async (at) => {
        await using claude = await StandIn.set(scenarioAt(at, run));
        const conversation = converseWithLibrary(claude);
        const turns: TurnResult[] = [];
        for (const [index, text] of TEXTS.entries()) {
          // A fault at the last moment of the turn may strike after the result.
          if (index === FAULTY + 1) await (outlived ? untilDone(claude) : claude.untilGone());
          turns.push(await conversation.send(text).result);
        }
        assertEquals((await conversation.close()).exitCode, 0, at);
        const [code, subtype, problem] = at === "stop" ? ANSWERED : ends;
        assertEquals(
          turns.map(({ exitCode, frame }) => [exitCode, frame.subtype]),
          TEXTS.map((_, turn) => turn === FAULTY ? [code, subtype] : [0, "success"]),
          at,
        );
        const answers = turns.map(({ text }) => text);
        const expected = TEXTS.map((text) => `You said ${text}`);
        if (code === 0) assertEquals(answers, expected, at);
        assertEquals(answers.toSpliced(FAULTY, 1), expected.toSpliced(FAULTY, 1), at);
        assertMatch(turns[FAULTY]?.problem?.message ?? "", problem, at);
        assertEquals(new Set(turns.map(({ frame }) => frame.session_id)).size, 1, at);
        const restarts = turns.filter(({ warnings }) => warnings.join().includes(GONE)).length;
        const starts = (await claude.journal("start")).length;
        assertEquals([restarts, starts], outlived ? [0, 1] : [1, 2], at);
        assertEquals(await leftovers(claude.home), [], at);
      },
    }));
}

/** Waits until the shell that causes the fault is done. */
async function untilDone({ home }: StandIn): Promise<void> {
  const exists = () => Deno.lstat(`${home.path}/done`).then(() => true, () => false);
  await until(exists, "the fault has struck");
}
