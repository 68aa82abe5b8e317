/** What is another in each run of Claude Code though it asks the same. */
interface Mask {
  readonly what: string;
  readonly words: RegExp;
  readonly stands: string;
}

/** Where a word begins, in JSON too, where a line feed ends in a letter. */
const WORD = String.raw`(?:\b|(?<=\\[bfnrt]))`;

/** A hexadecimal digit; V8 takes twice as long where it is to look past their case by itself. */
const HEX = String.raw`[\da-fA-F]`;

/** Characters with which a word begins: V8 finds them four times as fast where it is asked for them first. */
function wordOf(begin: string): string {
  return `${begin}(?<=${WORD}${begin})`;
}

const DATE_IN_WORDS = new RegExp(
  String.raw`${WORD}(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?` +
    String
      .raw`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} (?:\d{1,2},? )?\d{4}\b`,
  "gu",
);
const TEMPORARY = /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"'`\\<>()[\]{},;:|]+/gu;

/** All that `--match normalized` looks past, in this order. */
export const MASKS: readonly Mask[] = [
  {
    what: "the line with which Claude Code says what it is",
    words: /x-anthropic-billing-header:[^"\\]*/gu,
    stands: "x-anthropic-billing-header",
  },
  {
    what: "whether thoughts are shown, which follows from the format of the output",
    words: /"display":"(?<="thinking":\{"type":"[a-z]{1,20}","display":")[a-z]{1,20}"/gu,
    stands: '"display":"<display>"',
  },
  {
    what: "ids of sessions and of anything else that is a UUID",
    words: new RegExp(
      String.raw`${wordOf(`${HEX}{3}`)}${HEX}{5}(?:-${HEX}{4}){3}-${HEX}{12}\b`,
      "gu",
    ),
    stands: "<id>",
  },
  {
    what: "ids of machines and other hashes of 64 digits",
    words: new RegExp(String.raw`${wordOf(`${HEX}{3}`)}${HEX}{61}\b`, "gu"),
    stands: "<hash>",
  },
  {
    what: "times and dates",
    words: new RegExp(
      String.raw`${wordOf(String.raw`\d`)}\d{3}-\d\d-\d\d` +
        String.raw`(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
      "gu",
    ),
    stands: "<date>",
  },
  {
    what: "dates in words",
    words: DATE_IN_WORDS,
    stands: "<date>",
  },
  {
    what: "how long something took, as a tool tells it",
    words: /(?<=duration_ms\W{1,4})\d{1,15}/gu,
    stands: "<ms>",
  },
  {
    what: "ids of tasks in the background and of subagents",
    words: /(?<=(?:agentId: |with ID: |with to: '|task-id>|tasks\/))[ab][\da-z]{8,16}\b/gu,
    stands: "<task>",
  },
  {
    what: "ports of this machine",
    words: /(?<=(?:127\.0\.0\.1|localhost|\[::1\]):)\d{1,5}\b/gu,
    stands: "<port>",
  },
  {
    what: "the folder of a project's sessions",
    words: /(?<=\/projects\/)-[\w-]+/gu,
    stands: "<project>",
  },
  {
    what: "temporary folders and what is in them",
    words: TEMPORARY,
    stands: "<temp>",
  },
  {
    what: "what follows the three numbers of a version",
    words: /(?<=(?<![\d.])\d{1,4}\.\d{1,4}\.\d{1,6})[.-][\da-f]{3,40}\b/gu,
    stands: "",
  },
];

/** What of these is of another length in another run, and can be told without what stands beside it. */
export const VARYING = new RegExp(
  [DATE_IN_WORDS, TEMPORARY].map(({ source }) => `(?:${source})`).join("|"),
  "gu",
);

/** A text without what is another in each run. */
export function masked(text: string): string {
  return MASKS.reduce((rest, { words, stands }) => rest.replace(words, stands), text);
}
