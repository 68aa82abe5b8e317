import {
  type CassetteSurvey,
  surveyCassette,
} from "../../recording/cassette/read/survey_cassette.ts";
import { laterChildOf } from "../../recording/relay/exchange_folder.ts";
import { count, print, printLines, stringifyVisibly } from "../report/print.ts";
import type { ForkOrigin } from "../../recording/cassette/cassette_format.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { CliError } from "../../cli_error.ts";
import { openConversation } from "../../recording/cassette/read/open_cassette.ts";
import {
  compareConversations,
  type ConversationComparison,
  conversationSteps,
  type FirstDifference,
  type RecordedStep,
  type StepContent,
  stepsOnTape,
} from "../../recording/cassette/compare_conversations.ts";
import { readTurns, type RecordedTurns } from "../../recording/cassette/recorded_turns.ts";
import { problemText } from "../report/report_error.ts";

/** Prints the contents of a cassette, in lines or as one JSON object. */
export function printInfo({ dir, json }: { readonly dir: string; readonly json: boolean }): number {
  const survey = surveyCassette(dir);
  printLines(`${json ? stringifyVisibly(survey) : formatInfo(survey, laterChildOf(dir))}\n`);
  return 0;
}

/** A name and its value; undefined for a missing part. */
type Row = readonly [name: string, value: string | undefined];

/**
 * Formats the contents of a cassette, for a person.
 *
 * @param of the first child's cassette and the number of the child, for a cassette of a later child
 */
export function formatInfo(
  { meta, parts, ...survey }: CassetteSurvey,
  of?: { readonly first: string; readonly number: number },
): string {
  const { size } = meta;
  const made = [
    `Claude Code ${meta.claude_code ?? "of an unknown version"}`,
    ...(meta.claude_print === undefined ? [] : [`claude-print ${meta.claude_print}`]),
    ...(meta.platform === undefined ? [] : [meta.platform]),
    ...(size === undefined ? [] : [`${size.cols}x${size.rows} cells`]),
  ];
  const { "child.cast": cast, "tape.jsonl": tape, "meta.json": file, api } = parts;
  const { ended, frames, durationMs, turns, further } = survey;
  const end = ended !== undefined
    ? `${ended.how}, exit code ${ended.exitCode}`
    : cast === undefined
    ? "how is not known without child.cast"
    : "the recording stops before its end";
  const scrubbed = Object.entries(meta.scrubbed ?? {})
    .map(([name, secrets]) => `${count(secrets, "secret")} in ${name}`);
  const taken = [...scrubbed, ...(meta.blanked ?? []).map((what) => BLANKED_NAMES[what] ?? what)];
  const ways = [
    ...(cast === undefined ? [] : ["as the world"]),
    ...(tape === undefined ? [] : ["as the program"]),
    ...(api?.exchanges === 0 || (api ?? of) === undefined ? [] : ["as the API"]),
  ];
  // A folder with only answers of the API is not the recording of a run.
  const isRun = (cast ?? tape ?? file) !== undefined;
  const ofRun = (...rows: readonly Row[]) => isRun ? rows : [];
  const rows: readonly Row[] = [
    ...ofRun(
      [
        "format",
        meta.format?.toString() ??
          (cast === undefined ? "unknown" : "from before there were versions"),
      ],
      ["made by", made.join(", ")],
      ["recorded", `${meta.when ?? "at an unknown time"}, for ${(durationMs / 1000).toFixed(3)} s`],
      ...forkRows(meta.forked_from),
    ),
    ["child.cast", cast && `${count(cast.events, "event")}, ${cast.bytes} bytes`],
    [
      "tape.jsonl",
      tape && `${count(tape.frames, "frame")} and ${count(tape.lines, "line")} of the caller, ` +
        `${tape.bytes} bytes`,
    ],
    ["meta.json", file && `${file.bytes} bytes`],
    ["api", api === undefined ? of && `that of ${of.first}` : describeExchanges(api)],
    ...ofRun(
      ["frames", Object.entries(frames).map(([kind, number]) => `${number} ${kind}`).join(", ")],
      ["ended", `${count(turns, "turn")}, ${end}`],
      ["taken out", taken.length === 0 ? "unknown" : taken.join(", ")],
    ),
    ...(of === undefined ? [] : [["part of", `${of.first}, Claude Code ${of.number}`] as const]),
    ...(further === undefined
      ? []
      : [["goes on in", `${further.join(", ")}, with another Claude Code each`] as const]),
    ["replays", ways.length === 0 ? "in no way" : ways.join(", ")],
  ];
  return rows.map(([name, value]) => escapeInvisible(`${name.padEnd(11)} ${value ?? "missing"}`))
    .join("\n");
}

function describeExchanges(
  { exchanges, broken }: NonNullable<CassetteSurvey["parts"]["api"]>,
): string {
  const all = count(exchanges, "exchange");
  return broken === undefined ? all : `${all}, ${broken} of them broken off with the run`;
}

function forkRows(origin: ForkOrigin | undefined): readonly Row[] {
  if (origin === undefined) return [];
  const { cassette, when, turn } = origin;
  const recorded = when === undefined ? "" : `, recorded ${when}`;
  return [["forked from", `${cassette}${recorded}, behind turn ${turn}`]];
}

/** The parts that `cassette scrub` removes, in addition to secrets. */
const BLANKED_NAMES: Readonly<Record<string, string>> = {
  traces: "names and paths of the machine",
};

const BY_TAPE = "Compared by their tapes, on which the prompt of a run of one prompt is not";

/**
 * Prints the first difference between two recorded conversations, in words or as one JSON object.
 *
 * @returns the exit code: 1 for a difference
 */
export function printDifference(
  { dir, other, json }: { readonly dir: string; readonly other: string; readonly json: boolean },
): number {
  const casts = [readCasts(dir), readCasts(other)];
  const byTape = casts.includes(undefined);
  const [one, another] = byTape
    ? [readTapeSteps(dir), readTapeSteps(other)]
    : casts.map((each = []) => conversationSteps(each));
  const comparison: ConversationComparison = compareConversations(one ?? [], another ?? []);
  const text = json
    ? stringifyVisibly({ same: comparison.parting === undefined, ...comparison })
    : formatDifference(comparison, [dir, other]);
  printLines(`${text}\n`);
  if (byTape) print(Deno.stderr, problemText({ message: BY_TAPE }));
  return comparison.parting === undefined ? 0 : 1;
}

/** Reads the turns of each child of a conversation; undefined if a child has no cast. */
function readCasts(folder: string): readonly RecordedTurns[] | undefined {
  const { children } = openConversation(folder);
  const casts = children.flatMap((child) => "cast" in child ? [readTurns(child.cast)] : []);
  return casts.length === children.length ? casts : undefined;
}

/** Reads the steps of a conversation from its tapes, to compare it with one that has no cast. */
function readTapeSteps(folder: string): readonly RecordedStep[] {
  const { children } = openConversation(folder, { byTape: true });
  const tapes = children.flatMap((child) => "tape" in child ? [child.tape] : []);
  if (tapes.length === children.length) return stepsOnTape(tapes.flat());
  throw new CliError(`Cannot compare ${folder}: some of its recordings have no tape.jsonl`, {
    suggestion: "Restore the file from a copy, or the child.cast of the other one",
  });
}

/** The maximum number of printed characters of a step. */
const MAX_STEP_LENGTH = 200;

/** A text about each of the two conversations. */
type Sides = readonly [one: string, other: string];

/**
 * Formats the comparison of two conversations, for a person.
 *
 * @param names the names of the conversations
 */
export function formatDifference(
  { common, turns, models, parting }: ConversationComparison,
  names: Sides,
): string {
  const shared = `${count(common.turns, "turn")} and ${count(common.steps, "step")}`;
  const both = (sides: Sides) => sides.map((side, index) => `  ${names[index]}: ${side}`);
  const spoken = models.map((each) => each.join(", ") || "none") as [string, string];
  const lines = parting === undefined ? [`Both conversations are the same, for ${shared}`] : [
    `The conversations are the same for ${shared}, and part in turn ${parting.turn}${
      describePlace(parting)
    }:`,
    ...both(describeSides(parting)),
    `Turns in all: ${turns.join(" and ")}`,
  ];
  const spokenBy = ["Their models, which do not count:", ...both(spoken)];
  return [...lines, ...(spoken[0] === spoken[1] ? [] : spokenBy)]
    .map((line) => escapeInvisible(line)).join("\n");
}

/** Names the step at which the conversations differ, if both have a step of the same kind there. */
function describePlace({ one, other, difference }: FirstDifference): string {
  if (one === undefined || one.kind !== other?.kind) return "";
  const { pointer = "" } = difference ?? {};
  return `, at ${STEP_NAMES[one.kind]}${pointer === "" ? "" : ` (${pointer})`}`;
}

const STEP_NAMES: Readonly<Record<StepContent["kind"], string>> = {
  prompt: "a prompt",
  thinking: "what is thought",
  answer: "an answer",
  call: "a call of a tool",
  result: "the result of a tool",
  interrupt: "an interrupt",
  compaction: "a compaction",
  block: "a block of an answer",
};

/** Describes both sides: the differing values if the steps have the same kind, else the steps. */
function describeSides({ one, other, difference }: FirstDifference): Sides {
  return one !== undefined && one.kind === other?.kind && difference !== undefined
    ? [difference.one ?? "nothing", difference.other ?? "nothing"]
    : [describeStep(one), describeStep(other)];
}

function describeStep(step: StepContent | undefined): string {
  if (step === undefined) return "is over";
  const { kind, ...rest } = step;
  const text = JSON.stringify(rest);
  const shown = text === "{}"
    ? ""
    : `, ${text.slice(0, MAX_STEP_LENGTH)}${text.length > MAX_STEP_LENGTH ? "…" : ""}`;
  return `${STEP_NAMES[kind]}${shown}`;
}
