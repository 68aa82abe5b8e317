import { assertEquals } from "@std/assert";
import { unchosenSkill } from "../../../src/session/control/chosen_skills.ts";
import { simulate } from "../simulation.ts";

Deno.test("a skill that the caller has not chosen is not loaded, wherever Claude Code has found it", () => {
  const denied = (skill: unknown, skills?: readonly string[]) =>
    unchosenSkill(
      { options: { ...simulate().state.options, ...(skills === undefined ? {} : { skills }) } },
      { tool_name: "Skill", tool_input: { skill } },
    ) !== undefined;
  const chosen = ["alpha", "plug:beta"];
  const loaded = ["alpha", "/alpha", " alpha ", "other:alpha", "plug:beta"];
  const kept = ["nested", "alphabet", "alpha:x", "beta", "__proto__", "constructor", "", 7];
  assertEquals(loaded.filter((skill) => denied(skill, chosen)), []);
  assertEquals(kept.filter((skill) => !denied(skill, chosen)), []);
  assertEquals(kept.filter((skill) => denied(skill)), []);
  assertEquals(denied("alpha", []), true);
});

Deno.test("only the call of an unchosen skill is refused, whether there is a budget or not", () => {
  for (const budget of [{}, { maxBudgetUsd: 1 }]) {
    const session = simulate({ skills: ["alpha"], ...budget });
    session.receive({ type: "status", status: "busy" });
    const call = (id: string, payload: Readonly<Record<string, unknown>>) =>
      session.receive({ type: "hook", event: "PreToolUse", payload, id });
    call("nested", { tool_name: "Skill", tool_input: { skill: "nested" } });
    call("alpha", { tool_name: "Skill", tool_input: { skill: "alpha" } });
    call("shell", { tool_name: "Bash", tool_input: { skill: "nested" } });
    const refused = session.effects.flatMap((effect) =>
      effect.type === "answer" && effect.reply !== undefined ? [effect.id] : []
    );
    assertEquals(refused, ["nested"]);
  }
});
