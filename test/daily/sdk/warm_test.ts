import { assertEquals } from "@std/assert";
import { poolCounts } from "../../program/server/delegation/pool_counts.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { until } from "../../program/stand_in.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { maskedRequests } from "../parity/bodies.ts";
import { parseFrames } from "../../real/print_mode_facts.ts";
import { RealClaude } from "../../real/real_claude.ts";
import {
  masked,
  pythonUser,
  type Sdk,
  type SdkUser,
  typescriptUser,
} from "../../program/sdk/scenarios.ts";
import {
  installClaudePrint,
  playScenarios,
  seenWithClaude,
  structuredReply,
} from "./play_scenarios.ts";
import { callerLines, CONVERSATION, userMessage } from "../../caller_lines.ts";

const version = REAL_VERSIONS.at(-1) ?? "";
const python = usablePython();

/** A request that decides most of how a child is started; a hook without an answer lets the call pass. */
const HOOKED = {
  subtype: "initialize",
  systemPrompt: ["You are terse."],
  agents: { "my-agent": { description: "Greets", prompt: "You greet." } },
  hooks: { PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["hook_0"] }] },
  jsonSchema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
};

const SAID =
  'One. [[bash echo 1]] [[tool StructuredOutput {}]] [[tool StructuredOutput {"count":3}]]';

Deno.test(`${version}: SDK users see the same with a warm child`, async () => {
  await using real = await RealClaude.set(version, { api: { reply: structuredReply } });
  await using server = await serve({
    args: ["--warm", "1"],
    env: real.home.env,
    cwd: real.home.project,
  });
  const executable = await installClaudePrint(real);
  const seenBy = async (sdk: Sdk, user: SdkUser, scenario: string) => {
    return { user, scenario, theirs: await seenWithClaude(real, sdk, user) };
  };
  const users = [
    await seenBy("typescript", await typescriptUser(), "permissions"),
    ...(python === undefined ? [] : [await seenBy("python", await pythonUser(python), "hooks")]),
  ];
  const count = 1 + users.length;
  const play = async () => {
    const before = real.api.turns.length;
    for (const { user, scenario, theirs } of users) {
      const scenarios = [scenario];
      const seen = await playScenarios(user, { real, scenarios, executable, env: server.env });
      assertEquals(seen.get(scenario), theirs.get(scenario));
    }
    const request = { type: "control_request", request_id: crypto.randomUUID(), request: HOOKED };
    const { code, stdout, stderr } = await real.print(
      ["-p", ...CONVERSATION, "--allowedTools=Bash"],
      { env: server.env, stdin: callerLines([request, userMessage(SAID)]) },
    );
    assertEquals([code, stderr], [0, ""]);
    const said = { requests: real.api.turns.slice(before), home: real.home.path };
    const frames = parseFrames(stdout);
    assertEquals(frames.at(-1)?.["structured_output"], { count: 3 });
    return {
      frames: masked(frames, real.home.path),
      requests: maskedRequests(said, { row: "sdk" }),
    };
  };
  const cold = await play();
  const before = await poolCounts(server.env);
  assertEquals([before.waited, before.started], [0, count]);
  await until(
    async () => (await poolCounts(server.env)).ready === count,
    "a child waits for each of them",
  );
  assertEquals(await play(), cold);
  const { waited, started } = await poolCounts(server.env);
  assertEquals([waited, started], [count, count]);
});
