/** What is another in each run of Claude Code though it asks the same. */
interface Mask {
  readonly what: string;
  readonly words: RegExp;
  readonly stands: string;
}

/** All that `--match normalized` looks past, in this order. */
export const MASKS: readonly Mask[] = [
  {
    what: "the line with which Claude Code says what it is",
    words: /x-anthropic-billing-header:[^"\\]*/gu,
    stands: "x-anthropic-billing-header",
  },
  {
    what: "ids of sessions and of anything else that is a UUID",
    words: /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/giu,
    stands: "<id>",
  },
  {
    what: "ids of machines and other hashes of 64 digits",
    words: /\b[\da-f]{64}\b/giu,
    stands: "<hash>",
  },
  {
    what: "times and dates",
    words: /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/gu,
    stands: "<date>",
  },
  {
    what: "dates in words",
    words:
      /\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} (?:\d{1,2},? )?\d{4}\b/gu,
    stands: "<date>",
  },
  {
    what: "how long something took, as a tool tells it",
    words: /(?<=\bduration_ms\W{1,4})\d{1,15}/gu,
    stands: "<ms>",
  },
  {
    what: "ids of tasks in the background and of subagents",
    words: /(?<=\b(?:agentId: |with ID: |task-id>|tasks\/))[ab][\da-z]{8,16}\b/gu,
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
    words: /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s"'`\\<>()[\]{},;:|]+/gu,
    stands: "<temp>",
  },
  {
    what: "what follows the three numbers of a version",
    words: /(?<=\b\d{1,4}\.\d{1,4}\.\d{1,6})[.-][\da-f]{3,40}\b/gu,
    stands: "",
  },
];

/** A text without what is another in each run. */
export function masked(text: string): string {
  return MASKS.reduce((rest, { words, stands }) => rest.replace(words, stands), text);
}
