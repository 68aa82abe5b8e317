import type { OutputFormat } from "../../wire/output_writer.ts";
import { createOutputWriter } from "../../wire/output_writer.ts";
import { print } from "./print.ts";
import { reportFailure } from "./report_failure.ts";

/**
 * Answers a command line that could not be read, in the output format that it seems to ask for.
 *
 * @returns the exit code
 */
export function refuse(error: unknown, argv: readonly string[]): number {
  const writer = createOutputWriter(formatOf(argv), {
    verbose: argv.includes("--verbose"),
    write: (text) => print(Deno.stdout, text),
  });
  return reportFailure(error, { writer });
}

function formatOf(argv: readonly string[]): OutputFormat {
  const [, format] =
    /^.*\0--output-format[=\0](json|stream-json)\0/s.exec(`\0${argv.join("\0")}\0`) ??
      [];
  return format === "json" || format === "stream-json" ? format : "text";
}
