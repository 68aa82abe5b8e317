import { assertEquals } from "@std/assert";
import { factWarnings, type ToldFacts } from "../../../../src/run/plan/warnings/fact_warnings.ts";
import { judgeFor, readSettingsValue } from "../../../../src/settings/judged_settings.ts";

const ORDER = { answerAlone: true, disallowedTools: [], forwarded: [] };

const NEWEST = "2.1.332";

const FACTS: ToldFacts = {
  settings: [],
  documents: [],
  version: undefined,
  userConfig: { dir: "/u/.claude", claudeJson: "/u/.claude.json", loginDir: "/u/.claude" },
};

/** The first line of each warning. */
const told = (facts: Partial<ToldFacts>, order = {}): readonly (string | undefined)[] =>
  factWarnings({ ...ORDER, ...order }, { ...FACTS, ...facts }).map((text) => text.split("\n")[0]);

Deno.test("factWarnings() tells nothing where nothing is amiss", () => {
  const allow = { permissions: { allow: ["Edit"] } };
  assertEquals(told({ settings: [{ source: "project", values: allow }], sandboxLack: [] }), []);
});

Deno.test("factWarnings() tells how many rules of a project do not count", () => {
  const lines = told({
    settings: [
      {
        source: "project",
        values: { permissions: { allow: ["Edit"], additionalDirectories: ["/a"] } },
      },
      { source: "local", values: { permissions: { allow: ["Edit", "Write"] } } },
    ],
    distrust: { folder: "/w", sources: ["project"] },
  });
  assertEquals(lines.map((line = "") => line.slice(0, line.indexOf(":"))), [
    "Ignoring 1 permissions.allow entry from .claude/settings.json",
    "Ignoring 1 permissions.additionalDirectories entry from .claude/settings.json",
  ]);
});

Deno.test("factWarnings() tells of rules and settings, of files of --add-dir, and of a sandbox, in this order", () => {
  const facts = {
    version: NEWEST,
    documents: [
      {
        source: "user",
        name: "/h/settings.json",
        ...judgeFor(readSettingsValue({ model: 5 }), NEWEST),
      } as const,
    ],
    addedFiles: [{ path: "../g", parent: "/w" }],
    sandboxLack: ["socat"],
  };
  assertEquals(told(facts, { disallowedTools: ["Bogus"] }), [
    'Permission deny rule "Bogus" matches no known tool — check for typos.',
    "These settings did not load, so nothing in them is in effect, including hooks, permission rules and sandbox settings, though environment variables they already set can stay:",
    "../g is not a directory. Did you mean to add the parent directory /w?",
    "Commands run without the sandbox that settings ask for, which takes socat: nothing restricts what they do with files and the network",
  ]);
});
