import { cutInput } from "../../../fixtures/cut_cassette.ts";
import { foreignNames } from "../../../fixtures/foreign_names.ts";
import { encodeCast } from "../../../fixtures/encode_whole.ts";
import type { Cast, CastEvent } from "../../../src/recording/cassette/cassette_format.ts";
import { parseCast } from "../../../src/recording/cassette/read/read_cast.ts";
import {
  fromRecordedInput,
  toRecordedInput,
} from "../../../src/recording/cassette/recorded_input.ts";
import type { LoggedRequest } from "../../../src/recording/learn/messages_api.ts";
import { maskedOutput } from "../../parity/mask.ts";
import type { RowResult } from "../../parity/recording.ts";
import { effectParts, RECORDED_HOME } from "../../parity/replay_casts.ts";
import type { Row } from "../../parity/rows.ts";
import { RealClaude } from "../../real/real_claude.ts";
import type { ProgramOutput } from "../../start_program.ts";
import { digestsOfRequests } from "./bodies.ts";
import { canWait, IS_WARM, warmServer } from "./warm_server.ts";
import { writeFiles } from "../../write_files.ts";

type RowEnv = Readonly<Record<string, string>>;

/** Which program runs a row. */
export type Who = "claude-print" | "claude -p";

/** What came of a row. */
export interface RowRun extends ProgramOutput {
  /** Requests of the conversation. */
  readonly requests: readonly LoggedRequest[];
  /** The files in the project after the run. */
  readonly files: readonly string[];
  /** Whether a warm child carried it out. */
  readonly isWarm: boolean;
  /** The home in which it ran, which is gone. */
  readonly home: string;
  /** The inputs of each child, of a recorded run. */
  readonly casts: readonly Cast[];
}

/** Whether a row tests how the program itself reads its command line and stdin; others run in this process. */
function isOfProgram({ name, stdin }: Row): boolean {
  return name.startsWith("usage-") || stdin !== undefined;
}

/** Runs a row in a home of its own, against an API of its own. */
export async function runRow(
  row: Row,
  { version, who, record = false }: {
    readonly version: string;
    readonly who: Who;
    /** Whether the inputs of `claude-print` are recorded. */
    readonly record?: boolean;
  },
): Promise<RowRun> {
  await using real = await RealClaude.set(version, {
    ...(row.api === undefined ? {} : { api: row.api }),
    ...(row.home === undefined ? {} : { home: row.home }),
  });
  const { home } = real;
  for (const [name, text] of Object.entries(row.files ?? {})) {
    const isOfHome = name.startsWith("~/");
    await writeFiles(isOfHome ? home.path : home.project, { [name.replace(/^~\//u, "")]: text });
  }
  const placed = (words: readonly string[]) =>
    words.map((word) => word.replaceAll("HOME/", `${home.path}/`));
  const cassette = `${home.path}/cassette`;
  const run = async (words: readonly string[], who: Who, env: RowEnv = {}) => {
    const args = placed(words);
    const options = {
      env: { ...row.env, ...env },
      ...(row.stdin === undefined ? {} : { stdin: row.stdin }),
    };
    if (who === "claude -p") return await real.claudeP(args, options);
    const ours = ["-p", ...record ? ["--record", cassette] : [], ...args];
    return isOfProgram(row)
      ? await real.print(ours, options)
      : await real.printInProcess(ours, options);
  };
  for (const args of row.before ?? []) await run(args, "claude -p");
  const before = real.api.turns.length;
  await using server = IS_WARM && who === "claude-print" && canWait(row)
    ? await warmServer(real, { args: placed(row.args), env: row.env ?? {} })
    : undefined;
  const output = await run(row.args, who, server?.env);
  return {
    ...output,
    isWarm: await server?.hasGiven() ?? false,
    requests: real.api.turns.slice(before),
    files: [...Deno.readDirSync(home.project)].map(({ name }) => name).toSorted(),
    home: home.path,
    casts: record ? castsBelow(cassette, real) : [],
  };
}

/** Returns what is compared of a run. */
export function resultOf(run: RowRun, row: Pick<Row, "name">): RowResult {
  const { code, stderr, requests, files } = run;
  return {
    failed: code !== 0,
    warns: code === 0 && isForUser(stderr),
    requests: requests.length,
    files,
    ...maskedOutput(run, { row: row.name }),
    asked: digestsOfRequests(run, { row: row.name }),
  };
}

/** Whether a user reads it: 2.1.330 names models that it does not know on stderr, for programs. */
function isForUser(stderr: string): boolean {
  return stderr.replaceAll(/^\[claude-code:unrecognized_model\].*\n/gmu, "") !== "";
}

/** How many rows run at a time: each waits for its API, hooks and timers about half of its time. */
export const ROWS_AT_A_TIME = 2;

/** Reads the recording of each child of a run: that of the second one is in a folder `2`, and so on. */
function castsBelow(folder: string, real: RealClaude): readonly Cast[] {
  const casts: Cast[] = [];
  for (;;) {
    const path = casts.length === 0 ? folder : `${folder}/${casts.length + 1}`;
    try {
      Deno.statSync(`${path}/child.cast`);
    } catch {
      return casts;
    }
    casts.push(inputsOf(path, real));
  }
}

/** The inputs of a recording, without names of this machine and what the core does not need to decide the same. */
function inputsOf(folder: string, { home, binary }: RealClaude): Cast {
  const text = Deno.readTextFileSync(`${folder}/child.cast`)
    .replaceAll(home.path, RECORDED_HOME)
    .replaceAll(slugOf(home.path), slugOf(RECORDED_HOME))
    .replaceAll(binary, `${RECORDED_HOME}/.local/bin/claude`)
    .replaceAll(/127\.0\.0\.1:\d{2,}/gu, "127.0.0.1:1");
  const { header, events } = parseCast(text, { path: folder });
  const whole = events.filter(({ code }) => code === "h" || code === "o");
  const expected = decisions({ header, events: whole });
  const isSame = (events: readonly CastEvent[]) => decisions({ header, events }) === expected;
  const shorter = [whole.filter(({ code }) => code === "h"), whole].find(isSame) ?? whole;
  const cut = shorter.map(cutEvent);
  // What is cut of some lines is known to decide something.
  const kept = isSame(cut) ? cut : shorter.reduce((events, event, index) => {
    const fewer = events.with(index, cut[index] ?? event);
    return isSame(fewer) ? fewer : events;
  }, shorter);
  const cast = { header, events: kept };
  const foreign = foreignNames(encodeCast(cast)).filter((name) => name !== "127.0.0.1");
  if (foreign.length > 0) throw new Error(`The recording names ${foreign.join(", ")}`);
  return cast;
}

/** Most characters of a text in an event: longer texts are Claude Code's own. */
const LONGEST = 600;

/** An event without what Claude Code writes for the model alone. */
function cutEvent(event: CastEvent): CastEvent {
  if (event.code !== "h") return event;
  const input = cutInput(fromRecordedInput(JSON.parse(event.data), event.at));
  if (input.type === "terminal") return event;
  const data = JSON.stringify(
    toRecordedInput(input),
    (_, value) =>
      typeof value === "string" && value.length > LONGEST ? `${value.slice(0, 40)}…` : value,
  );
  return { ...event, data };
}

/** Everything that the core does to the world but for what concerns the terminal alone. */
function decisions(cast: Cast): string {
  return JSON.stringify(
    effectParts(cast).filter(({ type }) => !OF_TERMINAL.includes(type)),
    (_, value) => value instanceof Map ? [...value] : value,
  );
}

const OF_TERMINAL: readonly string[] = [
  ...["write", "look", "resize", "trace", "deadline", "postpone", "whole"],
];

function slugOf(path: string): string {
  return path.replaceAll(/[^a-z\d]/giu, "-");
}
