import { assertEquals, assertStringIncludes } from "@std/assert";
import { dialogFor } from "../../fixtures/mock/dialog.ts";
import { releaseOf } from "../../fixtures/mock/release.ts";
import type { Dialog, DialogName } from "../../fixtures/mock/scenario.ts";
import { StandIn } from "./stand_in.ts";

const UP = "\x1b[A";
const DOWN = "\x1b[B";
const ENTER = "\r";

/** Dialogs that have an answer, as each release draws them. */
const ANSWERED: readonly {
  readonly show: DialogName;
  readonly version: string;
  readonly choice: string;
}[] = [
  { show: "trust_files", version: "2.1.168", choice: "Yes, proceed" },
  { show: "trust_yes", version: "2.1.197", choice: "Yes, I trust this folder" },
  { show: "trust_no", version: "2.1.330", choice: "Yes, I trust this folder" },
  { show: "bypass", version: "2.1.197", choice: "Yes, I accept" },
  { show: "bypass", version: "2.1.330", choice: "Yes, I accept" },
  { show: "add_directory", version: "2.1.330", choice: "Yes, add it" },
  { show: "settings_error", version: "2.1.330", choice: "Continue without these settings" },
  { show: "settings_warning", version: "2.1.330", choice: "Continue" },
  { show: "external_includes", version: "2.1.197", choice: "No, disable external imports" },
  { show: "external_includes", version: "2.1.330", choice: "No, disable external imports" },
];

for (const { show, version, choice } of ANSWERED) {
  Deno.test(`${version}: ${show} is answered with "${choice}", wherever its caret stands`, async () => {
    const { latest } = releaseOf(version);
    const { choices } = dialogFor({ show }, { folder: "/", latest });
    const wanted = choices.findIndex(({ label }) => label === choice);
    await Promise.all(choices.map(async (_, selected) => {
      await using claude = await StandIn.set({ version, dialogs: [{ show, selected }] });
      const run = await claude.print(["hello"]);
      assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
      assertEquals((await claude.journal("dialog")).map(({ chosen }) => chosen), [choice]);
      const steps = wanted - selected;
      const moves = Array<string>(Math.abs(steps)).fill(steps < 0 ? UP : DOWN);
      assertEquals(await claude.keys(), [...moves, ENTER]);
    }));
  });
}

Deno.test("several dialogs are answered one after the other", async () => {
  await using claude = await StandIn.set({
    dialogs: [{ show: "trust_no" }, { show: "settings_warning" }],
  });
  assertEquals((await claude.print(["hello"])).code, 0);
  const chosen = (await claude.journal("dialog")).map((each) => each.chosen);
  assertEquals(chosen, ["Yes, I trust this folder", "Continue"]);
  assertEquals(await claude.keys(), [DOWN, ENTER, ENTER]);
});

const UNKNOWN: Dialog = {
  lines: ["Terms have changed", "", "Claude would like to paint your house."],
  choices: [{ label: "Yes, paint it" }, { label: "No, leave it as it is" }],
  selected: 0,
  numbered: true,
  escape: null,
};

for (const request of [UNKNOWN, { show: "api_key" }, { show: "mcp_servers" }] as const) {
  const name = "show" in request ? request.show : "an unknown one";
  Deno.test(`${name} ends the run with the screen on stderr, and no key is pressed`, async () => {
    await using claude = await StandIn.set({ dialogs: [request] });
    const run = await claude.print(["--output-format", "json", "hello"]);
    assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
    assertEquals(await claude.keys(), []);
    const { lines, choices } = dialogFor(request, { folder: "/", latest: true });
    assertStringIncludes(run.stderr, "a dialog that claude-print does not know");
    assertStringIncludes(run.stderr, "Run claude in this folder");
    for (const text of [...lines, ...choices.map(({ label }) => label)]) {
      assertStringIncludes(run.stderr, text);
    }
  });
}

Deno.test("the login dialog ends the run with how to log in", async () => {
  await using claude = await StandIn.set({
    dialogs: [{
      ...UNKNOWN,
      lines: ["Claude Code can be used with your Claude subscription.", "", "Select login method:"],
      choices: [{ label: "Claude account with subscription" }, { label: "Anthropic Console" }],
    }],
  });
  const { code, stderr } = await claude.print(["hello"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "login dialog\n  Log in once with: claude /login\n");
  assertEquals(await claude.keys(), []);
});
