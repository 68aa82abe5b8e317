import { type Entry, parseEntry } from "../../../src/claude/transcript/entry.ts";
import type { JsonObject } from "../../../src/json_object.ts";

/** What the interactive Claude Code and `claude -p` of one version made of the same prompt. */
export interface Recording {
  readonly version: string;
  readonly name: string;
  /** The bytes of the interactive session's transcript. */
  readonly transcript: Uint8Array;
  readonly entries: readonly Entry[];
  readonly run: {
    readonly cwd: string;
    readonly claudeJson: unknown;
    /** The payloads of the hooks, in order. */
    readonly hooks: readonly JsonObject[];
    readonly print: { readonly json: string; readonly text: string; readonly exitCode: number };
  };
  /** The frames of `claude -p --output-format stream-json --verbose`. */
  readonly frames: readonly JsonObject[];
}

const FOLDER = new URL("../../../fixtures/transcripts/", import.meta.url);

/** Transcripts that versions before the support window wrote. Their sessions can still be resumed. */
export const OLD_TRANSCRIPTS = ["2.1.168/denied", "2.1.197/background"] as const;

/** Lists the recordings as `version/name`, sorted. */
export function recordingNames(): readonly string[] {
  const names: string[] = [];
  for (const version of Deno.readDirSync(FOLDER)) {
    if (!version.isDirectory) continue;
    for (const { name } of Deno.readDirSync(new URL(`${version.name}/`, FOLDER))) {
      names.push(`${version.name}/${name}`);
    }
  }
  return names.filter((name) => !OLD_TRANSCRIPTS.some((old) => old === name)).sort();
}

/** Reads one recording, named `version/name`. */
export function readRecording(path: string): Recording {
  const folder = new URL(`${path}/`, FOLDER);
  const [version = "", name = ""] = path.split("/");
  return {
    version,
    name,
    ...readTranscript(path),
    run: JSON.parse(Deno.readTextFileSync(new URL("run.json", folder))),
    frames: Deno.readTextFileSync(new URL("print.jsonl", folder)).split("\n")
      .filter((line) => line !== "").map((line) => JSON.parse(line)),
  };
}

/** Reads the transcript of a recording or of an old version. */
export function readTranscript(path: string): Pick<Recording, "transcript" | "entries"> {
  const transcript = Deno.readFileSync(new URL(`${path}/transcript.jsonl`, FOLDER));
  return { transcript, entries: entriesOf(new TextDecoder().decode(transcript)) };
}

/** Reads a subagent's transcript of a recording and what Claude Code wrote about it. */
export function readSubagent(
  path: string,
): { readonly entries: readonly Entry[]; readonly about: Readonly<Record<string, string>> } {
  const folder = new URL(`${path}/`, FOLDER);
  return {
    entries: entriesOf(Deno.readTextFileSync(new URL("subagent.jsonl", folder))),
    about: JSON.parse(Deno.readTextFileSync(new URL("subagent.json", folder))),
  };
}

function entriesOf(text: string): readonly Entry[] {
  return text.split("\n").map(parseEntry).filter((entry) => entry !== undefined);
}
