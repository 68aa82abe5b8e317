import { assert, assertEquals } from "@std/assert";
import type { ConverseOptions } from "../../../src/library/mod.ts";
import { converseHere } from "../../library/converse_here.ts";
import { until } from "../../standin/stand_in.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { maskedRequests } from "../parity/bodies.ts";
import type { RealClaude } from "../real_claude.ts";

/** A repository with instructions, and a hook that counts how often a Claude Code has started. */
async function lay({ home }: RealClaude): Promise<void> {
  const hook = { hooks: [{ type: "command", command: 'printf x >> "$HOME/starts"' }] };
  await Deno.mkdir(`${home.project}/.claude`);
  await Deno.writeTextFile(
    `${home.project}/.claude/settings.json`,
    JSON.stringify({ hooks: { SessionStart: [hook] } }),
  );
  const { success } = await new Deno.Command("sh", {
    args: [
      "-ec",
      "git init -q; echo Use tabs. > CLAUDE.md; git add .; " +
      "git -c user.name=a -c user.email=a@b commit -qm First",
    ],
    cwd: home.project,
    env: home.env,
    clearEnv: true,
  }).output();
  assert(success);
}

async function startsOf({ home }: RealClaude): Promise<number> {
  return (await Deno.readTextFile(`${home.path}/starts`).catch(() => "")).length;
}

/** Holds a conversation of two turns; gives what the model was told. */
async function told(real: RealClaude, options: ConverseOptions) {
  const [starts, requests] = [await startsOf(real), real.api.turns.length];
  await using conversation = converseHere(real, options);
  if (options.warm) {
    await until(async () => await startsOf(real) > starts, "Claude Code starts");
  }
  const first = await conversation.send("Hi [[say yes]]").result;
  const second = await conversation.send("Well [[say no]]").result;
  assertEquals([first.text, second.text], ["yes", "no"]);
  assertEquals([first.exitCode, second.exitCode], [0, 0]);
  assertEquals([first.warnings, second.warnings], [[], []]);
  assertEquals(second.frame.session_id, first.frame.session_id);
  assertEquals(await conversation.close(), { exitCode: 0, warnings: [] });
  const said = { requests: real.api.turns.slice(requests), home: real.home.path };
  return { starts: await startsOf(real) - starts, requests: maskedRequests(said, { row: "warm" }) };
}

// That those of other versions can wait, and what they tell the model then, is in pool_test.ts.
forNewestVersion(
  "converse() holds two turns in one session, and a warm one tells the model what a cold one does",
  async (real) => {
    await lay(real);
    const cold = await told(real, {});
    const warm = await told(real, { warm: true });
    assertEquals(warm, cold);
    assertEquals(cold.starts, 1);
  },
);
