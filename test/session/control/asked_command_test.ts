import { assertEquals } from "@std/assert";
import type { Consulted } from "../../../src/session/input.ts";
import { simulate } from "../simulation.ts";

/** What is done in a conversation that rests when a command is sent, and a message after it. */
function asking() {
  const session = simulate({ conversation: true, version: "2.1.330" });
  session.hear({ type: "reachable" });
  session.hear({ type: "status", status: "idle" });
  const settled = { kind: "asked", version: "2.1.330" } as const;
  session.hear({ type: "message", message: { text: "/context", ticket: "c", settled } });
  session.hear({ type: "message", message: { text: "hello", way: "rendezvous" } });
  const done = () =>
    session.effects.flatMap((effect): readonly unknown[] => {
      switch (effect.type) {
        case "consult":
          return [`asks ${effect.request.body["prompt"]}`];
        case "deliver":
          return [`delivers ${effect.prompt}`];
        case "turn":
          return effect.ending.kind === "settled" ? [effect.ending.message.settled] : [];
        case "respond":
          return ["responds"];
        default:
          return [];
      }
    });
  const say = (said: Consulted) => {
    const ids = session.effects.flatMap((effect) =>
      effect.type === "consult" ? [effect.request.id] : []
    );
    for (const id of ids) session.hear({ type: "consulted", id, said });
  };
  return { session, done, say };
}

Deno.test("a command is carried out by a headless Claude Code, and what comes after it waits", () => {
  const { done, say } = asking();
  assertEquals(done(), ["asks /context"]);
  say({ response: { text: "much\n", words: "much", name: "context", fields: { a: 1 } } });
  const carried = { words: "much", name: "context", fields: { a: 1 } };
  assertEquals<unknown>(done(), [
    "asks /context",
    { kind: "local", text: "much\n", version: "2.1.330", carried },
    "delivers hello",
  ]);
});

Deno.test("a command that could not be carried out fails its turn alone", () => {
  const { done, say } = asking();
  say({ failure: "it took more than 30 s" });
  const [, settled, delivered] = done();
  assertEquals<unknown>(settled, {
    kind: "refused",
    message: "Cannot carry out /context: it took more than 30 s",
    suggestion: "Try again, or run it with claude -p",
  });
  assertEquals(delivered, "delivers hello");
});

Deno.test("a command that clears the conversation hands the next message to a child of another session", () => {
  const session = simulate({ conversation: true, version: "2.1.330" });
  session.hear({ type: "reachable" });
  session.hear({ type: "status", status: "idle" });
  const settled = { kind: "asked", version: "2.1.330", clears: true } as const;
  session.hear({ type: "message", message: { text: "/clear", settled } });
  session.hear({ type: "message", message: { text: "hello", way: "rendezvous" } });
  const [consult] = session.effects.filter((effect) => effect.type === "consult");
  const { id = "", body = {} } = consult?.type === "consult" ? consult.request : {};
  assertEquals(body, { prompt: "/clear", clears: true });
  session.hear({
    type: "consulted",
    id,
    said: { response: { text: "", name: "clear", begun: "new" } },
  });
  assertEquals(session.effects.filter(({ type }) => type === "deliver"), []);
  assertEquals(session.effects.filter(({ type }) => type === "turn").length, 1);
  session.hear({ type: "exit", exit: { kind: "exited", code: 0 } });
  const last = session.effects.at(-1);
  assertEquals(last?.type === "end" ? last.ending : last, {
    kind: "renewed",
    changes: { begun: "new" },
  });
});

Deno.test("a child that is gone answers no command, which its message keeps for the next one", () => {
  const { session, done } = asking();
  session.hear({ type: "exit", exit: { kind: "exited", code: 1 } });
  assertEquals(done().filter((deed) => deed === "responds"), []);
});
