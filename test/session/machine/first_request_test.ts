import { assertEquals } from "@std/assert";
import { denialWords } from "../../../src/transcript/turn/denial_words.ts";
import { denial } from "../../../src/session/hook_answers.ts";
import {
  BUSY,
  EXIT,
  fromServer,
  type Given,
  hook,
  IDLE,
  INTERRUPTED,
  message,
  REACHABLE,
  settledMessage,
  signal,
  VERSION,
} from "../inputs.ts";
import { rested, run, type Simulation, type SimulationOptions } from "../simulation.ts";

const START = hook("SessionStart", {}, "7");
type Settled = Readonly<Record<string, "connected" | "failed">>;
const servers = (begun: number, done: number, settled?: Settled) =>
  ({ type: "mcp", begun, done, ...(settled === undefined ? {} : { settled }) }) as const;

/** Waits so long that the hook of the start is answered at the end of the time, and not before. */
function answeredAfter(session: Simulation, ms: number): void {
  session.wait(ms - 1);
  assertEquals(session.answered, []);
  session.wait(1);
  assertEquals(session.answered, ["7"]);
}

Deno.test("first request waits up to 2 s for MCP servers", () => {
  // On a busy machine the status is read before the hook is.
  const connecting = run({ mcpServers: 2 }, IDLE, BUSY, START, servers(1, 1));
  connecting.wait(1000);
  connecting.receive(servers(2, 2));
  answeredAfter(connecting, 200);
  const hanging = run({ mcpServers: 1 }, START);
  answeredAfter(hanging, 2000);
  hanging.receive(servers(1, 1));
  hanging.wait(5000);
  assertEquals(hanging.answered, ["7"]);
  // A compaction or another session is not the first request.
  hanging.receive(hook("SessionStart", {}, "8"));
  assertEquals(hanging.answered, ["7", "8"]);
});

Deno.test("first request waits for bridged servers until they answer twice", () => {
  const session = run({ mcpServers: 2, bridged: ["ours"] }, START);
  session.wait(3000);
  session.receive(servers(2, 0, {}));
  session.wait(5000);
  assertEquals(session.answered, []);
  session.receive(servers(2, 1, { ours: "connected" }));
  session.wait(40);
  // A child that answers a second time has run its timers, and has the server's tools.
  const pong = fromServer("ours", { jsonrpc: "2.0", id: "claude-print-ping", result: {} });
  const seen = () => [session.of("mcp-message").length, session.answered.length];
  assertEquals(seen(), [1, 0]);
  session.receive(pong);
  assertEquals(seen(), [2, 0]);
  session.receive(pong, pong);
  assertEquals(seen(), [2, 1]);
  const silent = run({ mcpServers: 1, bridged: ["ours"] }, START);
  silent.receive(servers(1, 1, { ours: "connected" }));
  answeredAfter(silent, 5040);
});

Deno.test("first request waits 30 s for servers that never connect", () => {
  const limits = { mcpServers: 1, deliveryTimeoutMs: 60_000 };
  const bridged = run({ ...limits, bridged: ["ours"] }, START);
  const awaited = run({ ...limits, awaited: ["theirs"] }, START, servers(1, 0, {}));
  for (const session of [bridged, awaited]) {
    session.wait(2000);
    answeredAfter(session, 28_000);
  }
});

Deno.test("first request waits for servers of the command line", () => {
  const slow = run({ mcpServers: 2, awaited: ["theirs"] }, START, servers(2, 0, {}));
  slow.wait(12_000);
  slow.receive(servers(2, 1, { theirs: "failed" }));
  answeredAfter(slow, 200);
  // A server that a policy forbids is not connected to.
  answeredAfter(run({ mcpServers: 1, awaited: ["theirs"] }, START), 2000);
});

Deno.test("message waits for MCP servers", () => {
  const ready = (options: SimulationOptions, ...before: readonly Given[]) => {
    const session = rested({ mcpServers: 1, ...options });
    session.receive(...before, message("one"));
    assertEquals(session.delivered, []);
    return session;
  };
  const session = ready({ bridged: ["own"] });
  session.receive(START);
  session.wait(10_000);
  assertEquals(session.delivered, []);
  session.receive(servers(1, 1, { own: "failed" }));
  session.wait(200);
  assertEquals(session.delivered, ["one"]);
  const silent = ready({ bridged: ["own"] });
  silent.wait(4999);
  assertEquals(silent.delivered, []);
  silent.wait(1);
  assertEquals(silent.delivered, ["one"], "no hook came");
  const settled = settledMessage("/x", { kind: "local", text: "x", version: VERSION });
  const second = ready({}, settled);
  second.receive(START);
  assertEquals([second.turns, second.delivered, second.answered], [["settled"], [], []]);
  second.receive(servers(1, 1));
  second.wait(200);
  assertEquals([second.delivered, second.answered], [["one"], ["7"]]);
});

Deno.test("child that never reports a status ends at a limit", () => {
  for (
    const [inputs, ending] of [
      [[message("one"), hook("SessionStart"), REACHABLE], "not-taken"],
      [[hook("SessionStart"), REACHABLE, message("one")], "not-started"],
    ] as const
  ) {
    const session = run({ conversation: true, keptAtEnd: true, timeoutMs: 60_000 }, ...inputs);
    session.wait(300_000);
    assertEquals(session.state.ending?.kind, ending);
  }
});

Deno.test("permissions are refused before, during and after an interrupt", () => {
  const asks = (id: string, payload = {}) => hook("PermissionRequest", payload, id);
  const call = { tool_name: "Write", tool_input: { file_path: "a.txt" }, cwd: "/p" };
  const session = run({}, BUSY, asks("7", call));
  const words =
    "Claude requested permissions to write to /p/a.txt, but you haven't granted it yet.";
  assertEquals(session.replies, [denial(words)]);
  session.receive(signal("SIGTERM"), asks("8"), INTERRUPTED, asks("9"), EXIT);
  assertEquals(session.answered, ["7", "8", "9"]);
});

Deno.test("unattended session refuses permissions in its own words", () => {
  const payload = { tool_name: 1, tool_input: "x" };
  const session = run({ unattended: true }, BUSY, hook("PermissionRequest", payload, "7"));
  const words = denialWords({ tool: "a tool", input: {}, cwd: "/" }, { unattended: true });
  assertEquals(session.replies, [denial(words)]);
});
