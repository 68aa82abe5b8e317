import { assertEquals } from "@std/assert";
import {
  blankFlags,
  flagsForFork,
  flagsToRecord,
  inlineSystemPrompts,
} from "../../../src/recording/cassette/recorded_flags.ts";
import { parseMeta } from "../../../src/recording/cassette/read/read_meta.ts";
import { encodeMeta } from "../../../src/recording/cassette/cassette_format.ts";
import { filesBelow, inFolder, makeCassette, scrubAt } from "../lint/scene.ts";

Deno.test("values are recorded only of harmless flags", () => {
  const harmless = [
    ...["--model", "--fallback-model", "--effort", "--betas", "--system-prompt", "--tools"],
    "--disallowedTools",
  ].map((name) => `${name}=x`);
  const switches = ["--disable-slash-commands", "--restricted", "--safe-mode"];
  const session = [
    ...["--resume=1", "--continue", "--fork-session", "--resume-session-at=1"],
    ...["--resume-drops-turn", "--session-id=1"],
  ];
  assertEquals(
    flagsToRecord([
      ...[...harmless, ...switches, ...session, "--permission-mode=dontAsk"],
      "--append-system-prompt=Be kind=er",
      "--permission-mode=plan",
      "--allowedTools=Bash",
      "--allowedTools=Read",
      "--settings",
      "--permission-mode=auto",
      "--mcp-config={}",
      "no flag",
    ]),
    [
      ...[...harmless, ...switches, "--permission-mode=dontAsk"],
      ...["--append-system-prompt=Be kind=er", "--permission-mode=plan"],
      ...["--allowedTools", "--settings", "--permission-mode", "--mcp-config"],
    ],
  );
});

Deno.test("the user's words in flags are blanked with prompts", () => {
  const flags = ["--model=haiku", "--system-prompt=Be Zoe", "--allowedTools"];
  assertEquals(blankFlags(flags, () => "x"), [
    "--model=haiku",
    "--system-prompt=x",
    "--allowedTools",
  ]);
  inFolder((folder) => {
    makeCassette(folder);
    const path = `${folder}/meta.json`;
    const meta = parseMeta(Deno.readTextFileSync(path), { path });
    Deno.writeTextFileSync(path, encodeMeta({ ...meta, flags }));
    scrubAt(folder, { blanked: { prompts: true, answers: false } });
    assertEquals(JSON.parse(filesBelow(folder)["meta.json"] ?? "").flags, [
      "--model=haiku",
      "--system-prompt=xx xxx",
      "--allowedTools",
    ]);
  });
});

Deno.test("system prompts of flags, files and callers are recorded", () => {
  const read = (path: string) =>
    ({ kind: "Be kind", long: "x".repeat(120_001), odd: "a\0b" })[path];
  const recorded = (given: readonly string[], said = {}) =>
    flagsToRecord(inlineSystemPrompts(given, { ...said, read }));
  assertEquals(recorded(["--append-system-prompt-file=kind", "--model=haiku"]), [
    "--model=haiku",
    "--append-system-prompt=Be kind",
  ]);
  assertEquals(recorded(["--system-prompt=Be", "--system-prompt-file=kind"]), [
    "--system-prompt=Be kind",
  ]);
  assertEquals(
    recorded(["--system-prompt-file=kind"], { systemPrompt: "Be", appendSystemPrompt: "brief" }),
    ["--system-prompt=Be", "--append-system-prompt=brief"],
  );
  for (const other of ["long", "odd", "gone"]) {
    assertEquals(recorded([`--system-prompt-file=${other}`]), ["--system-prompt-file"]);
  }
  assertEquals(recorded(["--system-prompt=Be"]), ["--system-prompt=Be"]);
});

Deno.test("a fork takes over no more than 200 recorded flags", () => {
  const long = `--betas=${"x".repeat(200_000)}`;
  const many = [long, ...Array(198).fill("--settings"), "--model=haiku", "--effort=low"];
  assertEquals(flagsForFork(many, { given: new Set(), blanked: [] }), {
    taken: ["--model=haiku"],
    dropped: ["--settings"],
  });
});
