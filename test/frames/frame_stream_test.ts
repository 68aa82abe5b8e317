import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Frame } from "../../src/wire/frame.ts";
import type { Entry } from "../../src/transcript/entry.ts";
import { answer, returned } from "../transcript/lines.ts";
import { startTelling } from "./telling.ts";

const kinds = (frames: readonly Frame[]) =>
  frames.map(({ type, subtype }) => subtype === undefined ? type : `${type}/${subtype}`);

const version = "2.1.332";
const url = new URL("../../fixtures/transcripts/2.1.330/bash/transcript.jsonl", import.meta.url);
const lines = Deno.readTextFileSync(url).trimEnd().split("\n");

Deno.test("frames: a transcript becomes init, then a frame for each block and result", () => {
  const { tell, push, frames } = startTelling();
  tell({ type: "hook", event: "SessionStart", payload: { model: "claude-opus[1m]" } });
  for (const line of lines) push(line);
  const [init, ...rest] = frames;
  assertEquals(init?.["claude_code_version"], "2.1.330");
  assertEquals(init?.["model"], "claude-opus[1m]");
  assertEquals(kinds(frames)[0], "system/init");
  assertEquals(kinds(rest), ["assistant", "assistant", "user", "assistant"]);
});

Deno.test("frames: a session begins before its first answer when it is time", () => {
  const { push, begin, finish, state, frames } = startTelling();
  const prompt = lines.findIndex((line) => JSON.parse(line).type === "user");
  for (const line of lines.slice(0, prompt)) push(line);
  assert(state().prompt === undefined);
  begin();
  for (const line of lines.slice(prompt)) {
    push(line);
    if (state().prompt !== undefined) begin();
  }
  finish(version);
  assertEquals(kinds(frames).filter((kind) => kind === "system/init").length, 1);
  assertEquals(kinds(frames)[0], "system/init");
});

Deno.test("frames: there is neither a slash command's prompt nor the text that it became", () => {
  const { push, begin, frames } = startTelling();
  const line = (more: object) => push({ version: "2.1.332", type: "user", ...more });
  const remark = (uuid: string, parentUuid: string) =>
    line({ uuid, parentUuid, isMeta: true, message: { role: "user", content: "A remark" } });
  line({ uuid: "p", message: { role: "user", content: "<command-message>x</command-message>" } });
  remark("text", "p");
  begin();
  assertEquals(kinds(frames), ["system/init"]);
  remark("other", "text");
  assertEquals(kinds(frames), ["system/init", "user"]);
});

Deno.test("frames: a session begins with its title, once: what its user has called it last", () => {
  const told = (
    options: Parameters<typeof startTelling>[0] = {},
    given: readonly string[] = [],
  ) => {
    const { push, tell, begin, frames } = startTelling(options);
    const entries = given.map((customTitle): Entry => ({
      type: "other",
      line: { type: "custom-title", customTitle },
    }));
    tell({ type: "earlier", entries });
    push({ type: "attachment", version: "2.1.332", attachment: { type: "x" } });
    begin();
    return frames.map(({ subtype, title }) => title ?? subtype);
  };
  const before = { results: 1, totalUsd: 0, apiDurationMs: 0 };
  assertEquals(told(), ["init"]);
  assertEquals(told({ title: "Mine" }), ["Mine", "init"]);
  assertEquals(told({}, ["One", "Two", ""]), ["Two", "init"]);
  assertEquals(told({ title: "Mine" }, ["One"]), ["Mine", "init"]);
  assertEquals(told({ title: "Mine", before }), ["init"]);
});

Deno.test("a session that wrote nothing begins with the version that the executable gives", () => {
  const { push, finish, frames } = startTelling();
  push("no json");
  push('{"type":"something-new"}');
  finish("2.1.332");
  assertEquals(kinds(frames), ["system/init"]);
  assertEquals(frames[0]?.["claude_code_version"], "2.1.332");
});

Deno.test("word of a retry is held back until the session has begun", () => {
  const { tell, push, begin, frames } = startTelling();
  const retry = { attempt: 1, maxRetries: 10, delayMs: 1000, status: 529 };
  tell({ type: "retry", retry });
  assertEquals(frames, []);
  push({ version: "2.1.332", type: "user", uuid: "p", message: { content: "Hi" } });
  begin();
  tell({ type: "retry", retry: { ...retry, attempt: 2 } });
  assertEquals(kinds(frames), ["system/init", "system/api_retry", "system/api_retry"]);
  assertEquals(frames.slice(1).map(({ attempt }) => attempt), [1, 2]);
});

Deno.test("a retry that the screen did not announce is told before the answer that shows it", () => {
  const { tell, push, begin, frames } = startTelling();
  const fault = { attempt: 1, maxRetries: 10, status: 500 };
  const message = { id: "m", model: "m", content: [{ type: "text", text: "Hello" }] };
  const answers = (more: object = {}) =>
    push({ version: "2.1.332", type: "assistant", uuid: crypto.randomUUID(), message, ...more });
  const retries = () =>
    frames.filter(({ subtype }) => subtype === "api_retry")
      .map(({ attempt, retry_delay_ms: delay }) => [attempt, delay]);
  push({ version: "2.1.332", type: "user", uuid: "p", message: { content: "Hi" } });
  begin();
  tell({ type: "fault", fault });
  tell({ type: "retry", retry: { ...fault, delayMs: 2000 } });
  assertEquals(retries(), [[1, 2000]]);
  tell({ type: "fault", fault: { ...fault, attempt: 2 } });
  tell({ type: "fault", fault: { ...fault, attempt: 3 } });
  assertEquals(retries(), [[1, 2000], [2, 1000]], "the next failure shows it too");
  answers();
  assertEquals(retries(), [[1, 2000], [2, 1000], [3, 2000]]);
  assertEquals(kinds(frames).at(-1), "assistant");
  // The screen was drawn late.
  tell({ type: "retry", retry: { ...fault, attempt: 3, delayMs: 2000 } });

  // What is not made again, or fails for good, is no retry.
  tell({ type: "fault", fault: { ...fault, status: 400 } });
  answers();
  tell({ type: "fault", fault: { ...fault, attempt: 11 } });
  answers();
  // Another model has been asked.
  tell({ type: "fault", fault: { ...fault, attempt: 3, status: 529 } });
  answers();
  tell({ type: "fault", fault });
  answers({ isApiErrorMessage: true });
  answers();
  tell({ type: "fault", fault });
  tell({ type: "hook", event: "StopFailure", payload: {} });
  answers();
  assertEquals(retries().length, 3);

  // It was made again, and in vain.
  tell({ type: "fault", fault: { ...fault, maxRetries: 1 } });
  tell({ type: "fault", fault: { ...fault, attempt: 2, maxRetries: 1 } });
  answers({ isApiErrorMessage: true });
  assertEquals(retries().slice(3), [[1, 1000]]);
});

Deno.test("a resumed session begins with what earlier runs were told of it", () => {
  const { tell, push, begin, frames } = startTelling();
  const attachment = (more: object) => ({ type: "attachment", version, attachment: more }) as const;
  tell({
    type: "earlier",
    entries: [
      attachment({ type: "agent_listing_delta", addedTypes: ["Explore"] }) as never,
      attachment({ type: "skill_listing", names: ["verify"] }) as never,
      {
        type: "other",
        line: { type: "api-request-shape", shapeHash: "h", shape: { tools: [{ name: "Bash" }] } },
      },
      {
        type: "other",
        line: { type: "api-request", querySource: "repl_main_thread", shapeHash: "h" },
      },
      answer("earlier", { id: "m0" }).entry,
    ],
  });
  push({ version, type: "user", uuid: "p", message: { content: "Hi" } });
  begin();
  const [init] = frames;
  assertEquals([init?.["agents"], init?.["skills"]], [["Explore"], ["verify"]]);
  assertEquals([init?.["tools"], init?.["model"]], [["Bash"], "m"]);
});

Deno.test("an answer that is written before what its run begins with is told after it", () => {
  const lines = {
    prompt: { type: "user", uuid: "p", message: { content: "Hi" } },
    agents: {
      type: "attachment",
      uuid: "g",
      parentUuid: "p",
      attachment: { type: "agent_listing_delta", addedTypes: ["Explore"] },
    },
    skills: {
      type: "attachment",
      uuid: "s",
      parentUuid: "g",
      attachment: { type: "skill_listing", names: ["verify"] },
    },
    answer: {
      type: "assistant",
      uuid: "a",
      parentUuid: "s",
      message: { id: "m", model: "m", content: [] },
    },
    shape: { type: "api-request-shape", shapeHash: "h", shape: { tools: [{ name: "Bash" }] } },
    request: { type: "api-request", querySource: "repl_main_thread", shapeHash: "h" },
  };
  const { prompt, agents, skills, answer, shape, request } = lines;
  for (const before of [[answer], [prompt, agents, skills, answer]]) {
    const later = [prompt, agents, skills, shape, request].filter((line) =>
      !before.some((each) => each === line)
    );
    const { push, frames } = startTelling();
    push(...before.map((line) => ({ version, ...line })));
    assertEquals(frames, []);
    push(...later.map((line) => ({ version, ...line })));
    assertEquals(kinds(frames), ["system/init", "assistant"]);
    const [init] = frames;
    assertEquals([init?.["agents"], init?.["skills"]], [["Explore"], ["verify"]]);
    assertEquals(init?.["tools"], ["Bash"]);
  }
});

Deno.test("the same run is told with the same ids, and no id twice", () => {
  const ids = () => {
    const { push, begin, finish, frames } = startTelling();
    push({ version: "2.1.332", type: "user", uuid: "p", message: { content: "Hi" } });
    begin();
    for (let line = 0; line < 100; line++) {
      push({
        version: "2.1.332",
        type: "assistant",
        message: { id: `m${line}`, model: "m", content: [{ type: "text", text: "x" }] },
      });
    }
    finish("2.1.332");
    return frames.map(({ uuid }) => uuid);
  };
  const all = ids();
  assertEquals(all, ids());
  assertEquals(new Set(all).size, 101);
  for (const id of all) {
    assertMatch(`${id}`, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
  }
});

Deno.test("a session begins with its first request, by which its tools are known", () => {
  const { push, frames } = startTelling();
  push({ version: "2.1.332", type: "user", uuid: "p", message: { content: "Hi" } });
  push({ type: "api-request-shape", shapeHash: "h", shape: { tools: [{ name: "Bash" }] } });
  assertEquals(frames, []);
  push({ type: "api-request", querySource: "agent:x", shapeHash: "h" });
  assertEquals(frames, []);
  push({ type: "api-request", querySource: "repl_main_thread", shapeHash: "h" });
  assertEquals(frames.map(({ tools }) => tools), [["Bash"]]);
});

Deno.test("what a long turn leaves to be remembered does not grow with its calls", () => {
  const { tell, push, begin, state, frames } = startTelling();
  push({ version, type: "user", uuid: "p", message: { content: "Hi" } });
  begin();
  const call = (id: string, name: string) => ({
    version,
    ...answer([{ type: "tool_use", id, name, input: { command: "x" } }], { id: `m-${id}` }).entry,
    timestamp: "2026-01-01T00:00:00.000Z",
  });
  for (let each = 0; each < 500; each++) {
    tell({ type: "transcript", entry: call(`t${each}`, "Bash") as Entry });
    tell({ ...returned(`t${each}`) });
  }
  tell({ type: "transcript", entry: call("agent", "Agent") as Entry });
  tell({ ...returned("agent") });
  assertEquals(frames.length, 1);
  tell({ type: "read" });
  assertEquals(frames.length, 1 + 2 * 501);
  // A subagent may go on in the background.
  const { toolUses, agentCalls, shells } = state();
  const left = agentCalls.values().map(({ id }) => id);
  assertEquals([toolUses.size, left, shells.size], [0, ["agent"], 0]);
});
