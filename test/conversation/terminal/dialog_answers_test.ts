import { assertEquals } from "@std/assert";
import { called, PROMPT, returned } from "../control/lines.ts";
import { caller } from "../control/caller_inputs.ts";
import { BUSY, EXIT, type Given, hook, IDLE, status } from "../control/inputs.ts";
import {
  assertAfter,
  run,
  simulate,
  type Simulation,
  type SimulationOptions,
} from "../control/simulation.ts";

const UP = "\x1b[A";
const DOWN = "\x1b[B";
const ENTER = "\r";
const ESCAPE = "\x1b";
const BROKEN = [
  ...["Files with errors are skipped entirely", ""],
  ...[" ❯ 1. Fix with Claude", "   2. Exit and fix manually"],
  "   3. Continue without these settings",
];
const PERMISSION = ["Do you want to proceed?", " ❯ 1. Yes", "   2. No"];
const ASKS = status("waiting", "permission prompt");

/** The dialog about trust, with its caret on the first choice or on the second one. */
function trust(caret: 0 | 1, choices = ["No, exit", "Yes, I trust this folder"]) {
  const rows = choices.map((choice, at) => ` ${at === caret ? "❯" : " "} ${choice}`);
  return ["Security guide", "", ...rows, ""];
}
const REVERSED = ["Yes, I trust this folder", "No, exit"];

/** A session with a screen on which nothing moves any more. */
function showing(lines: readonly string[], options: SimulationOptions = {}): Simulation {
  const session = simulate(options);
  session.draw(...lines);
  session.show("…");
  session.wait(600);
  return session;
}

/** A turn that shows something and reports a status. */
function inTurn(lines: readonly string[], ...inputs: readonly Given[]): Simulation {
  const session = run({}, BUSY);
  session.draw(...lines);
  session.receive(...inputs);
  return session;
}

function endingAfter(session: Simulation, ms: number) {
  session.wait(ms);
  session.receive(EXIT);
  session.wait(2000);
  return session.ending?.kind;
}

Deno.test("dialog gets one key after each look", () => {
  const session = showing(trust(1, REVERSED));
  assertEquals(session.typed, UP);
  session.draw(...trust(0, REVERSED));
  session.wait(300);
  assertEquals(session.typed, UP + ENTER);
  session.draw("❯ ");
  session.receive(BUSY);
  session.wait(10_000);
  assertEquals(session.typed, UP + ENTER);
});

Deno.test("key without a visible effect is repeated after 2.5 s", () => {
  const session = showing(trust(0));
  session.wait(1900);
  assertEquals(session.typed, DOWN);
  session.wait(600);
  assertEquals(session.typed, DOWN + DOWN);
});

Deno.test("next dialog is answered as soon as it stands", () => {
  const session = showing(trust(0));
  session.draw(...trust(1));
  session.wait(600);
  assertEquals(session.typed, DOWN + ENTER);
  session.draw(...BROKEN);
  session.wait(300);
  assertEquals(session.typed, DOWN + ENTER + DOWN);
});

Deno.test("key that takes effect starts the start limit again", () => {
  const session = showing(trust(0), { startTimeoutMs: 7000 });
  session.wait(2500);
  assertEquals(session.typed, DOWN + DOWN, "the first key had no effect");
  session.draw(...trust(1));
  session.wait(300);
  assertEquals(session.typed, DOWN + DOWN + ENTER);
  session.draw("");
  session.wait(6500);
  assertEquals(session.signals, []);
  assertEquals(endingAfter(session, 500), "not-started");
});

Deno.test("an untrusted folder ends the run at the trust dialog", () => {
  const session = showing(trust(0), { needsTrust: true });
  session.receive(EXIT);
  assertEquals(session.ending?.kind === "dialog" && session.ending.name, "workspace trust");
  assertEquals(session.typed, "");
});

Deno.test("slow start delays the first look", () => {
  const session = simulate();
  session.draw(...trust(1, REVERSED));
  session.wait(2000);
  session.show("…");
  session.wait(3900);
  session.show("…");
  session.wait(3900);
  assertEquals(session.of("look"), []);
  session.wait(100);
  assertEquals(session.typed, UP);
  const short = simulate({ startTimeoutMs: 12_000 });
  short.draw(...trust(1, REVERSED));
  short.wait(8000);
  short.show("…");
  short.wait(1000);
  assertEquals(short.typed, UP, "a short start limit bounds the delay");
});

Deno.test("dialog that does not react ends the run", () => {
  const session = showing(trust(1, REVERSED));
  assertEquals(endingAfter(session, 60_000), "dialog");
  assertEquals(session.typed, UP.repeat(20));
  assertEquals(endingAfter(showing(trust(0), { startTimeoutMs: 4000 }), 11_400), "not-started");
});

Deno.test("unknown dialog ends the run without a key", () => {
  const unknown = ["Shall we?", "", " ❯ 1. Now", "   2. Later", ""];
  const covered = ["Something covers the input box"];
  const login = [
    ...["Select login method:", "", " ❯ 1. Claude account with subscription"],
    "   2. Anthropic Console account",
  ];
  const cases = [
    [showing(unknown), 3300],
    [inTurn(covered, status("waiting", "dialog open")), 10_000],
    [showing(login), 0],
  ] as const;
  for (const [session, ms] of cases) {
    assertEquals([endingAfter(session, ms), session.typed], ["dialog", ""]);
  }
  const [, , [named]] = cases;
  assertEquals(named.ending?.kind === "dialog" && named.ending.name, "login");
});

Deno.test("list in a busy child's answer is no dialog", () => {
  const session = inTurn(["Pick one:", "", " ❯ 1. Now", "   2. Later", ""]);
  session.show("…");
  session.wait(100_000);
  assertEquals(session.signals, []);
});

Deno.test("quoted dialog gets no key, whatever the status", () => {
  for (const name of ["busy", "idle", "waiting"]) {
    const session = run({}, status(name));
    session.draw(...trust(0));
    session.show("…");
    session.wait(60_000);
    assertEquals(session.typed, "", name);
  }
});

Deno.test("dialog is looked at although its turn is reported later", () => {
  for (const sign of [PROMPT, hook("UserPromptSubmit")]) {
    const session = run({}, IDLE, ASKS, sign);
    session.draw("Allow this?", "❯ 1. Yes", "  2. No");
    session.wait(10_000);
    assertEquals([session.of("look").length > 0, session.signals.length > 0], [true, true]);
  }
});

Deno.test("permission on the screen is denied after 11 s", () => {
  const session = inTurn(PERMISSION, ASKS);
  session.wait(10_000);
  assertEquals(session.typed, "");
  session.wait(1000);
  assertEquals(session.typed, ESCAPE);
  const blinking = inTurn(["● Bash", ...PERMISSION], ASKS);
  for (let blink = 0; blink < 11; blink++) {
    blinking.wait(1000);
    blinking.draw(blink % 2 === 0 ? "  Bash" : "● Bash", ...PERMISSION);
  }
  assertEquals(blinking.typed, ESCAPE);
});

Deno.test("permission that the hook denied in time gets no key", () => {
  const session = inTurn(PERMISSION, ASKS);
  session.wait(9000);
  session.draw("❯ ");
  session.receive(BUSY);
  session.wait(60_000);
  assertEquals([session.typed, session.signals], ["", []]);
  // The next one asks the same, and its hook has as long.
  session.draw(...PERMISSION);
  session.receive(ASKS);
  session.wait(9000);
  assertEquals(session.typed, "");
});

const UNCHECKED = [
  " Auto mode can't check actions in this session, so this one needs your approval",
  " Do you want to proceed?",
];
const NO = [...UNCHECKED, " ❯ No", "   Yes", "", " Esc to cancel · Tab to amend"];
const STAYS = [
  ...["─".repeat(80), "  Auto mode can't check actions in this session"],
  "  Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel",
];
const OPEN = status("waiting", "dialog open");

/** What is typed where calls ask on the screen instead of by a hook. */
function unchecked(lines: readonly string[], waiting: Given, ...lineInputs: readonly Given[]) {
  const session = run({ caller: caller({ permissions: true }) }, BUSY, ...lineInputs);
  session.draw(...lines);
  session.receive(waiting);
  session.wait(2500);
  return session;
}

Deno.test("unchecked action of auto mode is declined with a reason", () => {
  const session = unchecked(NO, ASKS, called("toolu_1"));
  assertEquals(session.typed, "\t");
  session.draw(
    ...[...UNCHECKED, " ❯ No, and tell Claude what to do differently", "   Yes", ""],
    " Esc to cancel",
  );
  session.wait(2500);
  assertEquals(session.typed.slice(0, 23), "\t\x1b[200~Nobody can be as");
  session.draw(...UNCHECKED, " ❯ No, Nobody can be asked to", "      approve", "   Yes", "");
  session.wait(2500);
  assertEquals(session.typed.slice(-7), "\x1b[201~\r");
});

Deno.test("Enter is pressed only while one call may ask", () => {
  const two = [called("toolu_1", "toolu_2")];
  const rows = [
    [STAYS, [called("toolu_1")], ENTER],
    [STAYS, two, ESCAPE],
    [NO, two, ESCAPE],
    [STAYS, [...two, returned("toolu_1")], ENTER],
  ] as const;
  for (const [lines, calls, key] of rows) assertEquals(unchecked(lines, OPEN, ...calls).typed, key);
});

Deno.test("command that quotes a dialog does not get its answer", () => {
  const quoting = [...STAYS, ...PERMISSION, "", " Esc to cancel"];
  assertEquals(unchecked(quoting, ASKS, called("toolu_1")).typed, DOWN, "towards No");
});

const SENT = "\x1b[200~hello\x1b[201~\r";

/** A session whose prompt was pasted and sent with Enter, without a sign of its turn. */
function entered(...lines: readonly string[]): Simulation {
  const session = run({ prompt: "hello", inject: "paste" }, IDLE);
  session.show("\x1b[?2004h❯ hello");
  session.draw(...lines);
  return session;
}

Deno.test("Enter is repeated every 600 ms after a paste", () => {
  const session = entered("────", "❯ hello", "────", "  ? for shortcuts");
  assertAfter(600, session, "typed", [SENT, `${SENT}\r`]);
  session.wait(600);
  assertEquals(session.typed, `${SENT}\r\r`);
});

Deno.test("Enter is not repeated while a dialog stands", () => {
  for (const name of ["waiting", "busy", "idle"]) {
    const session = entered(...PERMISSION);
    session.receive(status(name));
    session.wait(9000);
    assertEquals(session.typed, SENT);
    // The prompt may still stand in the input box.
    session.draw("────", "❯ hello", "────");
    session.receive(IDLE);
    session.wait(600);
    assertEquals(session.typed, `${SENT}\r`);
  }
  const unknown = entered("Something new?", "", " ❯ Sure", "   Never");
  unknown.receive(status("waiting"));
  assertEquals([endingAfter(unknown, 4000), unknown.typed], ["dialog", SENT]);
});
