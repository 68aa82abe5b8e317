/**
 * `claude-print`: a drop-in replacement for `claude -p` that drives the interactive Claude Code.
 *
 * @module
 */
import { print } from "./commands/print.ts";
import { reportError } from "./commands/report_error.ts";
import { parseArguments } from "./cli/parse_arguments.ts";

/** Runs a command line and returns its exit code. */
async function main(argv: readonly string[]): Promise<number> {
  let command;
  try {
    command = await parseArguments(argv);
  } catch (error) {
    const { refuse } = await import("./commands/refuse.ts");
    return refuse(error, argv);
  }
  try {
    switch (command.kind) {
      case "help": {
        if (command.command !== undefined) {
          const { commandHelp } = await import("./cli/command_help.ts");
          print(Deno.stdout, commandHelp(command.command));
          return 0;
        }
        const { helpText } = await import("./cli/help.ts");
        print(Deno.stdout, helpText());
        return 0;
      }
      case "version": {
        const { versionLine } = await import("./commands/version.ts");
        print(Deno.stdout, `${await versionLine(command)}\n`);
        return 0;
      }
      case "run": {
        const { run } = await import("./commands/run.ts");
        return await run(command.request);
      }
      case "doctor": {
        const { doctor } = await import("./commands/doctor.ts");
        return await doctor(command.options);
      }
      case "sweep": {
        const { sweepCommand } = await import("./commands/sweep.ts");
        return sweepCommand(command.options);
      }
      default:
        return command satisfies never;
    }
  } catch (error) {
    return reportError(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
