import type { Frame } from "../../claude/wire/frame.ts";
import { isJsonObject, jsonObjects } from "../../json_object.ts";
import { callText, durationText } from "./live_line.ts";
import { shownCall } from "./progress.ts";

/** The maximum number of columns of a tool call. A command may be a long script. */
const MAX_COLUMNS = 200;

interface ProgressLinesOptions {
  /** Takes complete lines. */
  readonly print: (lines: string) => void;
  readonly elapsedMs: () => number;
  /** The working directory. Files below it are named relative to it. */
  readonly cwd: string;
}

/** Prints a line for each tool call of a run, and the output of its shells if there are frames with output. */
export class ProgressLines {
  readonly #options: ProgressLinesOptions;
  /** The incomplete last line of each shell, by the id of its call. */
  readonly #partial = new Map<unknown, string>();

  constructor(options: ProgressLinesOptions) {
    this.#options = options;
  }

  observe(frame: Frame): void {
    if (frame.type === "assistant") this.#printCalls(frame["message"]);
    else if (frame.subtype === "shell_output_delta") this.#printOutput(frame);
  }

  #printCalls(message: unknown): void {
    const { cwd, elapsedMs, print } = this.#options;
    if (!isJsonObject(message)) return;
    for (const { type, name, input } of jsonObjects(message["content"])) {
      if (type !== "tool_use" || typeof name !== "string") continue;
      const call = callText(shownCall(name, input), { cwd, columns: MAX_COLUMNS });
      print(`[${durationText(elapsedMs())}] ${call}\n`);
    }
  }

  /**
   * Prints the complete lines of a shell. An empty text is the shell's last frame: then the incomplete last line is
   * printed, too.
   */
  #printOutput({ tool_use_id: id, text }: Frame): void {
    const written = `${this.#partial.get(id) ?? ""}${text}`;
    const lines = written.split("\n");
    const partial = lines.pop() ?? "";
    if (text === "" && partial !== "") lines.push(partial);
    if (text === "") this.#partial.delete(id);
    else this.#partial.set(id, partial);
    if (lines.length > 0) {
      this.#options.print(lines.map((line) => `  | ${line.replace(/\r$/u, "")}\n`).join(""));
    }
  }
}
