import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { changedOrder, type GoneChild, nextOrder } from "../../../src/run/plan/next_order.ts";
import type { ChildChanges, Ending } from "../../../src/session/effect.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

const TOLD = { results: 1 } as GoneChild["told"];
const EXITED: Ending = { kind: "exited", exit: { kind: "exited", code: 1 } };

const renewed = (changes: ChildChanges, lost?: true): Ending => ({
  kind: "renewed",
  changes,
  ...(lost === undefined ? {} : { lost }),
});

Deno.test("the next child goes on with what the last one has left, and is warned of as far as nobody asked for it", () => {
  const resumed = ["--verbose", "--resume=s"];
  const anew = ["--verbose", "--session-id=s"];
  const plain = ["--verbose"];
  const gone = "Claude Code is gone; what comes next goes to a new one";
  const lost = "Claude Code has lost a message with a turn that was stopped; it goes to a new one";
  const rows: readonly (readonly [
    Partial<GoneChild>,
    { readonly kept?: boolean; readonly named?: string },
    readonly string[],
    string?,
  ])[] = [
    [{ ending: EXITED }, {}, plain, gone],
    [{ ending: EXITED, wasOutdated: true }, {}, plain],
    [{ ending: EXITED }, { kept: true }, resumed, `${gone} that resumes the session`],
    [{ ending: EXITED, hasAnswered: true }, {}, resumed, `${gone} that resumes the session`],
    [{ ending: renewed({}) }, {}, anew],
    [{ ending: renewed({}) }, { named: "r" }, plain],
    [{ ending: renewed({}), hasAnswered: true }, { named: "r" }, resumed],
    [{ ending: renewed({}, true) }, {}, anew, lost],
    [
      { ending: renewed({}, true), hasAnswered: true },
      {},
      resumed,
      `${lost} that resumes the session`,
    ],
  ];
  for (const [child, { kept = false, named }, forwarded, warning] of rows) {
    const order = {
      ...PLAIN_ORDER,
      forwarded: ["--verbose"],
      ...(named === undefined ? {} : { resume: named }),
    };
    const next = nextOrder(order, { gone: childThat(child), isKept: () => kept });
    assertEquals(
      [next.order.forwarded, next.order.before, next.isAnew, next.warning],
      [forwarded, TOLD, false, warning],
    );
  }
});

Deno.test("a conversation that begins anew is another session, and goes on with it where there is one by now", () => {
  const ending = renewed({ begun: "new", model: "claude-haiku-4-5" });
  for (const kept of [false, true]) {
    const next = nextOrder({ ...PLAIN_ORDER, forwarded: ["--resume=old"] }, {
      gone: childThat({ ending, hasAnswered: true }),
      isKept: (id) => kept && id === "new",
    });
    const begun = ["--model=claude-haiku-4-5", "--session-id=new"];
    assertEquals(next.isAnew, true);
    assertEquals(next.wanted.forwarded, begun);
    assertEquals(
      next.order.forwarded,
      kept ? ["--model=claude-haiku-4-5", "--resume=new"] : begun,
    );
  }
});

Deno.test("a session that is not kept cannot be gone on with", () => {
  const order = { ...PLAIN_ORDER, persistSession: false };
  const gone = childThat({ ending: EXITED, hasAnswered: true });
  assertThrows(
    () => nextOrder(order, { gone, isKept: () => false }),
    CliError,
    "Cannot go on with the conversation: its session is not kept",
  );
});

function childThat(child: Partial<GoneChild>): GoneChild {
  return {
    sessionId: "s",
    ending: EXITED,
    told: TOLD,
    hasAnswered: false,
    wasOutdated: false,
    ...child,
  };
}

Deno.test("another model, mode or limit replaces what was asked for before", () => {
  const order = {
    ...PLAIN_ORDER,
    forwarded: ["--model=opus", "--max-thinking-tokens=1", "--verbose"],
  };
  const changed = changedOrder(order, {
    model: "claude-haiku-4-5",
    permissionMode: "plan",
    maxThinkingTokens: 0,
  });
  assertEquals(
    [changed.forwarded, changed.permissionMode, changed.chosenModel],
    [
      ["--verbose", "--model=claude-haiku-4-5", "--max-thinking-tokens=0"],
      "plan",
      "claude-haiku-4-5",
    ],
  );
  const shown = changedOrder(
    { ...order, forwarded: ["--thinking-display=omitted"] },
    { thinkingDisplay: "summarized", plugins: ["--plugin-dir=/p"] },
  );
  assertEquals(shown.forwarded, ["--thinking-display=summarized", "--plugin-dir=/p"]);
  assertEquals(changedOrder(shown, { thinkingDisplay: null }).forwarded, ["--plugin-dir=/p"]);
  const reset = changedOrder(order, { model: null, maxThinkingTokens: null });
  assertEquals(
    [reset.forwarded, reset.permissionMode, reset.chosenModel],
    [["--verbose", "--model=default"], order.permissionMode, undefined],
  );
  assertEquals(changedOrder(order, { model: "haiku" }).chosenModel, undefined);
  const noted = changedOrder(
    { ...order, forwarded: [...order.forwarded, "--effort=low"] },
    { model: "haiku", chosenModel: "claude-haiku-4-5", effort: "high" },
  );
  assertEquals(noted.chosenModel, "claude-haiku-4-5");
  assertEquals(noted.forwarded.slice(-3), ["--verbose", "--model=haiku", "--effort=high"]);
  const auto = changedOrder(noted, { effort: null });
  assertEquals(auto.forwarded.slice(-2), ["--verbose", "--model=haiku"]);
});

Deno.test("a message for stdin is the next child's alone", () => {
  const gone = childThat({ ending: renewed({ onStdin: "long" }), hasAnswered: true });
  const { order, wanted } = nextOrder(PLAIN_ORDER, { gone, isKept: () => true });
  assertEquals([order.onStdin, wanted.onStdin], ["long", undefined]);
});
