import { assertEquals } from "@std/assert";
import { called, returned } from "../../transcript/lines.ts";
import { simulate, type Simulation } from "../simulation.ts";

const DOWN = "\x1b[B";
const ENTER = "\r";
const ESCAPE = "\x1b";

const TRUST = ["Security guide", "", " ❯ No, exit", "   Yes, I trust this folder", ""] as const;
const TRUSTED = ["Security guide", "", "   No, exit", " ❯ Yes, I trust this folder", ""] as const;
const BROKEN = [
  "Files with errors are skipped entirely",
  "",
  " ❯ 1. Fix with Claude",
  "   2. Exit and fix manually",
  "   3. Continue without these settings",
] as const;
const PERMISSION = ["Do you want to proceed?", " ❯ 1. Yes", "   2. No"] as const;

/** A session with a screen on which nothing moves any more. */
function showing(...lines: readonly string[]): Simulation {
  const session = simulate();
  session.draw(...lines);
  session.show("…");
  session.wait(600);
  return session;
}

function status(session: Simulation, name: string, waitingFor?: string): void {
  session.hear({
    type: "status",
    status: name,
    ...(waitingFor === undefined ? {} : { waitingFor }),
  });
}

/** A session in the middle of a turn that asks for a permission. */
function asking(...lines: readonly string[]): Simulation {
  const session = simulate();
  status(session, "busy");
  session.draw(...lines, ...PERMISSION);
  status(session, "waiting", "permission prompt");
  return session;
}

Deno.test("a key that has not shown yet is not pressed again in haste", () => {
  const session = showing(...TRUST);
  session.wait(1900);
  assertEquals(session.typed(), DOWN);
  session.wait(600);
  assertEquals(session.typed(), DOWN + DOWN);
});

Deno.test("the next dialog is answered as soon as it stands", () => {
  const session = showing(...TRUST);
  session.draw(...TRUSTED);
  session.wait(300);
  assertEquals(session.typed(), DOWN + ENTER);
  session.wait(300);
  session.draw(...BROKEN);
  session.wait(300);
  assertEquals(session.typed(), DOWN + ENTER + DOWN);
});

Deno.test("a permission is left to the hook for a while, and then denied", () => {
  const session = asking();
  session.wait(10_000);
  assertEquals(session.typed(), "");
  session.wait(1000);
  assertEquals(session.typed(), ESCAPE);
});

Deno.test("a permission that the hook denies in time is not touched", () => {
  const session = asking();
  session.wait(9000);
  session.draw("❯ ");
  status(session, "busy");
  session.wait(60_000);
  assertEquals([session.typed(), session.signals()], ["", []]);
});

Deno.test("what blinks above a permission does not put its denial off", () => {
  const session = asking("● Bash");
  for (let blink = 0; blink < 11; blink++) {
    session.wait(1000);
    session.draw(blink % 2 === 0 ? "  Bash" : "● Bash", ...PERMISSION);
  }
  assertEquals(session.typed(), ESCAPE);
});

Deno.test("a quoted dialog is not answered, whatever the child says of itself", () => {
  for (const name of ["busy", "idle", "waiting"]) {
    const session = simulate();
    session.draw(...TRUST);
    status(session, name);
    session.show("…");
    session.wait(60_000);
    assertEquals(session.typed(), "", name);
  }
});

const UNCHECKED = [
  " Auto mode can't check actions in this session, so this one needs your approval",
  " Do you want to proceed?",
] as const;
const NO = [...UNCHECKED, " ❯ No", "   Yes", "", " Esc to cancel · Tab to amend"] as const;
const OPENED = [
  ...UNCHECKED,
  " ❯ No, and tell Claude what to do differently",
  "   Yes",
  "",
  " Esc to cancel",
] as const;
const STAYS = [
  "─".repeat(80),
  "  Auto mode can't check actions in this session",
  "  Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel",
] as const;

/** A session whose caller is asked for permissions, and whose calls ask on the screen without it. */
function unchecked(...calls: readonly string[]): Simulation {
  const session = simulate({ caller: { idPrefix: "q", callbacks: [], permissions: true } });
  status(session, "busy");
  session.hear(called(...calls));
  return session;
}

Deno.test("an action that auto mode cannot check is declined with the reason", () => {
  const session = unchecked("toolu_1");
  session.draw(...NO);
  status(session, "waiting", "permission prompt");
  session.wait(2500);
  assertEquals(session.typed(), "\t");
  session.draw(...OPENED);
  session.wait(2500);
  assertEquals(session.typed().slice(0, 23), "\t\x1b[200~Nobody can be as");
  session.draw(...UNCHECKED, " ❯ No, Nobody can be asked to", "      approve", "   Yes", "");
  session.wait(2500);
  assertEquals(session.typed().slice(-7), "\x1b[201~\r");
});

Deno.test("auto mode without its check is kept on", () => {
  const session = unchecked("toolu_1");
  session.draw(...STAYS);
  status(session, "waiting", "dialog open");
  session.wait(900);
  assertEquals(session.typed(), "");
  session.wait(1600);
  assertEquals(session.typed(), ENTER);
});

Deno.test("a command that quotes a dialog is not allowed by its answer", () => {
  const session = unchecked("toolu_1");
  session.draw(...STAYS, ...PERMISSION, "", " Esc to cancel");
  status(session, "waiting", "permission prompt");
  session.wait(2500);
  assertEquals(session.typed(), DOWN, "towards No");
});

Deno.test("Enter is not pressed while another call may ask on the screen", () => {
  for (const screen of [NO, STAYS]) {
    const session = unchecked("toolu_1", "toolu_2");
    session.draw(...screen);
    status(session, "waiting", "dialog open");
    session.wait(2500);
    assertEquals(session.typed(), ESCAPE);
  }
  const session = unchecked("toolu_1", "toolu_2");
  session.hear(returned("toolu_1"));
  session.draw(...STAYS);
  status(session, "waiting", "dialog open");
  session.wait(2500);
  assertEquals(session.typed(), ENTER);
});

Deno.test("a dialog without an answer ends the run at once, by its name", () => {
  const session = showing(
    "Select login method:",
    "",
    " ❯ 1. Claude account with subscription",
    "   2. Anthropic Console account",
  );
  session.hear({ type: "exit", exit: { kind: "signaled", signal: 15 } });
  const ending = session.ending();
  assertEquals(ending?.kind === "dialog" && ending.name, "login");
  assertEquals(session.typed(), "");
});

/** A session whose prompt was pasted and sent off, of which nothing has been heard yet. */
function entered(): Simulation {
  const session = simulate({ prompt: "hello", inject: "paste" });
  status(session, "idle");
  session.show("\x1b[?2004h❯ hello");
  return session;
}

const SENT = "\x1b[200~hello\x1b[201~\r";

Deno.test("Enter is pressed again after a paste while nothing is asked", () => {
  const session = entered();
  session.draw("────", "❯ hello", "────", "  ? for shortcuts");
  session.wait(500);
  assertEquals(session.typed(), SENT);
  session.wait(100);
  assertEquals(session.typed(), `${SENT}\r`);
  session.wait(600);
  assertEquals(session.typed(), `${SENT}\r\r`);
});

for (const told of ["waiting", "busy", "idle"]) {
  Deno.test(`Enter is not pressed again after a paste on a dialog, though the child says ${told}`, () => {
    const session = entered();
    session.draw("Do you want to proceed?", " ❯ 1. Yes", "   2. No");
    status(session, told);
    session.wait(9000);
    assertEquals(session.typed(), SENT);
    // Once it is gone, the prompt may still stand in the input box.
    session.draw("────", "❯ hello", "────");
    status(session, "idle");
    session.wait(600);
    assertEquals(session.typed(), `${SENT}\r`);
  });
}

Deno.test("Enter is not pressed again after a paste on a screen that nobody knows and that waits", () => {
  const session = entered();
  session.draw("Something new?", "", " ❯ Sure", "   Never");
  status(session, "waiting");
  session.wait(4000);
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  session.wait(2000);
  assertEquals([session.typed(), session.ending()?.kind], [SENT, "dialog"]);
});
