import { projectSlug } from "../../claude/transcript/session_files.ts";
import { type KnownTraces, projectPaths } from "./known_traces.ts";

/** A part of a text that identifies a machine or its user. */
export interface Trace {
  readonly start: number;
  readonly end: number;
  readonly kind: "path" | "slug" | "user" | "host" | "word" | "email" | "id";
}

interface TraceFinder {
  /** Returns the traces in order, without overlaps. */
  readonly find: (text: string) => readonly Trace[];
  /**
   * Returns the first position of a possible trace that following text may complete or extend; `Infinity` if there is
   * none.
   */
  readonly openFrom: (text: string) => number;
}

/** Folders that contain folders of users or of projects. */
export const ROOTS: readonly string[] = [
  ...["home", "Users", "root", "tmp", "private", "var/folders", "var/tmp", "mnt", "media"],
  ...["Volumes", "srv", "opt", "work", "workspace", "workspaces"],
];

/** Characters that end a path in any text. */
const PATH_ENDS = String.raw`\s"'\x60\\<>()[\]{},;:|*?!$&=#%^~…`;
/** The characters that may precede a path. The `/home` in `src/home` and `https://host/home` begins no path. */
const PATH_START = String.raw`(?:(?<![\w.~*/)\]}-])|(?<=file://)|(?<=(?:^|\s)-[A-Za-z]))`;
const WINDOWS = /\b[A-Za-z]:(?:\\{1,4}|\/)Users(?:\\{1,4}|\/)[^\s"'`<>|:*?]+/gu;
const ACCOUNT = new RegExp(
  String.raw`(?<=user_|device_id\W{1,8})[\da-f]{64}(?![\da-f])|` +
    String.raw`(?<=(?:account|organization)_(?:(?:uu)?id\W{1,8})?)` +
    String.raw`[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?![\da-f])`,
  "giu",
);
/** File names and package versions that look like a domain. */
const FILE_NAME =
  /\.(?:png|jpe?g|gif|webp|svg|pdf|[cm]?[jt]sx?|json|md|txt|css|html?|ya?ml|lock)$/iu;
/** Domains whose addresses identify nobody. */
const EXAMPLE_DOMAIN = /(?:^|\.)(?:example\.(?:com|org|net)|anthropic\.com)$/iu;

/** The maximum length of a run without blanks that waits for more text. */
const LONGEST_RUN = 4096;

/** Creates a finder of known traces, and of traces that are recognised by their shape. */
export function createTraceFinder(known: KnownTraces): TraceFinder {
  const folders = [...new Set([...projectPaths(known), ...known.homes])];
  const slugs = folders.filter((path) => path.startsWith("/")).map(projectSlug).filter((slug) =>
    slug.length > 4
  );
  const path = new RegExp(
    `${PATH_START}(?:${longestFirst(folders)}|/(?:${ROOTS.join("|")}))(?![\\p{L}\\p{N}_-])` +
      `(?:/[^${PATH_ENDS}]*)?`,
    "gu",
  );
  const slug = new RegExp(
    `(?<![\\w-])(?:${longestFirst(slugs)})(?![A-Za-z0-9])[\\w-]*|(?<=/projects/)-[\\w-]+`,
    "gu",
  );
  const named = ([["user", known.users], ["host", known.hosts]] as const)
    .flatMap(([kind, names]) => names.length === 0 ? [] : [{ kind, words: wordOf(names) }]);
  const words = known.words.length === 0 ? undefined : new RegExp(longestFirst(known.words), "gu");
  const phrases = [...known.words, ...known.users, ...known.hosts];
  const find = (text: string): readonly Trace[] => {
    const found: Trace[] = [];
    const add = (kind: Trace["kind"], pattern: RegExp) => {
      for (const { 0: { length }, index } of text.matchAll(pattern)) {
        if (length > 0) found.push({ start: index, end: index + length, kind });
      }
    };
    if (words !== undefined) add("word", words);
    if (text.includes("/")) add("path", path);
    if (text.includes("-")) add("slug", slug);
    if (text.includes(":")) add("path", WINDOWS);
    if (text.includes("_")) add("id", ACCOUNT);
    if (text.includes("@")) found.push(...emailsIn(text));
    for (const { kind, words } of named) add(kind, words);
    return withoutOverlaps(found);
  };
  const openFrom = (text: string): number => {
    let start = text.length;
    while (start > text.length - LONGEST_RUN && isRunCharacter(text[start - 1])) start--;
    let from = start === text.length ? Infinity : start;
    for (const phrase of phrases) {
      for (let length = Math.min(phrase.length - 1, text.length); length >= 2; length--) {
        if (!text.endsWith(phrase.slice(0, length))) continue;
        from = Math.min(from, text.length - length);
        break;
      }
    }
    return from;
  };
  return { find, openFrom };
}

/** True if a character may belong to a path, a name or an address. */
function isRunCharacter(character: string | undefined): boolean {
  return character !== undefined && !/[\s"'`<>()[\]{},;|]/u.test(character);
}

function longestFirst(names: readonly string[]): string {
  return names.toSorted((one, other) => other.length - one.length).map(RegExp.escape).join("|");
}

/** A pattern for names that are not part of a longer word. */
function wordOf(names: readonly string[]): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${longestFirst(names)})(?![\\p{L}\\p{N}_])`, "gu");
}

/** The maximum length of an email address, on each side of the sign. */
const LONGEST_NAME = 64;
const LONGEST_DOMAIN = 255;

/** Examines a limited number of characters around each `@`, so that hostile input takes linear time. */
function emailsIn(text: string): readonly Trace[] {
  const found: Trace[] = [];
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const [name] = /[\p{L}\p{N}._%+-]+$/u.exec(text.slice(Math.max(0, at - LONGEST_NAME), at)) ??
      [];
    const [domain] = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,24}(?![\p{L}\p{N}_-])/u
      .exec(text.slice(at + 1, at + 1 + LONGEST_DOMAIN)) ?? [];
    if (name === undefined || domain === undefined) continue;
    if (name === "git" || FILE_NAME.test(domain) || EXAMPLE_DOMAIN.test(domain)) continue;
    // The address is already blanked.
    if (!/[^x.@_%+-]/u.test(name + domain)) continue;
    found.push({ start: at - name.length, end: at + 1 + domain.length, kind: "email" });
  }
  return found;
}

/** Drops overlaps: the trace that begins first wins. If two begin together, the longer one wins. */
function withoutOverlaps(found: readonly Trace[]): readonly Trace[] {
  const kept: Trace[] = [];
  let end = 0;
  for (const trace of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (trace.start < end) {
      if (trace.end <= end) continue;
      // Only the part after the first trace is left of this trace.
      kept.push({ ...trace, start: end });
    } else kept.push(trace);
    end = trace.end;
  }
  return kept;
}
