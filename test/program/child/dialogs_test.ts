import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Dialog, DialogName, DialogRequest } from "../../../fixtures/mock/scenario.ts";
import { dialogFor } from "../../../fixtures/mock/screen/dialog.ts";
import { concurrently } from "../../concurrently.ts";
import { StandIn } from "../stand_in.ts";
import { callerLines, CONVERSATION, userMessage } from "../../caller_lines.ts";
import { writeFiles } from "../../write_files.ts";

const UP = "\x1b[A";
const DOWN = "\x1b[B";
const ENTER = "\r";

/** Dialogs that have an answer. */
const ANSWERED: readonly { readonly show: DialogName; readonly choice: string }[] = [
  { show: "trust_no", choice: "Yes, I trust this folder" },
  { show: "bypass", choice: "Yes, I accept" },
  { show: "api_key", choice: "Yes" },
  { show: "add_directory", choice: "Yes, add it" },
  { show: "settings_error", choice: "Continue without these settings" },
  { show: "settings_warning", choice: "Continue" },
  { show: "external_includes", choice: "No, disable external imports" },
];

Deno.test("every known dialog is answered, wherever its caret is", async () => {
  const shown = ANSWERED.map((dialog) => {
    const labels = dialogFor(dialog, "/").choices.map(({ label }) => label);
    return { ...dialog, labels, wanted: labels.indexOf(dialog.choice) };
  });
  const most = Math.max(...shown.map(({ labels }) => labels.length));
  await concurrently(Array.from({ length: most }, (_, place) => place), {
    limit: most,
    each: async (place) => {
      const dialogs = shown.map(({ show, labels, wanted }) => {
        const selected = place % labels.length;
        return { show, selected, steps: wanted - selected };
      });
      await using claude = await StandIn.set({ dialogs });
      const run = await claude.printInProcess(["hello"]);
      assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"], run.stderr);
      const chosen = (await claude.journal("dialog")).map((each) => each.chosen);
      assertEquals(chosen, shown.map(({ choice }) => choice));
      const keys = dialogs.flatMap(({ steps }) => [
        ...Array<string>(Math.abs(steps)).fill(steps < 0 ? UP : DOWN),
        ENTER,
      ]);
      assertEquals(await claude.keys(), keys);
    },
  });
});

Deno.test("a command at the start waits for the dialogs", async () => {
  const turns = [[{ text: "{prompt}" }]];
  await using claude = await StandIn.set({ version: "2.1.332", turns });
  const hooks = { Nonsense: [{ hooks: [{ type: "command", command: "true" }] }] };
  await writeFiles(claude.home.project, { ".claude/settings.json": { hooks } });
  const run = await claude.print([...CONVERSATION, "--delivery-timeout", "300"], {
    stdin: callerLines([userMessage("/init")]),
    warns: true,
  });
  assertEquals([run.code, run.result["result"]], [0, "/init"], run.stderr);
  assertEquals((await claude.journal("dialog")).map(({ chosen }) => chosen), ["Continue"]);
  const around = (await claude.keys()).join("").split("\x1b[200~/init\x1b[201~");
  assertEquals(around.map((keys) => [...new Set(keys)]), [[ENTER], [ENTER]]);
});

const UNKNOWN: Dialog = {
  lines: ["Terms have changed", "", "Claude would like to paint your house."],
  choices: [{ label: "Yes, paint it" }, { label: "No, leave it as it is" }],
  selected: 0,
  numbered: true,
  escape: null,
};

/** Checks that a dialog ends the run with its text on stderr, and that no key is pressed. */
async function assertEnds(
  request: DialogRequest,
  words: { readonly message: string; readonly suggestion: string },
): Promise<void> {
  await using claude = await StandIn.set({ dialogs: [request] });
  const run = await claude.printInProcess(["--output-format", "json", "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
  assertEquals(await claude.keys(), []);
  const { message, suggestion } = words;
  assertStringIncludes(
    run.stderr,
    `Claude Code waits for an answer to ${message}\n  ${suggestion}`,
  );
  const { lines, choices } = dialogFor(request, "/");
  for (const text of [...lines, ...choices.map(({ label }) => label)]) {
    assertStringIncludes(run.stderr, text);
  }
}

const NOT_KNOWN = "a dialog that claude-print does not know";
/** The pure tests have the other dialogs. */
const UNANSWERED: readonly (readonly [DialogRequest, string, string])[] = [
  [UNKNOWN, NOT_KNOWN, "Run claude in this folder"],
  // No supported version has the trust dialog of old any more.
  [{ show: "trust_files" }, NOT_KNOWN, "Run claude in this folder"],
  [{ show: "onboarding" }, "its first start dialog", "Go through the first start of Claude Code"],
];

Deno.test("a dialog without an answer ends the run", () =>
  concurrently(UNANSWERED, {
    limit: 3,
    each: ([request, message, suggestion]) => assertEnds(request, { message, suggestion }),
  }));

const DA1_ANSWER = "\x1b[?6c";

/** Probes of the child: unknown ones, and DA1 in both spellings. */
const PROBES = [
  ...["\x1b[?9999$p", "\x1b]7777;?\x07", "\x1b[=c", "\x1bP+q544e\x1b\\", "\x1b_G?\x1b\\"],
  ...["\x1b[0c", "text", "\x1b[c", "\x1b[c"],
];

Deno.test("only DA1 of the child's probes is answered", async () => {
  for (const [probes, times] of [[{}, 1], [{ probes: PROBES }, 3]] as const) {
    await using claude = await StandIn.set({ awaitDa1: true, ...probes });
    const run = await claude.printInProcess(["hello"]);
    assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
    const keys = (await claude.journal("keys"))
      .map(({ base64 }) => new TextDecoder().decode(Uint8Array.fromBase64(base64)));
    assertEquals(keys.join(""), DA1_ANSWER.repeat(times));
  }
});
