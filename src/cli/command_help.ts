/** The commands of the program's own. */
export type CommandName = "doctor" | "sweep";

const HELP: Readonly<Record<CommandName, string>> = {
  doctor: `Usage: claude-print doctor [flags]

Looks whether runs will work here: a line for each thing that they need, with
what to do if it is not well.

Flags:
  --offline                    Leave the API alone
  --run                        Send one real prompt, and tell how long it took
  --json                       One JSON object instead of lines
  --claude-binary <path>       The Claude Code to look at (default: on PATH)

Exit codes:
  0    all is well
  2    something is not
`,
  sweep: `Usage: claude-print sweep [flags]

Removes what runs left behind that were killed or lost power, after bringing
home the transcripts that they could not. A run that is alive is never touched.

Flags:
  --dry-run                    Only say what would be done
  --json                       One JSON object instead of lines
`,
};

/** The text of `claude-print doctor --help` and its like, at most 80 columns wide. */
export function commandHelp(command: CommandName): string {
  return HELP[command];
}
