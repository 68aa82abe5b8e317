import { createLiveRedaction } from "../../../../src/recording/cassette/program/caller_lines.ts";
import { assertEquals } from "@std/assert";
import type { AnyFrame } from "../../../../src/claude/wire/any_frame.ts";
import {
  answer,
  INIT,
  playedTape,
  read,
  request,
  RESULT,
  says,
  SESSION,
  user,
  wrote,
} from "./played_tape.ts";

const TWO_TURNS = [
  wrote(user("One")),
  ...[INIT, says("first"), RESULT].map((frame) => read(frame)),
  wrote(user("Two")),
  ...[INIT, says("second"), RESULT].map((frame) => read(frame)),
];
const FRAMES = TWO_TURNS.flatMap((entry) => entry.dir === "read" ? [entry.frame] : []);

Deno.test("a conversation is played turn by turn", () => {
  const { said, counts, divergences, end } = playedTape(TWO_TURNS, [user("One"), user("Two")]);
  assertEquals(said, FRAMES);
  assertEquals(counts, [0, 3, 6, 6]);
  assertEquals([divergences, end?.code], [[], 0]);
});

Deno.test("a text block equals plain text", () => {
  const blocks = user([{ type: "text", text: "One" }], {
    session_id: "",
    parent_tool_use_id: null,
  });
  assertEquals(playedTape(TWO_TURNS, [blocks, user("Two")]).divergences, []);
});

Deno.test("another prompt is a divergence, and the play continues", () => {
  const { said, divergences, end } = playedTape(TWO_TURNS, [user("Eins"), user("Zwei")]);
  assertEquals(divergences, [
    'Message 1: the tape has "One" as /content/0/text, and the caller wrote "Eins"',
    'Message 2: the tape has "Two" as /content/0/text, and the caller wrote "Zwei"',
  ]);
  assertEquals([said, end?.code], [FRAMES, 0]);
});

Deno.test("a redacted place matches any secret", () => {
  const tape = [wrote(user("Use [redacted] twice: [redacted].")), ...TWO_TURNS.slice(1, 4)];
  const { divergences, uncompared } = playedTape(tape, [user("Use sk-1 twice: sk-1.")]);
  assertEquals([divergences, uncompared], [[], [
    "Message 1 was not compared in whole: a secret was taken out of the tape",
  ]]);
  assertEquals(playedTape(tape, [user("Use sk-1 once.")]).divergences.length, 1);
});

Deno.test("blanked prompts match any text of the same shape", () => {
  const tape = [wrote(user("xxxx xx /xxxx/xxx x.")), ...TWO_TURNS.slice(1, 4)];
  const blanked = (text: string) =>
    playedTape(tape, [user(text)], { blanked: ["traces", "prompts"] });
  const { divergences, uncompared } = blanked("Look at /home/bob 1.");
  assertEquals([divergences, uncompared], [[], [
    "Message 1 was not compared in whole: the tape was blanked, and has the shape alone",
  ]]);
  assertEquals(blanked("Look at /home/bob 12").divergences.length, 1);
  assertEquals(blanked("Look at /home/alice 1.").divergences.length, 1);
  assertEquals(playedTape(tape, [user("Look at /home/bob 1.")]).divergences.length, 1);
});

Deno.test("the caller's lines are scrubbed as the tape was", () => {
  const mail = "Mail xxxxx@xxxx.xx of /opt/xxxx-xxxxxxx/a.ts in /home/xxxxx/xxxxx, xxxxx: go.";
  const tape = [
    wrote(user(mail)),
    read({ type: "system", subtype: "init", cwd: "/opt/xxxx-xxxxxxx" }),
    ...TWO_TURNS.slice(1, 4),
  ];
  const compared = (recorded: string, text: string, known: object) => {
    const options = { blanked: ["traces"] } as const;
    const redaction = createLiveRedaction(tape, { ...options, known, secrets: (each) => each });
    const played = playedTape([wrote(user(recorded)), ...tape.slice(1)], [user(text)], {
      ...options,
      redaction,
    });
    return [played.divergences.length, played.uncompared.length];
  };
  const here = { users: ["alice"], homes: ["/home/alice"], projects: ["/opt/acme-billing"] };
  const alice = "Mail alice@acme.io of /opt/acme-billing/a.ts in /home/alice/notes, alice: go.";
  const there = { projects: ["/srv/other"] };
  const elsewhere = "Read /opt/xxxx-xxxxxxx/a.ts for xxxxx@xxxx.xx";
  const rows = [
    [mail, alice, here, [0, 0]],
    // The rest of the text is compared letter by letter.
    [mail, alice.replace("go", "no"), here, [1, 0]],
    [mail, alice.replace("a.ts", "b.ts"), here, [1, 0]],
    // An unknown name has to have the same shape.
    [mail, alice.replace(", alice", ", bobby"), here, [0, 1]],
    [elsewhere, "Read /srv/other/a.ts for bob@b.org", there, [0, 0]],
    [elsewhere, "Read /srv/other/b.ts for bob@b.org", there, [1, 0]],
  ] as const;
  for (const [recorded, text, known, counts] of rows) {
    assertEquals<unknown>(
      compared(recorded, text, { homes: [], users: [], hosts: [], ...known }),
      counts,
    );
  }
});

Deno.test("the caller's secret is redacted before the comparison", () => {
  const tape = [wrote(user("Use [redacted] now.")), ...TWO_TURNS.slice(1, 4)];
  const redaction = createLiveRedaction(tape, {
    blanked: [],
    known: {},
    secrets: (text) => text.replace("sk-1", "[redacted]"),
  });
  const { divergences, uncompared } = playedTape(tape, [user("Use sk-1 now.")], { redaction });
  assertEquals([divergences, uncompared], [[], []]);
  const other = playedTape(tape, [user("Use sk-1 and all else now.")], { redaction });
  assertEquals([other.divergences.length, other.uncompared.length], [0, 1]);
});

Deno.test("an early end of input names the missing messages", () => {
  assertEquals(playedTape(TWO_TURNS, [user("One")]).divergences, [
    "The caller ended its input before message 2",
  ]);
  assertEquals(playedTape(TWO_TURNS, []).divergences, [
    "The caller ended its input before message 1 and 1 more of what it wrote when it was recorded",
  ]);
});

Deno.test("a message beyond the tape ends the play", () => {
  const { divergences, end } = playedTape(TWO_TURNS, [user("One"), user("Two"), user("Three")], {
    last: "nothing",
  });
  assertEquals(divergences, ['Message 3 is not on the tape: [{"type":"text","text":"Three"}]']);
  assertEquals(end?.code, 0);
  const long = playedTape(TWO_TURNS.slice(0, 4), [user("One"), user("x".repeat(1000))]);
  assertEquals(long.divergences[0]?.length, "Message 2 is not on the tape: ".length + 120);
});

const INITIALIZE = request("a", { subtype: "initialize" });
const MODEL = { subtype: "set_model", model: "haiku" };
const CONTROL = [
  wrote(request("req_1", { subtype: "initialize" })),
  read(answer("req_1", { commands: ["x"] })),
  wrote(user("One")),
  ...[INIT, says("first"), RESULT].map((frame) => read(frame)),
  wrote(request("req_2", MODEL)),
  read(answer("req_2")),
  wrote(user("Two")),
  ...[INIT, RESULT].map((frame) => read(frame)),
];

Deno.test("control requests are answered with the caller's ids", () => {
  const { said, divergences } = playedTape(CONTROL, [
    request("a", { subtype: "initialize", hooks: {} }),
    user("One"),
    request("b", { model: "haiku", subtype: "set_model" }),
    user("Two"),
  ]);
  assertEquals(divergences, []);
  assertEquals(said.filter(({ type }) => type === "control_response"), [
    answer("a", { commands: ["x"] }),
    answer("b"),
  ]);
});

Deno.test("a different or unrecorded request is refused", () => {
  const { said, divergences } = playedTape(CONTROL, [
    INITIALIZE,
    request("x", { subtype: "interrupt" }),
    user("One"),
    request("b", { subtype: "set_model", model: "opus" }),
    user("Two"),
    request("y", { subtype: "mcp_status" }),
  ]);
  assertEquals(divergences, [
    'The caller asks for "interrupt", and the tape\'s next one is "set_model"',
    'Request 2 (set_model): the tape has "haiku" as /model, and the caller wrote "opus"',
    'The caller asks for "mcp_status", and the tape has no further request',
  ]);
  const errors = said.flatMap(({ response }) => {
    const { subtype, request_id: id } = (response ?? {}) as Readonly<Record<string, unknown>>;
    return subtype === "error" ? [id] : [];
  });
  assertEquals(errors, ["x", "b", "y"]);
  assertEquals(said.at(-2), RESULT);
});

Deno.test("a missing initialize diverges, an unrecorded initialize is answered", () => {
  const { divergences } = playedTape(CONTROL, [user("One"), request("b", MODEL), user("Two")]);
  assertEquals(divergences, [
    "The caller does not begin with initialize, as the one that was recorded did",
  ]);
  const { said, ...other } = playedTape(TWO_TURNS, [INITIALIZE, ...[user("One"), user("Two")]]);
  assertEquals(other.divergences, []);
  assertEquals((said[0]?.["response"] as { request_id: string }).request_id, "a");
});

Deno.test("a caller that waits for a reply receives it early", () => {
  const interrupt = { subtype: "interrupt" };
  const tape = [
    wrote(request("req_1", { subtype: "initialize" })),
    wrote(user("One")),
    read(says("state")),
    read(answer("req_1")),
    wrote(request("req_2", interrupt)),
    wrote(user("Two")),
    read(answer("req_2")),
    read(RESULT),
  ];
  const { said, counts, divergences } = playedTape(tape, [
    INITIALIZE,
    user("One"),
    request("b", interrupt),
    user("Two"),
  ]);
  assertEquals(said, [answer("a"), says("state"), answer("b"), RESULT]);
  assertEquals([counts, divergences], [[0, 1, 2, 3, 4, 4], []]);
});

const INTERRUPTED = [
  wrote(user("One")),
  read(INIT),
  read(says("I begin")),
  wrote(request("req_1", { subtype: "interrupt" })),
  read(answer("req_1")),
  read({ type: "result", subtype: "error_during_execution", is_error: true }),
];

Deno.test("an interrupt's effects follow it, even if it comes early", () => {
  const interrupt = request("a", { subtype: "interrupt" });
  const late = playedTape(INTERRUPTED, [user("One"), interrupt]);
  assertEquals([late.counts, late.divergences, late.end?.code], [[0, 2, 4, 4], [], 1]);
  const early = playedTape(INTERRUPTED, [interrupt, user("One")]);
  assertEquals([early.said, early.divergences], [late.said, []]);
});

Deno.test("an interrupt that does not come ends the play", () => {
  const { said, divergences, end } = playedTape(INTERRUPTED, [user("One")], { last: "timeout" });
  assertEquals(divergences, [
    "The caller has not written request 1 (interrupt), as it did when it was recorded",
  ]);
  assertEquals([said.length, end?.type], [2, "end"]);
});

const TOOL = { subtype: "can_use_tool", tool_name: "Bash", input: { command: "ls" } };
const HOOK = {
  subtype: "hook_callback",
  callback_id: "hook_1",
  input: { hook_event_name: "Stop" },
};
const ALLOWED = { behavior: "allow", updatedInput: { command: "ls" } };
const hooks = (events: Readonly<Record<string, readonly string[]>>) => ({
  subtype: "initialize",
  hooks: Object.fromEntries(
    Object.entries(events).map(([event, ids]) => [event, [{ hookCallbackIds: ids }]]),
  ),
});
const ASKED = [
  wrote(request("req_1", hooks({ PreToolUse: ["hook_0"], Stop: ["hook_1"] }))),
  read(answer("req_1")),
  wrote(user("One")),
  read(request("q1", TOOL)),
  read(says("meanwhile")),
  wrote(answer("q1", ALLOWED)),
  read(request("q2", HOOK)),
  wrote(answer("q2", {})),
  read(RESULT),
];
const SAME_HOOKS = request("a", hooks({ PreToolUse: ["hook_0"], Stop: ["hook_1"] }));

Deno.test("the play asks recorded questions and waits for answers", () => {
  const { said, counts, divergences } = playedTape(ASKED, [
    SAME_HOOKS,
    user("One"),
    answer("q1", ALLOWED),
    answer("q2", {}),
  ]);
  assertEquals(divergences, []);
  assertEquals(counts, [0, 1, 3, 4, 5, 5]);
  assertEquals(said.slice(1), [
    request("q1", TOOL),
    says("meanwhile"),
    request("q2", HOOK),
    RESULT,
  ]);
});

Deno.test("another decision, an error or no answer diverges", () => {
  const error = { subtype: "error", request_id: "q2", error: "It broke" };
  const { divergences } = playedTape(ASKED, [
    SAME_HOOKS,
    user("One"),
    answer("q1", { behavior: "deny", message: "No" }),
    { type: "control_response", response: error },
  ]);
  assertEquals(divergences, [
    'The answer to can_use_tool q1: the tape has "allow" as /behavior, and the caller wrote "deny"',
    'The answer to hook_callback q2: the tape has "success" as /subtype, and the caller wrote "error"',
  ]);
  assertEquals(playedTape(ASKED, [SAME_HOOKS, user("One")]).divergences, [
    "The caller ended its input before the answer to can_use_tool q1 and 1 more of what it wrote when it was recorded",
  ]);
});

Deno.test("hooks are called by the caller's ids", () => {
  const added = request(
    "a",
    hooks({ UserPromptSubmit: ["hook_0"], PreToolUse: ["hook_1"], Stop: ["hook_2"] }),
  );
  const { said, divergences } = playedTape(ASKED, [
    ...[added, user("One"), answer("q1", ALLOWED), answer("q2", {})],
  ]);
  assertEquals(divergences, []);
  assertEquals(said.at(-2), request("q2", { ...HOOK, callback_id: "hook_2" }));
  const none = playedTape(ASKED, [...[INITIALIZE, user("One"), answer("q1", ALLOWED)]]);
  assertEquals(none.divergences, [
    'The tape calls a hook "hook_1" for Stop, which the caller does not have',
  ]);
  assertEquals(none.said.at(-1), RESULT);
});

Deno.test("the cancellation of an unasked question is not emitted", () => {
  const cancel = { type: "control_cancel_request", request_id: "q2" };
  const tape = [...ASKED.slice(0, 3), read(request("q2", HOOK)), read(cancel), read(RESULT)];
  assertEquals(playedTape(tape, [INITIALIZE, user("One")]).said.slice(1), [RESULT]);
  const asked = playedTape(tape, [SAME_HOOKS, user("One")]);
  assertEquals(asked.said.slice(1), [request("q2", HOOK), cancel, RESULT]);
});

Deno.test("answers may come in another order than on the tape", () => {
  const tape = [
    wrote(user("One")),
    ...[request("q1", TOOL), request("q2", TOOL)].map((frame) => read(frame)),
    ...[answer("q1", ALLOWED), answer("q2", ALLOWED)].map((each) => wrote(each)),
    read(RESULT),
  ];
  const { said, divergences } = playedTape(tape, [
    ...[user("One"), answer("q2", ALLOWED), answer("q1", ALLOWED)],
  ]);
  assertEquals([divergences, said.at(-1)], [[], RESULT]);
});

Deno.test("two answers to one question may arrive together", () => {
  const denied = { behavior: "deny", message: "No" };
  const tape = [
    wrote(user("One")),
    read(request("q1", TOOL)),
    wrote(answer("q1", ALLOWED)),
    read(says("meanwhile")),
    wrote(answer("q1", denied)),
    read(RESULT),
  ];
  const again = (...answers: readonly unknown[]) =>
    playedTape(tape, [user("One"), ...answers.map((each) => answer("q1", each))]);
  const { said, divergences } = again(ALLOWED, denied);
  assertEquals([divergences, said.at(-1)], [[], RESULT]);
  assertEquals(again(denied, ALLOWED).divergences.length, 2);
  assertEquals(again(ALLOWED, denied, ALLOWED).divergences, [
    "The caller answered the question q1, and the tape has no further answer to it",
  ]);
  assertEquals(again(ALLOWED).divergences, [
    "The caller ended its input before the answer to can_use_tool q1",
  ]);
});

Deno.test("a cancelled question may still be answered", () => {
  const tape = (cancelled: boolean) => [
    wrote(user("One")),
    read(request("q1", TOOL)),
    ...(cancelled ? [read({ type: "control_cancel_request", request_id: "q1" })] : []),
    read(RESULT),
  ];
  const written = [user("One"), answer("q1", ALLOWED)];
  assertEquals(playedTape(tape(true), written).divergences, []);
  assertEquals(playedTape(tape(false), written).divergences, [
    "The caller answered the question q1, and the tape has no answer to it",
  ]);
});

Deno.test("inert and stub ask nothing, and wait for no answer", () => {
  for (const mode of ["inert", "stub"] as const) {
    const { said, divergences } = playedTape(ASKED, [SAME_HOOKS, user("One")], { mode });
    assertEquals([said.slice(1), divergences], [[says("meanwhile"), RESULT], []]);
  }
});

Deno.test("message ids and session id are the caller's", () => {
  const uuid = "11111111-2222-4333-8444-555555555555";
  const other = "99999999-2222-4333-8444-555555555555";
  const tape = [
    wrote(user("One", { uuid })),
    read({ ...INIT, session_id: SESSION, path: `/x/${SESSION}.jsonl` }),
    read({ type: "command_lifecycle", command_uuid: uuid }),
    read(RESULT),
  ];
  const sessionId = "00000000-2222-4333-8444-555555555555";
  const { said } = playedTape(tape, [user("One", { uuid: other })], { sessionId });
  assertEquals(said[0], { ...INIT, session_id: sessionId, path: `/x/${sessionId}.jsonl` });
  assertEquals(said[1], { type: "command_lifecycle", command_uuid: other });
});

Deno.test("a program exits as recorded", () => {
  const failing = { at: 0, dir: "write", data: "", exit: { code: 3, stderr: "boom\n" } } as const;
  const onPurpose = playedTape([...TWO_TURNS.slice(0, 2), failing], [user("One")], {
    last: "nothing",
  });
  assertEquals(onPurpose.end, { type: "end", code: 3, stderr: "boom\n" });
  assertEquals(onPurpose.divergences, []);
  const cut = playedTape(TWO_TURNS.slice(0, 3), [user("One")], { last: "nothing" });
  assertEquals([cut.end?.code, cut.said.length, cut.divergences], [1, 2, []]);
  const failed = [wrote(user("One")), read({ ...RESULT, is_error: true })];
  assertEquals(playedTape(failed, [user("One")]).end?.code, 1);
  const known = playedTape(failed, [user("One")], { exit: { code: 75, stderr: "later\n" } });
  assertEquals(known.end, { type: "end", code: 75, stderr: "later\n" });
});

Deno.test("a tape of frames waits for a message each turn", () => {
  const frames = TWO_TURNS.filter(({ dir }) => dir === "read");
  const { counts, divergences } = playedTape(frames, [INITIALIZE, user("Any"), user("Other")]);
  assertEquals([counts, divergences], [[0, 1, 4, 7, 7], []]);
  const known = playedTape(frames, [user("One"), user("Zwei")], { prompts: ["One", "Two"] });
  assertEquals(known.divergences, [
    'Message 2: the tape has "Two" as /content/0/text, and the caller wrote "Zwei"',
  ]);
});

Deno.test("a plain caller is asked nothing", () => {
  const { said, divergences } = playedTape(ASKED, [user("One")], { plain: true });
  assertEquals([said, divergences], [[says("meanwhile"), RESULT], []]);
});

Deno.test("invalid lines are divergences, keep-alives and blank lines are not", () => {
  const { divergences } = playedTape(TWO_TURNS, [
    user("One"),
    "",
    "{",
    `${"[".repeat(2000)}`,
    { type: "wish" },
    { type: "keep_alive" },
    { type: "control_request", request_id: "a" },
    { type: "control_response", response: { request_id: 1 } },
    answer("q9", {}),
    user("Two"),
  ]);
  assertEquals(divergences, [
    "The caller wrote a line that is not JSON",
    "The caller wrote a line that is nested too deeply",
    'The caller wrote a line of type "wish"',
    "The caller wrote a control request without a subtype",
    "The caller wrote a control response to nothing",
    "The caller answered a question q9 that it was not asked",
  ]);
});

Deno.test("a program that a signal ended waits for a signal", () => {
  const interrupted = { ...RESULT, subtype: "interrupted", is_error: true };
  const tape = [wrote(user("hello")), read(INIT), read(interrupted), read(says("bye"))];
  const waiting = playedTape(tape, [user("hello")]);
  assertEquals([waiting.said, waiting.divergences, waiting.end], [[INIT], [], undefined]);
  const stopped = playedTape(tape, [user("hello")], { stops: true });
  assertEquals(stopped.said, [INIT, interrupted, says("bye")]);
  assertEquals([stopped.divergences, stopped.end], [[], { type: "end", code: 1 }]);
  const never = playedTape(tape, [user("hello")], { last: "timeout" });
  assertEquals(never.divergences, [
    "The caller has not ended the program by a signal, as it did when it was recorded",
  ]);
  // A plain caller gets the result.
  assertEquals(playedTape(tape, [user("hello")], { plain: true }).said.length, 3);
});

Deno.test("request ids may be missing, equal or no strings", () => {
  const ids = (given: readonly unknown[]) =>
    given.map((id) => id === NONE ? {} : { request_id: id });
  const asked = (given: readonly unknown[]) =>
    ids(given).map((id, index) => ({
      type: "control_request",
      ...id,
      request: { subtype: "set_model", model: `${index}` },
    }));
  const answered = (given: readonly unknown[]) =>
    ids(given).map((id, index): AnyFrame => ({
      type: "control_response",
      response: { subtype: "success", ...id, response: { index } },
    }));
  const recorded = [7, NONE, null, "same", "same", "same 2", { "__proto__": 1 }];
  const tape = [
    ...asked(recorded).map((line) => wrote(line)),
    ...answered(recorded).map((frame) => read(frame)),
    wrote(user("One")),
    read(RESULT),
  ];
  for (const live of [recorded, ["a", "b", 3, NONE, "e", "e", "g"]]) {
    const { said, divergences } = playedTape(tape, [...asked(live), user("One")]);
    assertEquals(divergences, []);
    assertEquals(said, [...answered(live), RESULT]);
  }
  const { said, divergences } = playedTape(tape, asked([1]).concat(asked([NONE])));
  assertEquals(divergences.length > 0, true);
  assertEquals(said.map(({ response }) => Object.keys(Object(response)).includes("request_id")), [
    true,
    false,
  ]);
});

/** Stands for a request that has no id. */
const NONE = Symbol("none");
