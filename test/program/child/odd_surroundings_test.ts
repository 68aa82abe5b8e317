import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "../../claude_print.ts";
import { missingTool } from "../../missing_tool.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { MOUNT_LACK } from "../mount_lack.ts";
import { PID_NAMESPACE, PID_NAMESPACE_LACK } from "../pid_namespace.ts";
import { StandIn } from "../stand_in.ts";
import { callerLines, CONVERSATION, userMessage } from "../../caller_lines.ts";
import { writeScript } from "../../write_script.ts";
import { inShell } from "../../in_shell.ts";

/**
 * The same around the sources: the runtime of an executable does not get as far as this program with an argument that
 * is not UTF-8, or without /proc.
 */
function aroundSources(line: string) {
  return (command: readonly string[]) =>
    inShell(line)([...CLAUDE_PRINT_SOURCES, ...command.slice(CLAUDE_PRINT.length)]);
}

/** Takes the capabilities from root that open every folder. */
const LIKE_ANYBODY = Deno.uid() === 0
  ? "setpriv --bounding-set=-dac_override,-dac_read_search"
  : "";

const BYTES = "\"$(printf 'a\\377')\"";

/** How the run is started, and its error. */
interface Refusal {
  readonly wrap: (command: readonly string[]) => readonly string[];
  readonly message: string;
  readonly lack?: string | undefined;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "a folder whose path is not UTF-8": {
    wrap: inShell(`mkdir "$HOME"/${BYTES}; cd "$HOME"/${BYTES}; "$@"`),
    message: "Cannot work in the current folder: its path is not UTF-8",
  },
  "a folder that it may not enter": {
    wrap: inShell(`mkdir "$HOME"/in; cd "$HOME"/in; chmod 0 .; ${LIKE_ANYBODY} "$@"; code=$?;
      chmod 700 .; exit $code`),
    message: "Cannot work in HOME/in: Permission denied",
    lack: LIKE_ANYBODY === "" ? undefined : missingTool("setpriv"),
  },
  "an argument that is not UTF-8": {
    wrap: aroundSources(`"$@" --input-file ${BYTES}`),
    message: "argument 7 is not UTF-8",
  },
  "a TMPDIR that is not UTF-8": {
    wrap: inShell(`TMPDIR="$HOME"/${BYTES} "$@"`),
    message: "Cannot use TMPDIR: it is not UTF-8",
  },
  "fewer files than a run takes": {
    wrap: inShell(`ulimit -n 47; "$@"`),
    message: "Cannot run claude: only 47 files may be open at once",
  },
  "a HOME that is not UTF-8": {
    wrap: inShell(`HOME=${BYTES} "$@"`),
    message: "Cannot use HOME: it is not UTF-8",
  },
};

for (const [what, { wrap, message, lack }] of Object.entries(REFUSALS)) {
  Deno.test(skipIfLacking(lack, {
    name: `${what} is refused`,
    fn: async () => {
      await using claude = await StandIn.set();
      const args = ["--output-format", "json", "hello"];
      const { code, result, stderr } = await claude.print(args, { wrap });
      const told = message.replace("HOME/", `${claude.home.path}/`);
      assertEquals([code, result["errors"]], [2, [told]]);
      assertMatch(stderr, /^claude-print: .*\n {2}[A-Z].*\n$/u);
      assertEquals(stderr.split("\n")[0], `claude-print: ${told}`);
    },
  }));
}

Deno.test("variables that are not UTF-8 reach Claude Code", async () => {
  await using claude = await StandIn.set();
  const wrapper = `${claude.home.path}/wrapper`;
  const script = `#!/bin/sh\nprintf %s "$ODD" > "$HOME/odd"; exec ${claude.binary} "$@"\n`;
  await writeScript(wrapper, script);
  const run = await claude.print(["--claude-binary", wrapper, "hello"], {
    namesBinary: false,
    wrap: inShell(`ODD=ä${BYTES} PATH="$PATH":/${BYTES} "$@"`),
  });
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  const bytes = await Deno.readFile(`${claude.home.path}/odd`);
  assertEquals(bytes, Uint8Array.of(0xc3, 0xa4, 0x61, 0xff));
});

/** Folders under an empty mount, the error of a run, and the check of doctor. */
const MISSING = {
  "/proc": ["Cannot tell a run's processes from others: /proc is not mounted", "platform"],
  "/dev/pts": ['Cannot open a pseudo-terminal "/dev/ptmx": ', "pty"],
} as const;

for (const [folder, [lacks, row]] of Object.entries(MISSING)) {
  Deno.test(skipIfLacking(MOUNT_LACK, {
    name: `a run and doctor report a missing ${folder}`,
    fn: async () => {
      await using claude = await StandIn.set();
      const without = aroundSources(`mount -t tmpfs none ${folder}; exec "$@"`);
      const wrap = (command: readonly string[]) => ["unshare", "-rm", ...without(command)];
      const run = await claude.print(["--output-format", "json", "hello"], { wrap });
      assertEquals(run.code, 2);
      assertStringIncludes(run.stderr, lacks);
      assertStringIncludes(`${run.result["errors"]}`, lacks);
      const doctor = await claude.print([], {
        killed: true,
        wrap: (command) =>
          wrap([...command.slice(0, CLAUDE_PRINT.length), "doctor", "--offline", "--json"]),
      });
      const { ok, checks } = JSON.parse(doctor.stdout);
      assertEquals([doctor.code, doctor.stderr, ok], [2, "", false]);
      const { detail } = checks.find(({ name }: { readonly name: string }) => name === row);
      assertStringIncludes(detail, lacks);
    },
  }));
}

for (
  const [how, start, lack] of [
    ["as another process", "", undefined],
    ["in a pid namespace", `exec unshare ${PID_NAMESPACE.join(" ")}`, PID_NAMESPACE_LACK],
  ] as const
) {
  Deno.test(skipIfLacking(lack, {
    name: `a wrapper may start Claude Code ${how}`,
    fn: async () => {
      await using claude = await StandIn.set({ turns: [[{ text: "You said: {prompt}" }]] });
      const wrapper = `${claude.home.path}/wrapper`;
      await writeScript(wrapper, `#!/bin/sh\n${start} ${claude.binary} "$@"\n`);
      const { code, stdout, stderr } = await claude.print(
        [...CONVERSATION, "--claude-binary", wrapper],
        { stdin: callerLines([userMessage("one")]), namesBinary: false },
      );
      assertEquals([code, stderr], [0, ""]);
      assertStringIncludes(stdout, '"result":"You said: one"');
    },
  }));
}
