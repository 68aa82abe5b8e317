import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import { commandAnswer } from "../../../../src/conversation/protocol/requests/slash_commands.ts";
import type { HelperReply } from "../../../../src/conversation/control/input.ts";
import type { SettledMessage } from "../../../../src/conversation/control/message.ts";
import { consulted, message, request, settledMessage } from "../../control/caller_inputs.ts";
import { exit, type Given, hook, VERSION } from "../../control/inputs.ts";
import { rested, type Simulation } from "../../control/simulation.ts";

const asked = (text: string, more: JsonObject = {}) =>
  settledMessage(text, { kind: "asked", version: VERSION, ...more });

/** A conversation that rests and receives a command, and a message after it. */
function asking(command: Given, ...before: readonly Given[]): Simulation {
  const session = rested({}, hook("SessionStart"), ...before, command, message("hello"));
  return session;
}

/** The helper answers the command. */
function answers(session: Simulation, said: HelperReply): void {
  session.receive(...session.consulted.map(({ id }) => consulted(id, said)));
}

/** What became of the command in its turn. */
function settled(session: Simulation) {
  return session.of("turn").map(({ ending }) =>
    ending.kind === "settled" ? ending.message.settled : ending
  );
}

Deno.test("headless helper carries out a command before the next message", () => {
  const session = asking(asked("/context"));
  assertEquals(session.consulted.map(({ body }) => body["prompt"]), ["/context"]);
  assertEquals(session.delivered, []);
  const carried = { words: "much", name: "context", fields: { a: 1 } };
  answers(session, { response: { text: "much\n", ...carried } });
  assertEquals(settled(session), [{ kind: "local", text: "much\n", version: VERSION, carried }]);
  assertEquals([session.delivered, session.responses], [["hello"], []]);
});

Deno.test("failed command fails its own turn only", () => {
  const session = asking(asked("/context"));
  answers(session, { failure: "it took more than 30 s" });
  assertEquals(settled(session), [{
    kind: "refused",
    message: "Cannot carry out /context: it took more than 30 s",
    suggestion: "Try again, or run it with claude -p",
  }]);
  assertEquals(session.delivered, ["hello"]);
});

Deno.test("output about another process is refused", () => {
  const subscription = "You are currently using your subscription to power your Claude Code usage";
  const cost = "Estimated cost:        $0.0601";
  const alone = asked("/cost", { alone: true }).message as SettledMessage;
  const rows = [
    [subscription, {}, "local"],
    ["Total cost: $0.0000", {}, "refused"],
    [cost, {}, "refused"],
    [cost, { hasCost: true }, "local"],
    ["Fast mode OFF (this session only)", { hasCost: true }, "refused"],
  ] as const;
  for (const [text, more, kind] of rows) {
    const { settled } = commandAnswer(alone, { response: { text, commands: [], ...more } });
    assertEquals(settled.kind, kind, text);
    if (settled.kind === "local") assertEquals(settled.carried, { commands: [] });
    else {
      const reason = "what it tells of a conversation is in the frames and results of that";
      assertEquals("message" in settled && settled.message, `Cannot carry out /cost: ${reason}`);
    }
  }
});

Deno.test("child that exits leaves the command to the next one", () => {
  const session = asking(asked("/context"));
  session.receive(exit(1));
  assertEquals([session.responses, session.turns], [[], []]);
});

Deno.test("command that clears the session needs another child", () => {
  const session = asking(asked("/clear", { clears: true }));
  assertEquals(session.consulted.map(({ body }) => body), [{ prompt: "/clear", clears: true }]);
  answers(session, { response: { text: "", name: "clear", begun: "new" } });
  assertEquals([session.delivered, session.turns], [[], ["settled"]]);
  session.receive(exit(0));
  assertEquals(session.ending, { kind: "renewed", changes: { begun: "new" } });
});

Deno.test("next child gets a command's model and effort", () => {
  const before = { model: "claude-opus", effort: "medium", ultracode: false };
  const chosen = { model: "sonnet", chosenModel: "claude-sonnet" };
  const rows = [
    ["/model sonnet ", { model: "claude-sonnet", effort: "low" }, chosen],
    ["/model help", {}, {}],
    ["/model opusplan", {}, { model: "opusplan", chosenModel: "claude-opus" }],
    ["/effort HIGH", { effort: "high" }, { effort: "high" }],
    ["/effort auto", { effort: "high" }, { effort: null }],
    ["/effort silly", {}, {}],
    ["/effort ultracode", { ultracode: true }, { flagSettings: { ultracode: true } }],
    ["/rename x", { model: "another" }, {}],
    ["/model sonnet", 7, {}],
  ] as const;
  for (const [text, after, changes] of rows) {
    const session = asking(asked(text, { notes: true }));
    assertEquals(session.consulted.map(({ body, notes }) => [body, notes]), [
      [{ prompt: text }, true],
    ]);
    const space = text.indexOf(" ");
    const local_command_run = { command: text.slice(1, space), args: text.slice(space) };
    const inForce = after === 7 ? { after } : { before, after: { ...before, ...after } };
    answers(session, {
      response: { text: "said", title: "T", ...inForce, fields: { local_command_run } },
    });
    assertEquals(session.delivered, []);
    const [local] = settled(session);
    assertEquals(local?.kind === "local" ? local.carried?.title : local, "T");
    session.receive(exit(0));
    assertEquals<unknown>(session.ending, { kind: "renewed", changes }, text);
  }
});

Deno.test("helper carries out a command with changes the child lacks", () => {
  const session = asking(asked("/context"), request("set_permission_mode", { mode: "plan" }));
  assertEquals(session.of("consult").map(({ changes }) => changes), [{ permissionMode: "plan" }]);
  assertEquals(session.signals, []);
});

Deno.test("command after changed MCP servers needs another child", () => {
  const servers = { calc: { type: "sdk" } };
  const session = asking(asked("/context"), request("mcp_set_servers", { servers }));
  session.receive(exit(0));
  assertEquals(session.consulted, []);
  const changes = { setServers: servers, unreached: [] };
  assertEquals(session.ending, { kind: "renewed", changes });
});
