import { assertEquals } from "@std/assert";
import { poolCounts } from "../../serve/runs/pool_counts.ts";
import { serve } from "../../serve/runs/served.ts";
import { until } from "../../standin/stand_in.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import type { RecordedName } from "../as_recorded.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { maskedRequests } from "../parity/bodies.ts";
import { parseFrames } from "../print_mode_facts.ts";
import { RealClaude } from "../real_claude.ts";
import { masked } from "./masked.ts";
import { installClaudePrint, playScenarios } from "./play_scenarios.ts";
import { pythonUser, type SdkUser, typescriptUser } from "./sdk_user.ts";
import { seenWithClaude } from "./seen_with_claude.ts";
import { structuredReply } from "./structured_reply.ts";
import { WARM_SCENARIOS } from "./warm_scenarios.ts";

const version = REAL_VERSIONS.at(-1) ?? "";
const python = usablePython();

const STREAMS = [
  "--verbose",
  ...["--input-format=stream-json", "--output-format=stream-json"],
  "--allowedTools=Bash",
];

/** What decides most of how a child is started; whoever does not answer for a hook lets the call be. */
const HOOKED = {
  subtype: "initialize",
  systemPrompt: ["You are terse."],
  agents: { "my-agent": { description: "Greets", prompt: "You greet." } },
  hooks: { PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["hook_0"] }] },
  jsonSchema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] },
};

const SAID =
  'One. [[bash echo 1]] [[tool StructuredOutput {}]] [[tool StructuredOutput {"count":3}]]';

Deno.test(`${version}: users of the Agent SDKs have a Claude Code that has waited, and are shown the same, and so is the model`, async () => {
  await using real = await RealClaude.set(version, { api: { reply: structuredReply } });
  await using server = await serve({
    args: ["--warm", "1"],
    env: real.home.env,
    cwd: real.home.project,
  });
  const executable = await installClaudePrint(real);
  const seenBy = async (user: SdkUser, recorded: RecordedName, scenarios: readonly string[]) => {
    return { user, scenarios, theirs: await seenWithClaude(real, { recorded, user }) };
  };
  const users = [
    await seenBy(await typescriptUser(), "sdk_typescript/scenarios", WARM_SCENARIOS.typescript),
    ...(python === undefined ? [] : [
      await seenBy(await pythonUser(python), "sdk_python/scenarios", WARM_SCENARIOS.python),
    ]),
  ];
  const count = 1 + users.flatMap(({ scenarios }) => scenarios).length;
  const play = async () => {
    const before = real.api.turns.length;
    for (const { user, scenarios, theirs } of users) {
      const seen = await playScenarios(user, { real, scenarios, executable, env: server.env });
      for (const scenario of scenarios) assertEquals(seen.get(scenario), theirs.get(scenario));
    }
    const lines = [
      { type: "control_request", request_id: crypto.randomUUID(), request: HOOKED },
      { type: "user", message: { role: "user", content: SAID } },
    ];
    const hooked = real.start(["-p", ...STREAMS], {
      env: server.env,
      stdin: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    });
    const { code, stdout, stderr } = await hooked.ended;
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
    "one waits with what each has asked for",
  );
  assertEquals(await play(), cold);
  const { waited, started } = await poolCounts(server.env);
  assertEquals([waited, started], [count, count]);
});
