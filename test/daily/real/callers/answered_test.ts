import { assertEquals } from "@std/assert";
import { asRecorded } from "../../../real/as_recorded.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import { type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { git } from "../../../git.ts";

/** Requests without effect, or about the folder alone. */
const REQUESTS: readonly (readonly [subtype: string, body?: JsonObject])[] = [
  ["get_workspace_diff"],
  ["fork_conversation", { target_message_uuid: "x" }],
  ["log_host_events", { events: [] }],
  ["mcp_tasks_changed"],
  ["poll_event", { event: {} }],
  ["register_device_hooks", { hooks: {} }],
  ["upload_device_hook_template"],
  ["remote_tools_announce", { tools: [] }],
  ["stage_file", { path: "x" }],
  ["turn_handoff", { messages: [{}] }],
  ["set_message_waiting", { waiting: true }],
  ["set_message_waiting", { waiting: null }],
  ...[true, null, "x", [], {}, 3, undefined].map((paused) =>
    ["set_prompt_suggestions_paused", { paused }] as const
  ),
  ["set_has_subscribers", { has_subscribers: 3 }],
  ...["proactive", "ask", "x", null, {}, 3, undefined].map((level) =>
    ["set_proactivity_level", { level }] as const
  ),
  ["prompt_draft_activity"],
  ["mcp_message", { server_name: "nobody", message: { jsonrpc: "2.0", method: "x" } }],
  ["mcp_message", { server_name: 3, message: {} }],
  ["mcp_message"],
  ["set_color"],
];

forNewestVersion("requests without effect have the answers of claude -p", async (real) => {
  const { project } = real.home;
  await git(real.home, "init", "--quiet");
  await Deno.writeTextFile(`${project}/a.txt`, "one\n");
  await git(real.home, "add", ".");
  await git(real.home, "commit", "--quiet", "--message=a");
  await Deno.writeTextFile(`${project}/a.txt`, "two\n");
  const told = async (holding: typeof hold) => {
    const { code, stdout } = await holding(real, async ({ say, send, heard }) => {
      const lines = REQUESTS.map(([subtype, body], at) => ({
        type: "control_request",
        request_id: `r${at}`,
        request: { subtype, ...body },
      }));
      await send(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      for (const { request_id: id } of lines) await heard(`"request_id":"${id}"`);
      await say("One. [[say first]]");
    });
    const frames = parseFrames(stdout);
    const answers = frames.flatMap(({ type, response }) =>
      type === "control_response" ? [response as JsonObject] : []
    );
    return {
      code,
      answers: REQUESTS.map((_, at) =>
        answers.filter(({ request_id: id }) => id === `r${at}`).map(withoutRoot)
      ),
      results: frames.filter(({ type }) => type === "result").map(({ result }) => result),
    };
  };
  const theirs = await asRecorded(real, "answered/requests", () => told(holdWithClaude));
  assertEquals(JSON.parse(JSON.stringify(await told(hold))), theirs);
});

/** An answer without what names a folder in another way each time. */
function withoutRoot(answer: JsonObject): unknown {
  return JSON.parse(
    JSON.stringify(answer, (name, value) => name === "rootId" ? typeof value : value),
  );
}
