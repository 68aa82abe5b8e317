import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { concurrently } from "../../faults/concurrently.ts";
import { StandIn, until } from "../stand_in.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";
import { passTime } from "../../time_out.ts";

const PASTE = ["--inject", "paste"];
const HELLO = "Hello from the stand-in.";

/** Pastes a prompt, which has to arrive as it is, and returns the keys that were pressed, and where it was shown. */
async function paste(
  prompt: string,
  scenario: Partial<Scenario> = {},
): Promise<readonly string[]> {
  await using claude = await StandIn.set(scenario);
  const run = await claude.printHere(PASTE, { stdin: prompt });
  assertEquals([run.stderr, run.code, run.stdout], ["", 0, `${HELLO}\n`]);
  const bytes = new TextEncoder().encode(prompt);
  assertEquals(
    (await claude.journal("prompt")).map((each) => [each.origin, each.bytes, each.sha256]),
    [["paste", bytes.length, await sha256(bytes)]],
  );
  const [start] = await claude.journal("start");
  assertEquals(start?.terminals, [true, true, true], "nothing but the terminal is read");
  return await claude.keys({ echoes: true });
}

/** Fails unless a text was pasted, and once it was shown, Enter pressed: once more where a machine is busy for half a second. */
function assertEntered(
  keys: readonly string[],
  { text, version, enters = 1 }: {
    readonly text: string;
    readonly version: string;
    readonly enters?: number;
  },
): void {
  const shown = keys.indexOf("echo");
  assertEquals(keys.slice(0, shown).join(""), `\x1b[200~${text}\x1b[201~`, version);
  const pressed = keys.slice(shown + 1).join("");
  assertEquals(pressed, "\r".repeat(Math.max(pressed.length, enters)), version);
}

/** Does something with every version, all at once: most of the time is waited. */
async function forEachVersion(check: (version: string) => Promise<void>): Promise<void> {
  await concurrently(STAND_IN_VERSIONS, { limit: STAND_IN_VERSIONS.length, each: check });
}

Deno.test("a pasted prompt is entered once it is seen", () =>
  forEachVersion(async (version) => {
    const keys = await paste("hello ünïcödé 👍🏽", { version });
    assertEntered(keys, { text: "hello ünïcödé 👍🏽", version });
  }));

Deno.test("a pasted prompt of many lines and 2 KB arrives whole", () =>
  forEachVersion(async (version) => {
    await paste(`one\n\n  two\n${"0123456789 ünïcödé\n".repeat(100)}❤️\n\nsix`, { version });
  }));

Deno.test("Enter waits for an echo that takes its time", () =>
  forEachVersion(async (version) => {
    const keys = await paste("hello", {
      version,
      paste: { echoMs: 100, swallowsEnter: false, enters: 1 },
    });
    assertEntered(keys, { text: "hello", version });
  }));

Deno.test("Enter is pressed again when it was not enough, the text never", () =>
  forEachVersion(async (version) => {
    const keys = await paste("hello", {
      version,
      paste: { echoMs: 50, swallowsEnter: true, enters: 2 },
    });
    assertEntered(keys, { text: "hello", version, enters: 2 });
  }));

Deno.test("a pasted prompt that the input box would change fails before it is answered", async () => {
  await using claude = await StandIn.set({ version: "2.1.332" });
  const stdin = "0123456789 ünïcödé\n".repeat(5000).trimEnd();
  const run = await claude.printHere([...PASTE, "--output-format", "json"], { stdin });
  assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
  assertStringIncludes(run.stderr, "Claude Code wraps a text of this size in tags\n");
});

Deno.test("a paste that never shows fails the run, and Enter is not pressed", async () => {
  await using claude = await StandIn.set({
    paste: { echoMs: 600_000, swallowsEnter: false, enters: 1 },
  });
  const run = await passTime(
    claude.printHere([...PASTE, "--delivery-timeout", "4", "hello"]),
    until(async () => (await claude.keys()).length > 0, "the prompt is pasted"),
  );
  assertEquals(run.code, 2);
  assertStringIncludes(run.stderr, "the paste did not appear in Claude Code's input box");
  assertEquals(await claude.keys(), ["\x1b[200~hello\x1b[201~"]);
});

const REFUSED: readonly (readonly [string, string])[] = [
  ["tab\there", "U+0009"],
  ["escape \x1b[201~\r", "U+001B"],
  ["CRLF\r\n", "U+000D"],
  ["!ls", "shell command"],
  ["backslash\\", "backslash"],
  ["blanks  ", "white space"],
];

Deno.test("what a paste would change is refused before claude is started", async () => {
  await using claude = await StandIn.set();
  for (const [prompt, reason] of REFUSED) {
    const { code, stderr } = await claude.printHere(PASTE, { stdin: prompt });
    assertEquals(code, 2);
    assertStringIncludes(stderr, "Cannot paste the prompt: ");
    assertStringIncludes(stderr, reason);
    assertStringIncludes(stderr, "Leave out --inject paste");
  }
  assertEquals(await claude.journal("start"), []);
});

Deno.test("control bytes of a prompt on stdin press no keys", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const run = await claude.printHere([], { stdin: "paste end \x1b[201~\r, ^C \x03, ^D \x04" });
  assertEquals(run.code, 0);
  assert(run.stdout.includes("\x1b[201~\r, ^C \x03"));
  assertEquals(await claude.keys(), []);
});
