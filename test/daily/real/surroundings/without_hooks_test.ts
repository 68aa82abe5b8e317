import { assertEquals } from "@std/assert";
import type { RecordedName } from "../../../real/as_recorded.ts";
import { forEachVersion, forNewestVersion } from "../../../real/for_each_version.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { writeFiles } from "../../../write_files.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const DENIED = ["--settings", '{"permissions":{"deny":["Bash(printf:*)"]}}'];
/** `--bare` takes no login. */
const KEY = "sk-ant-api03-throwaway-0123456789";
const WITH_KEY = { home: { loggedIn: false, env: { ANTHROPIC_API_KEY: KEY } } };

/** Customizes Claude Code by instructions and a hook. */
async function customize(real: RealClaude): Promise<void> {
  const command = { type: "command", command: `touch ${real.home.path}/hooked` };
  await writeFiles(real.home.project, {
    "CLAUDE.md": "Be brave.",
    ".claude/settings.json": { hooks: { Stop: [{ hooks: [command] }] } },
  });
}

/** The runs of both programs, which have to be the same. */
async function compare(
  real: RealClaude,
  { recorded, args, env = {} }: {
    readonly recorded: RecordedName;
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<readonly JsonObject[]> {
  const ours = await real.printInProcess([...STREAM_FORMAT, ...args], { env });
  const theirs = await real.claudeP([...STREAM_FORMAT, ...args], { env, recorded });
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  assertEquals(ours.code, theirs.code, ours.stderr);
  // 2.1.330 tells hosts with a screen to redraw it.
  const outline = outlineOfFrames(expected).filter((line) => line !== "system/ui_invalidate");
  assertEquals(outlineOfFrames(frames), outline);
  const facts = (all: readonly JsonObject[]) =>
    JSON.parse(JSON.stringify(factsOfResult(all.at(-1) ?? {})).replace(/toolu_\w+/gu, "toolu"));
  assertEquals(facts(frames), facts(expected));
  const told = (all: readonly JsonObject[]) => {
    const { permissionMode, memory_paths, model } = all.find(({ subtype }) => subtype === "init") ??
      {};
    // Versions before 2.1.330 do not report the size of the window.
    return { permissionMode, memory_paths, model: `${model}`.replace("[1m]", "") };
  };
  assertEquals(told(frames), told(expected));
  return frames;
}

const WORK = "[[bash echo one]] [[bash touch made]] [[bash printf two]] [[say end]]";

for (
  const { flag, register, options, key } of [
    { flag: "--bare", register: forEachVersion, options: WITH_KEY, key: KEY },
    { flag: "--safe-mode", register: forNewestVersion, options: {}, key: undefined },
  ]
) {
  register(
    `${flag} runs no hooks`,
    async (real) => {
      await customize(real);
      const done = await compare(real, {
        recorded: `without_hooks/done${flag}`,
        args: [flag, "--permission-mode", "dontAsk", ...DENIED, "--", WORK],
      });
      assertEquals((done.at(-1)?.permission_denials as readonly unknown[]).length, 2);
      // Failures and variables are the same with both flags.
      if (flag === "--safe-mode") {
        const failed = await compare(real, {
          recorded: `without_hooks/failed${flag}`,
          args: ["--", "Go. [[bash echo one]] [[error 400 no-retry bad]]"],
          env: { CLAUDE_CODE_SAFE_MODE: "1" },
        });
        assertEquals(failed.at(-1)?.is_error, true);
      }
      const left = [real.home.path, real.home.project].flatMap((folder) =>
        [...Deno.readDirSync(folder)].map(({ name }) => name)
      );
      assertEquals(left.filter((name) => name === "hooked" || name === "made"), []);
      for (const { text, headers } of real.api.turns) {
        assertEquals(text.includes("Be brave"), false);
        assertEquals(headers["x-api-key"], key);
      }
    },
    options,
  );
}
