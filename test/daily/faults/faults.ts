import type { Dialog, Scenario } from "../../../fixtures/mock/scenario.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "../../claude_print.ts";
import { MOUNT_LACK } from "../../program/mount_lack.ts";
import { type Ends, type Fault, type Moment, MOMENTS, type Wrap } from "./test_faults.ts";
import { inShell } from "../../in_shell.ts";

const ANSWERED: Ends = { code: 0, subtype: "success" };

/** The same with a short wait for an end of the turn that never comes. */
const ANSWERED_THOUGH_UNTOLD: Ends = { ...ANSWERED, args: ["--drain-timeout", "0.5"] };

/** The cells of a row; a run answers at the moments that are not named. */
function cells(others: Partial<Fault["cells"]>): Fault["cells"] {
  return {
    ...Object.fromEntries(MOMENTS.map((moment) => [moment, ANSWERED])) as Record<Moment, Ends>,
    ...others,
  };
}

/** The child ends in this way. */
function ended(how: string): Ends {
  return {
    code: 2,
    subtype: "internal_error",
    says: new RegExp(`^Claude Code ended before the turn did: ${how}$`),
  };
}

/** A limit that ends the run, with its value in seconds. */
function outOf(
  flag: "timeout" | "start-timeout" | "idle-timeout",
  { seconds, says }: { readonly seconds: number; readonly says: RegExp },
): Ends {
  return {
    code: flag === "start-timeout" ? 2 : 124,
    subtype: flag.replace("-", "_"),
    says,
    args: [`--${flag}`, String(seconds), "--exit-timeout", "0.5"],
  };
}

const TIMED_OUT = outOf("timeout", { seconds: 2, says: /^The run timed out after 2 s$/ });

/** The hooks of the child have no place for their payloads. */
const UNHEARD: Ends = {
  code: 2,
  subtype: "internal_error",
  says: /^Claude Code's hooks cannot tell anything: the run's private folder is full or gone, or /,
};

/** A shell line that does something to the run. */
function doing(run: string): Fault["scenario"] {
  return (at): Partial<Scenario> => ({ sabotage: [{ at, run }] });
}

/** A child that writes to its terminal as fast as it can. */
function flooding(megabytes: number): string {
  return `yes 'flood flood flood' | head -c ${megabytes}M > /dev/tty`;
}

const UNKNOWN_DIALOG: Dialog = {
  lines: ["The moon is full tonight", "", "Do you want to howl?"],
  choices: [{ label: "Howl" }, { label: "Be quiet" }],
  selected: 0,
  numbered: true,
  escape: null,
};

/** Puts TMPDIR on a disk of 1 MB, and exits with 99 if the run leaves something there. */
function onSmallDisk(before = ""): Wrap {
  const script = `mount -t tmpfs -o size=1m none "$TMPDIR"; ${before}
    "$@"; code=$?
    rm -f "$TMPDIR/fill"; [ -z "$(ls -A "$TMPDIR")" ] || exit 99
    exit $code`;
  return (command) => ["unshare", "-rm", ...inShell(script)(command)];
}

/** Fills the disk, and fills it again after a moment. */
const FILL =
  `for _ in $(seq 20); do cat /dev/zero >> "$TMPDIR/fill"; sleep 0.01; done 2> /dev/null`;

/** Lets the calendar jump by a day ten times a second. An executable takes no module, so the sources run in its place. */
const jumping: Wrap = (command) => {
  const isModule = CLAUDE_PRINT[0] === Deno.execPath();
  const [deno = "", run = "", ...sources] = isModule ? CLAUDE_PRINT : CLAUDE_PRINT_SOURCES;
  const preload = ["--preload", `${import.meta.dirname}/jumping_clock.ts`];
  const at = command.findIndex((_, start) =>
    CLAUDE_PRINT.every((word, place) => command[start + place] === word)
  );
  const rest = command.slice(at + CLAUDE_PRINT.length);
  return [...command.slice(0, at), deno, run, ...preload, ...sources, ...rest];
};

/** A warm child may be of another day. */
const JUMPING = { wrap: jumping, outdates: true } as const;

/** Sets the times of the child back by a day. */
const setBack: Wrap = (command) => {
  const preload = `--preload ${import.meta.dirname}/clock_set_back.ts`;
  const script = `sed -i "s#' run #&${preload} #" "$HOME/claude"; exec "$@"`;
  return inShell(script)(command);
};

const ALL_ALONG = { senseless: "the clock jumps all through the other cells of the row" };

/** Another run in the same folder, which has to succeed. */
const OTHER_RUN = `MOCK_CLAUDE_SCENARIO='{}' ${CLAUDE_PRINT.join(" ")} \
  --claude-binary "$HOME/claude" hello || kill -KILL "$CLAUDE"`;

/** A child without its config dir shows the dialogs of a first start. */
const NEW_USER: Ends = {
  code: 2,
  subtype: "internal_error",
  says: /^Claude Code waits for an answer to its .* dialog$/,
};

const NO_TRANSCRIPT_YET = { senseless: "the transcript begins with the session" };

/** Faults of the child, and the end of the run at each moment. */
export const FAULTS: readonly Fault[] = [
  {
    name: "the child is killed",
    scenario: doing('kill -KILL "$CLAUDE"'),
    cells: cells({
      "before start": ended("SIGKILL"),
      "at the dialog": ended("SIGKILL"),
      "at the prompt": ended("SIGKILL"),
      "in a tool": ended("SIGKILL"),
    }),
  },
  {
    name: "the child is stopped by SIGSTOP",
    scenario: doing('kill -STOP "$CLAUDE"'),
    cells: cells({
      "before start": outOf("start-timeout", { seconds: 1, says: /wrote nothing .* in 1 s$/ }),
      "at the dialog": TIMED_OUT,
      "at the prompt": outOf("idle-timeout", { seconds: 1, says: /no sign of life for 1 s$/ }),
      "in a tool": TIMED_OUT,
      "at Stop": { ...ANSWERED, args: ["--exit-timeout", "0.5"] },
      "while forwarding": { ...ANSWERED, args: ["--exit-timeout", "0.5"] },
    }),
  },
  {
    name: "the child floods its terminal",
    scenario: doing(flooding(4)),
    together: ["before start", "in a tool", "at Stop", "while forwarding"],
    cells: cells({
      "at the dialog": outOf("start-timeout", { seconds: 2, says: /was not ready .* in 2 s$/ }),
      "at the prompt": {
        ...ANSWERED,
        scenario: { sabotage: [{ at: "prompt", run: flooding(12) }] },
      },
    }),
  },
  {
    name: "the child ignores signals and keys",
    scenario: (hang) => ({
      hang,
      ignoreSignals: ["SIGINT", "SIGTERM", "SIGHUP"],
      ignoreEscape: true,
    }),
    cells: cells({
      "before start": outOf("start-timeout", { seconds: 1, says: /wrote nothing .* in 1 s$/ }),
      "at the dialog": {
        code: 2,
        subtype: "internal_error",
        says: /^Claude Code waits for an answer to a dialog that claude-print does not know$/,
        args: ["--exit-timeout", "0.5"],
        scenario: { dialogs: [UNKNOWN_DIALOG] },
      },
      "at the prompt": TIMED_OUT,
      "in a tool": TIMED_OUT,
      "at Stop": { ...ANSWERED, args: ["--exit-timeout", "0.5"] },
      "while forwarding": { ...ANSWERED, args: ["--exit-timeout", "0.5"] },
    }),
  },
  {
    name: "the FIFO is removed",
    scenario: doing('rm "$SANDBOX/own/hooks.fifo"'),
    cells: cells({}),
  },
  {
    name: "the config dir is removed",
    scenario: doing('rm -rf "$CLAUDE_CONFIG_DIR"'),
    cells: cells({
      "before start": NEW_USER,
      "at the prompt": ANSWERED_THOUGH_UNTOLD,
      "at Stop": ANSWERED_THOUGH_UNTOLD,
    }),
  },
  {
    name: "the private folder is removed",
    // Not before every payload was read: whether one was is not what is asked here.
    scenario: doing(
      'while ls "$SANDBOX"/own/payloads/[0-9]* 2> /dev/null; do sleep 0.01; done; rm -rf "$SANDBOX"',
    ),
    cells: cells({
      "before start": UNHEARD,
      "at the dialog": UNHEARD,
      "at the prompt": UNHEARD,
      "in a tool": UNHEARD,
    }),
  },
  {
    name: "the disk is full",
    scenario: doing(FILL),
    lack: MOUNT_LACK,
    goesBefore: true,
    cells: cells({
      "before start": {
        code: 2,
        subtype: "internal_error",
        says: /^Cannot .*: No space left on device/,
        scenario: { sabotage: [] },
        wrap: onSmallDisk(FILL),
      },
      "at the dialog": { ...ended("exit code 1"), wrap: onSmallDisk() },
      "at the prompt": {
        ...UNHEARD,
        wrap: onSmallDisk(),
        // A short answer fits into the last page of the file.
        scenario: { turns: [[{ text: "long ".repeat(1000) }]] },
      },
      "in a tool": {
        ...UNHEARD,
        wrap: onSmallDisk(),
        scenario: {
          turns: [[
            { tools: [{ name: "Bash", input: { command: "sleep 0.3" } }] },
            { text: "long ".repeat(1000) },
          ]],
        },
      },
      "at Stop": { ...ANSWERED, wrap: onSmallDisk() },
      "while forwarding": { ...ANSWERED, wrap: onSmallDisk() },
    }),
  },
  {
    name: "the system clock jumps",
    scenario: () => ({}),
    together: ["before start", "at the dialog", "in a tool"],
    cells: cells({
      "before start": { ...ANSWERED, ...JUMPING },
      "at the dialog": { ...ANSWERED, ...JUMPING },
      "at the prompt": { ...TIMED_OUT, ...JUMPING, scenario: { hang: "prompt" } },
      "in a tool": { ...ANSWERED, ...JUMPING },
      "at Stop": { ...ANSWERED, wrap: setBack, args: ["--drain-timeout", "0.5"] },
      "while forwarding": ALL_ALONG,
    }),
  },
  {
    name: "another run begins and ends in the same folder",
    scenario: doing(OTHER_RUN),
    together: MOMENTS,
    cells: cells({}),
  },
  {
    name: "claude is replaced by an update",
    scenario: doing(`printf '#!/bin/sh\\nexit 99\\n' > "$HOME/new"; chmod 755 "$HOME/new"
      mv "$HOME/new" "$HOME/claude"`),
    goesBefore: true,
    together: MOMENTS,
    cells: cells({}),
  },
  {
    name: "the transcript is truncated",
    scenario: doing(': > "$TRANSCRIPT"'),
    together: ["at the prompt", "in a tool", "at Stop", "while forwarding"],
    cells: cells({ "before start": NO_TRANSCRIPT_YET, "at the dialog": NO_TRANSCRIPT_YET }),
  },
  {
    name: "a FIFO stands where the transcript was",
    scenario: doing('rm "$TRANSCRIPT"; mkfifo "$TRANSCRIPT"'),
    cells: cells({
      "before start": NO_TRANSCRIPT_YET,
      "at the dialog": NO_TRANSCRIPT_YET,
      "at the prompt": ANSWERED_THOUGH_UNTOLD,
      "in a tool": ANSWERED_THOUGH_UNTOLD,
      "at Stop": ANSWERED_THOUGH_UNTOLD,
    }),
  },
  {
    name: "all that the child notes of itself has no end",
    scenario: doing(`for file in "$CLAUDE_CONFIG_DIR"/sessions/*.json "$TRANSCRIPT"; do
      [ ! -f "$file" ] || ln -sf /dev/zero "$file"
    done`),
    cells: cells({
      "at the prompt": ANSWERED_THOUGH_UNTOLD,
      "in a tool": ANSWERED_THOUGH_UNTOLD,
      "at Stop": ANSWERED_THOUGH_UNTOLD,
    }),
  },
  {
    name: "the FIFO is flooded",
    scenario: doing('cat /dev/zero > "$SANDBOX/own/hooks.fifo" &'),
    cells: cells({}),
  },
  {
    name: "there is garbage on the FIFO",
    scenario: doing(`{
      head -c 300000 /dev/urandom; echo
      secret=$(sed -n "s/^printf .* '\\([^']*\\)' \\"\\$\\$\\".*/\\1/p" "$SANDBOX/own/hook")
      echo "$secret"; echo "$secret 99999999"; echo "$secret ../../etc/passwd"
      echo '{"hook_event_name":"Stop"' > "$SANDBOX/own/payloads/1"; echo "$secret 1"
      printf 'the beginning of a line'
    } 1<> "$SANDBOX/own/hooks.fifo"`),
    together: MOMENTS,
    cells: cells({}),
  },
];
