import { assertEquals } from "@std/assert";
import { withTold, withUntold } from "../../../../src/session/control/questions/told_calls.ts";
import { type SessionState, startSession } from "../../../../src/session/session_state.ts";
import { conversationOptions } from "../../../frames/conversation_options.ts";
import { answer, called, line } from "../../../transcript/lines.ts";

/** A session that asks its caller, once lines of it and of its subagents have been told. */
function told(
  before: SessionState,
  ...lines: readonly (readonly [string | undefined, ReturnType<typeof line>])[]
): SessionState {
  const untold = lines.reduce(
    (state, [agentId, { entry }]) =>
      withUntold(state, entry, agentId === undefined ? {} : { agentId }),
    before,
  );
  return withTold(untold);
}

const result = (id: string, more: object = {}) =>
  line({
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: id, content: "" }] },
    ...more,
  });

Deno.test("of a subagent that is over nothing is remembered, and of one at work its last calls", () => {
  const caller = { idPrefix: "q", callbacks: [] };
  const start = startSession(conversationOptions({ caller }).session);
  const atWork = told(
    start,
    [undefined, called("one", "two")],
    ["a", called("a1")],
    ["a", result("a1")],
    ["b", called("b1")],
    ["b", result("b1")],
  );
  const ids = ({ calls }: SessionState) => calls.map(({ id }) => id);
  assertEquals([ids(atWork), [...atWork.silent]], [["one", "two", "a1", "b1"], ["a", "b"]]);

  const toolUseResult = { agentId: "a", status: "completed" };
  const over = told(
    atWork,
    ["a", answer("Done.")],
    [undefined, result("one", { toolUseResult })],
  );
  assertEquals([ids(over), [...over.silent]], [["one", "two", "b1"], ["b"]]);
  const launched = { agentId: "b", isAsync: true };
  const next = told(over, [undefined, result("two", { toolUseResult: launched })]);
  assertEquals(ids(next), ["one", "two", "b1"], "it goes on");
  assertEquals(ids(told(next, [undefined, called("three")])), ["b1", "three"]);
});
