import {
  type CassetteSurvey,
  surveyCassette,
} from "../../recording/cassette/read/survey_cassette.ts";
import { furtherOf } from "../../recording/relay/api_folder.ts";
import { printLines, reportJson } from "../report/print.ts";
import type { ForkOrigin } from "../../recording/cassette/cassette_format.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { count } from "../report/count.ts";

/** Prints what is inside a cassette, in lines or as one JSON object. */
export function printInfo({ dir, json }: { readonly dir: string; readonly json: boolean }): number {
  const survey = surveyCassette(dir);
  printLines(`${json ? reportJson(survey) : cassetteInfo(survey, furtherOf(dir))}\n`);
  return 0;
}

/** A name and what is to be said of it; of what is missing nothing. */
type Row = readonly [name: string, value: string | undefined];

/**
 * What is inside a cassette, in lines for a person.
 *
 * @param of which Claude Code of a conversation it is of, if not of the first one
 */
export function cassetteInfo(
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
  const taken = [...scrubbed, ...(meta.blanked ?? []).map((what) => WORDS_OF[what] ?? what)];
  const ways = [
    ...(cast === undefined ? [] : ["as the world"]),
    ...(tape === undefined ? [] : ["as the program"]),
    ...(api?.exchanges === 0 || (api ?? of) === undefined ? [] : ["as the API"]),
  ];
  // Answers of the API alone are no run.
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
      ...forkedFrom(meta.forked_from),
    ),
    ["child.cast", cast && `${count(cast.events, "event")}, ${cast.bytes} bytes`],
    [
      "tape.jsonl",
      tape && `${count(tape.frames, "frame")} and ${count(tape.lines, "line")} of the caller, ` +
        `${tape.bytes} bytes`,
    ],
    ["meta.json", file && `${file.bytes} bytes`],
    ["api", api === undefined ? of && `that of ${of.first}` : exchangesOf(api)],
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
  return rows.map(([name, value]) => nameUnseen(`${name.padEnd(11)} ${value ?? "missing"}`))
    .join("\n");
}

function exchangesOf(
  { exchanges, broken }: NonNullable<CassetteSurvey["parts"]["api"]>,
): string {
  const all = count(exchanges, "exchange");
  return broken === undefined ? all : `${all}, ${broken} of them broken off with the run`;
}

function forkedFrom(origin: ForkOrigin | undefined): readonly Row[] {
  if (origin === undefined) return [];
  const { cassette, when, turn } = origin;
  const recorded = when === undefined ? "" : `, recorded ${when}`;
  return [["forked from", `${cassette}${recorded}, behind turn ${turn}`]];
}

/** What `cassette scrub` takes out besides secrets. */
const WORDS_OF: Readonly<Record<string, string>> = {
  traces: "names and paths of the machine",
};
