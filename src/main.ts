/**
 * `claude-print`: a drop-in replacement for `claude -p` that drives the interactive Claude Code.
 *
 * ```sh
 * deno run -A --no-config --no-lock jsr:@claude-print/cli -p "Hello"
 * ```
 *
 * Without `--no-config`, a `deno.json` in the current folder could replace the program.
 *
 * @module
 */
import { isCommandName } from "./cli/arguments/command_shapes.ts";
import type { ParsedArguments } from "./cli/arguments/parsed_arguments.ts";
import { isAttended } from "./cli/arguments/lone_word.ts";
import { parseArguments, refuseInvalidUtf8 } from "./cli/arguments/parse_arguments.ts";
import { UnsupportedError } from "./cli_error.ts";
import { print } from "./cli/report/print.ts";
import { reportError } from "./cli/report/report_error.ts";

/** Runs a command line and returns its exit code. */
async function main(argv: readonly string[]): Promise<number> {
  let command;
  try {
    if (argv.some((argument) => argument.includes("\uFFFD"))) {
      await refuseInvalidUtf8(argv);
    }
    await execIfSubcommand(argv);
    command = await parseArguments(argv, { isAttended: isAttended() });
  } catch (error) {
    await execClaudeIfShimmed(error, argv);
    const { reportUsageError } = await import("./cli/report/report_failure.ts");
    return reportUsageError(error, argv);
  }
  try {
    return await carryOut(command, argv);
  } catch (error) {
    await execClaudeIfShimmed(error, argv);
    return reportError(error);
  }
}

/** Loads and runs a command, and returns its exit code. */
async function carryOut(command: ParsedArguments, argv: readonly string[]): Promise<number> {
  switch (command.kind) {
    case "help":
    case "version":
    case "completion":
    case "man":
      print(Deno.stdout, await commandText(command));
      return 0;
    case "run":
      return await (await import("./cli/run/run_command.ts")).run(command.request, argv);
    case "doctor":
      return await (await import("./cli/commands/doctor_command.ts")).doctor(command.options);
    case "sweep":
      return (await import("./cli/commands/sweep_command.ts")).sweepCommand(command.options);
    case "learn":
      return await (await import("./cli/commands/learn_command.ts")).learn(command.options);
    case "shim":
      return (await import("./cli/commands/shim_command.ts")).shim(command.options);
    case "cassette":
      return await (await import("./cli/cassette/cassette_command.ts")).cassette(command.options);
    case "relay":
      return await (await import("./cli/commands/relay_command.ts")).relay(command.options);
    case "drift":
      return await (await import("./cli/drift/drift_command.ts")).drift(command.options);
    case "bisect":
      return await (await import("./cli/drift/bisect_command.ts")).bisect(command.options);
    case "serve": {
      if ("running" in command) {
        return await (await import("./cli/commands/running_server.ts")).askServer(command.running);
      }
      const { serve, serveUnit } = await import("./cli/commands/serve_command.ts");
      return command.unit === undefined ? await serve(command.options) : serveUnit(command.unit);
    }
    case "ps":
      return await (await import("./cli/commands/server_conversations.ts")).ps(command);
    case "new":
      return await (await import("./cli/commands/server_messages.ts")).begin(command);
    case "send":
      return await (await import("./cli/commands/server_messages.ts")).send(command);
    case "answer":
      return await (await import("./cli/commands/server_messages.ts")).answer(command);
    case "interrupt":
      return await (await import("./cli/commands/server_messages.ts")).interrupt(command);
    case "attach":
      return await (await import("./cli/commands/server_conversations.ts")).attach(command);
    case "logs":
      return await (await import("./cli/commands/server_conversations.ts")).logs(command);
    default:
      return command satisfies never;
  }
}

/** Returns the text that a command prints. */
async function commandText(
  command: Extract<
    ParsedArguments,
    { readonly kind: "help" | "version" | "completion" | "man" }
  >,
): Promise<string> {
  switch (command.kind) {
    case "help": {
      if (command.command !== undefined) {
        const { commandHelp } = await import("./cli/help/command_help.ts");
        return commandHelp(command.command, command.action);
      }
      const { helpText, shortHelp } = await import("./cli/help/run_help.ts");
      return command.short ? shortHelp() : helpText();
    }
    case "version":
      return await (await import("./cli/commands/real_claude.ts")).versionText(command);
    case "completion":
      return (await import("./cli/help/completion.ts")).completion(command.shell);
    case "man":
      return (await import("./cli/help/man_page.ts")).manPage();
  }
}

/** Executes the real claude if the shim started this program and the command line is unsupported. */
async function execClaudeIfShimmed(error: unknown, argv: readonly string[]): Promise<void> {
  if (argv[0] !== "--shim-for" || !(error instanceof UnsupportedError)) return;
  const { execClaude } = await import("./cli/commands/real_claude.ts");
  execClaude(argv, error);
}

/**
 * Executes the real claude if the command line is a subcommand of Claude Code, such as `mcp`. Only a lower-case word can be
 * one: for all other prompts nothing is loaded.
 */
async function execIfSubcommand(argv: readonly string[]): Promise<void> {
  // Wrapper scripts put this flag before their own arguments.
  const named = argv[0] === "--claude-binary" ? argv[1] : undefined;
  const args = named === undefined ? argv : argv.slice(2);
  if (isCommandName(argv[0]) || !/^[a-z][a-z-]*$/u.test(args[0] ?? "")) return;
  const { execSubcommand } = await import("./cli/commands/real_claude.ts");
  await execSubcommand(args, { named });
}

/**
 * Makes Deno load its `process` only when more of it than `title` is read, as Node's HTTP client does. @xterm/headless only
 * checks whether `process` exists, and loading Node's modules takes 40 ms of CPU time.
 */
function deferNodeProcess(): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, "process") ?? {};
  const get = (_: unknown, name: string | symbol) => {
    if (name === "title") return "claude-print";
    Object.defineProperty(globalThis, "process", own);
    return Reflect.get(Reflect.get(globalThis, "process"), name);
  };
  Object.defineProperty(globalThis, "process", {
    value: new Proxy({ title: "" }, { get }),
    configurable: true,
    writable: true,
  });
}

if (import.meta.main) {
  deferNodeProcess();
  Deno.exit(await main(Deno.args));
}
