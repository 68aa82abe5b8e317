import type { CassetteOptions } from "../arguments/parsed_arguments.ts";

/**
 * Works with what a run recorded: replays it, draws it, compares it, goes on with it, scrubs or checks it, or tells what is
 * inside.
 *
 * @returns the exit code: 1 when what was to be the same is not
 */
export async function cassette(options: CassetteOptions): Promise<number> {
  switch (options.action) {
    case "replay": {
      if (options.asProgram !== undefined) {
        const { replayAsProgram } = await import("./replay_as_program.ts");
        return await replayAsProgram({ dir: options.dir, ...options.asProgram });
      }
      const { replayToStdout } = await import("./replay_to_stdout.ts");
      return replayToStdout(options);
    }
    case "program": {
      const { printProgram } = await import("./print_program.ts");
      return printProgram(options);
    }
    case "svg": {
      const { printPicture } = await import("./print_picture.ts");
      return await printPicture(options);
    }
    case "info": {
      const { printInfo } = await import("./print_info.ts");
      return printInfo(options);
    }
    case "diff": {
      const { printDifference } = await import("./print_difference.ts");
      return printDifference(options);
    }
    case "fork": {
      const { forkConversation } = await import("./fork_conversation.ts");
      return await forkConversation(options);
    }
    case "scrub": {
      const { scrubCassettes } = await import("./scrub_cassettes.ts");
      return scrubCassettes(options);
    }
    case "lint": {
      const { lintCassettes } = await import("./lint_cassettes.ts");
      return lintCassettes(options);
    }
    default:
      return options satisfies never;
  }
}
