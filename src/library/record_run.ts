import { parse } from "@std/jsonc/parse";
import deno from "../../deno.json" with { type: "json" };
import { tryReadText } from "../../ffi/files/regular_file.ts";
import { CliError } from "../cli_error.ts";
import { API_FOLDER, type ForkOrigin } from "../recording/cassette/cassette_format.ts";
import { flagsToRecord, inlineSystemPrompts } from "../recording/cassette/recorded_flags.ts";
import { CassetteWriter, claimFolder } from "../recording/cassette/record/write_cassette.ts";
import { Recorder } from "../recording/cassette/record/recorder.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import type { PreparedRun } from "../run/prepare_run.ts";
import { createRedactor } from "../recording/redaction/redact.ts";
import { replaceDescriptors } from "../sandbox/child/passed_credentials.ts";
import { readJsonObject } from "../sandbox/read_json_object.ts";
import type { Environment } from "../sandbox/environment.ts";
import type { ConversationEffect } from "../conversation/output/conversation.ts";
import type { Input } from "../conversation/control/input.ts";
import { absolutePath } from "../paths.ts";

/** The maximum size of a file of settings, in bytes. */
const MAX_SETTINGS_BYTES = 16_000_000;

/** Records one child as a cassette. */
export interface RunRecorder {
  /** Begins the recording, before the child is started. */
  readonly begin: (prepared: PreparedRun) => void;
  /** Records a line of the caller's stdin. */
  readonly callerLine: (line: string) => void;
  readonly input: (input: Input) => void;
  readonly effect: (effect: ConversationEffect) => void;
  /**
   * Ends the recording. Removes the folder if the recording has not begun.
   *
   * @returns the reason when not all of it could be written
   */
  readonly save: () => string | undefined;
}

/** The options of writing a cassette. */
interface RecordOptions {
  readonly env: Environment;
  readonly request: Pick<
    RunRequest,
    | "forwarded"
    | "settings"
    | "mcpConfigs"
    | "outputFormat"
    | "verbose"
    | "permissionMode"
    | "disallowedTools"
    | "betas"
  >;
  /** The recorded conversation that it continues, if any. */
  readonly forkedFrom?: ForkOrigin | undefined;
}

/**
 * Claims the folder for the cassette of a run. No other run can record there from then on.
 *
 * @throws {CliError} when the folder is not empty, another run records there, or it cannot be created
 */
export function recordRun(folder: string, options: RecordOptions): RunRecorder {
  const claimed = claimFolder(folder);
  let recording: Recorder | undefined;
  let writer: CassetteWriter | undefined;
  return {
    begin: (prepared) => {
      const redactor = redactorOf(prepared, options);
      const { os, arch } = Deno.build;
      writer = new CassetteWriter(claimed, {
        version: deno.version,
        platform: `${os}-${arch}`,
        flags: flagsToRecord(collectFlags(options.request, prepared.options)).map(redactor.text),
        forkedFrom: options.forkedFrom,
      });
      const current = writer;
      prepared.relay?.redactWith({
        redact: redactor.text,
        openFrom: redactor.openFrom,
        taken: (secrets) => current.addSecrets(API_FOLDER, secrets),
      });
      recording = new Recorder({
        conversation: prepared.conversation,
        output: { format: options.request.outputFormat, verbose: options.request.verbose },
        term: prepared.env["TERM"] ?? "",
        redactor,
        sink: writer,
      });
    },
    callerLine: (line) => recording?.addCallerLine(line),
    input: (input) => recording?.addInput(input),
    effect: (effect) => recording?.addEffect(effect),
    save: () => {
      const [ended, written] = [recording, writer];
      [recording, writer] = [undefined, undefined];
      try {
        ended?.end();
        if (written?.isBegun) written.close();
        else claimed.release();
        return undefined;
      } catch (error) {
        // The run still has to be torn down.
        return error instanceof CliError
          ? error.message
          : `Cannot write the recording: ${(error as Error).message}`;
      }
    },
  };
}

/** The redactor of secrets in the environment, the flags and the settings of a run. */
function redactorOf(
  prepared: PreparedRun,
  { env, request }: RecordOptions,
): ReturnType<typeof createRedactor> {
  const settings = collectSettings(prepared, request).map((each) => `--settings=${each}`);
  return createRedactor({
    env: { ...replaceDescriptors(env), RUN_SECRET: prepared.sandbox.secret },
    args: [...request.forwarded, ...settings],
  });
}

/** The flags of Claude Code that the run was given, one for each value, with the texts of system prompts. */
function collectFlags(
  { forwarded, permissionMode, disallowedTools, betas, settings }: RecordOptions["request"],
  { initialized, cwd }: PreparedRun["options"],
): readonly string[] {
  return [
    ...inlineSystemPrompts(forwarded, {
      systemPrompt: initialized?.systemPrompt,
      appendSystemPrompt: initialized?.appendSystemPrompt,
      read: (path) => tryReadText(absolutePath(path, cwd), MAX_SETTINGS_BYTES) || undefined,
    }),
    ...(permissionMode === undefined ? [] : [`--permission-mode=${permissionMode}`]),
    ...disallowedTools.map((tools) => `--disallowedTools=${tools}`),
    ...betas.map((beta) => `--betas=${beta}`),
    ...(settings === undefined ? [] : ["--settings"]),
  ];
}

/** All settings that may have secrets in variables and headers, as JSON. A tool may show them, so they are redacted. */
function collectSettings(
  { options: { cwd, mcpConfigs }, userConfig, projectRoot, settings }: PreparedRun,
  request: Pick<RunRequest, "settings">,
): readonly string[] {
  const given = [request.settings ?? "", ...mcpConfigs].map((value) =>
    parseJsonc(
      /^\s*[{[]/u.test(value)
        ? value
        : tryReadText(absolutePath(value, cwd), MAX_SETTINGS_BYTES) ?? "",
    )
  );
  const found = [
    readJsonObject(`${userConfig.dir}/settings.json`),
    readJsonObject(userConfig.claudeJson),
    readJsonObject(`${projectRoot}/.mcp.json`),
    ...settings.map(({ values }) => values),
  ];
  return [...given, ...found].filter((each) => each !== undefined)
    .map((each) => JSON.stringify(each));
}

/** Parses JSON with comments; undefined for a text that is none. */
function parseJsonc(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
