import { createTraceFinder, ROOTS, type Trace } from "./find_traces.ts";
import { type KnownTraces, NEUTRAL_TRACES, projectPaths } from "./known_traces.ts";
import { blankText } from "./blank_text.ts";
import { projectSlug } from "../../claude/transcript/session_files.ts";

/** Replaces traces of a machine and its user in texts. */
export interface TraceScrubber {
  readonly text: (text: string) => string;
  /** Changes a JSON value, its field names, and fields that identify an account. */
  readonly value: <Value>(value: Value) => Value;
  /** Changes a text that is cut into pieces. The result is cut at the same places. */
  readonly pieces: (pieces: readonly string[]) => readonly string[];
  /** See `TraceFinder`. */
  readonly openFrom: (text: string) => number;
  /** Returns the traces of a text and their replacements. */
  readonly replacements: (text: string) => readonly (Trace & { readonly fill: string })[];
}

/** Fields that identify an account by an id or a name. `display_name` is not among them: tools have one. */
const ID_FIELD = /^(?:account|organization|user|device)_?(?:uu)?id$/iu;
const NAME_FIELD = /^(?:organization_?name|displayname|full_?name|hostname)$/iu;
const ID_VALUE = /^[\da-f-]{32,64}$/iu;

/** Creates a scrubber that replaces traces by what `fill` returns. */
export function createTraceScrubber(known: KnownTraces, fill: Fill): TraceScrubber {
  const { find, openFrom } = createTraceFinder(known);
  const filled = (text: string) =>
    find(text).map((trace) => ({
      ...trace,
      fill: fill(text.slice(trace.start, trace.end), trace.kind),
    }));
  const scrub = (text: string) => {
    let kept = "";
    let from = 0;
    for (const { start, end, fill } of filled(text)) {
      kept += text.slice(from, start) + fill;
      from = end;
    }
    return from === 0 ? text : kept + text.slice(from);
  };
  return {
    text: scrub,
    value: (value) =>
      mapTexts(value, (text, field) => {
        if (field === undefined) return scrub(text);
        if (ID_FIELD.test(field) && ID_VALUE.test(text)) return text.replace(/[\da-f]/giu, "0");
        return NAME_FIELD.test(field) ? blankText(text) : scrub(text);
      }),
    pieces: (pieces) => {
      const traces = filled(pieces.join(""));
      return traces.length === 0 ? pieces : replaceInPieces(pieces, traces);
    },
    openFrom,
    replacements: filled,
  };
}

/** Replaces traces in a text that is cut into pieces. A replacement across a cut is cut at the same position. */
function replaceInPieces(
  pieces: readonly string[],
  traces: readonly (Trace & { readonly fill: string })[],
): readonly string[] {
  const text = pieces.join("");
  const parts = pieces.map(() => "");
  let index = 0;
  let end = pieces[0]?.length ?? 0;
  /** Adds the replacement of a range to the pieces that the range covers. */
  const add = (from: number, to: number, replacement: string) => {
    let rest = replacement;
    for (let at = from;;) {
      while (at >= end && index < pieces.length - 1) {
        index++;
        end += pieces[index]?.length ?? 0;
      }
      const length = to > end ? end - at : Infinity;
      parts[index] += rest.slice(0, length);
      rest = rest.slice(length);
      if (to <= end) return;
      at = end;
    }
  };
  let from = 0;
  for (const trace of traces) {
    add(from, trace.start, text.slice(from, trace.start));
    add(trace.start, trace.end, trace.fill);
    from = trace.end;
  }
  add(from, text.length, text.slice(from));
  return parts;
}

/** The maximum depth of a JSON value that is visited. Readers of recordings accept no more. */
const MOST_DEPTH = 1000;

/**
 * Changes the strings and field names of a JSON value. A value without changes is returned as the same object.
 *
 * @param change takes a text, and the name of its field if the text is a field's value
 */
function mapTexts<Value>(value: Value, change: Change): Value {
  return mapped(value, change, { depth: 0 }) as Value;
}

type Change = (text: string, field?: string) => string;

function mapped(
  value: unknown,
  change: Change,
  { field, depth }: { readonly field?: string; readonly depth: number },
): unknown {
  if (typeof value === "string") return change(value, field);
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, change, { depth: depth + 1 }));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isSame = true;
  const fields = new Map<string, unknown>();
  for (const [name, item] of Object.entries(value)) {
    const other = mapped(item, change, { field: name, depth: depth + 1 });
    const plain = change(name);
    let key = plain;
    // If two names became equal, they are numbered, so that no field is lost.
    for (let number = 2; fields.has(key); number++) key = `${plain}-${number}`;
    fields.set(key, other);
    if (key !== name || other !== item) isSame = false;
  }
  return isSame ? value : Object.fromEntries(fields);
}

/** Returns the replacement of a trace. */
type Fill = (text: string, kind: Trace["kind"]) => string;

/** Names in paths that identify nobody. Programs recognise some of them. */
const KEPT_NAMES = new Set(
  (". .. .claude .claude.json .config .local .cache bin lib share node_modules src claude " +
    "projects memory tmp tasks todos plans plugins skills commands agents subagents tool-results " +
    "statsig shell-snapshots settings.json settings.local.json CLAUDE.md MEMORY.md .git " +
    ".mcp.json user project").split(" "),
);
const ID = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[ab][\da-z]{8,16}|\d+)(?=$|\.)/iu;

/**
 * Creates a function that replaces a trace by a text of the same length, so that screens keep their layout. The names
 * of a project's own files are kept.
 */
export function fillSameLength(known: KnownTraces): Fill {
  const projects = longestFirst(projectPaths(known));
  return (text, kind) => {
    if (kind === "id") return text.replace(/[\da-f]/giu, "0");
    if (kind !== "path") {
      return text === projectSlug(NEUTRAL_TRACES.project) ? text : blankText(text);
    }
    const project = projects.find((path) => isPathBelow(text, path));
    const rest = project === undefined ? "" : text.slice(project.length);
    const path = project === undefined ? text : project;
    return project === NEUTRAL_TRACES.project ? text : blankPath(path) + rest;
  };
}

/**
 * Creates a function that replaces a trace by a neutral value, such as `/home/user/project`, so that recordings of two
 * machines become equal. The names of a project's own files are kept.
 */
export function fillNeutral(known: KnownTraces): Fill {
  const projects = longestFirst(projectPaths(known));
  const homes = longestFirst([...known.homes, NEUTRAL_TRACES.home]);
  const slugs = longestFirst(known.projects.map(projectSlug));
  const homeSlugs = longestFirst([
    ...known.homes.map(projectSlug),
    projectSlug(NEUTRAL_TRACES.home),
  ]);
  const fillSlug = (text: string): string => {
    const project = slugs.find((slug) => isSlugBelow(text, slug));
    if (project !== undefined) {
      return projectSlug(NEUTRAL_TRACES.project) + text.slice(project.length);
    }
    if (isSlugBelow(text, projectSlug(NEUTRAL_TRACES.project))) return text;
    const home = homeSlugs.find((slug) => isSlugBelow(text, slug));
    if (home !== undefined) {
      return projectSlug(NEUTRAL_TRACES.home) + blankText(text.slice(home.length));
    }
    return blankText(text);
  };
  const fillPath = (text: string): string => {
    const project = projects.find((path) => isPathBelow(text, path));
    if (project !== undefined) {
      const neutral = project.startsWith("~")
        ? NEUTRAL_TRACES.project.replace(NEUTRAL_TRACES.home, "~")
        : NEUTRAL_TRACES.project;
      return neutral + text.slice(project.length);
    }
    const home = homes.find((path) => isPathBelow(text, path)) ??
      /^\/(?:root|(?:home|Users)\/[^/]+)(?=$|\/)/u.exec(text)?.[0];
    if (home === undefined) return blankPath(text, fillSlug);
    return NEUTRAL_TRACES.home + blankNames(text.slice(home.length), fillSlug);
  };
  return (text, kind) => {
    switch (kind) {
      case "path":
        return /^[A-Za-z]:/u.test(text) ? blankPath(text) : fillPath(text);
      case "slug":
        return fillSlug(text);
      case "user":
        return NEUTRAL_TRACES.user;
      case "host":
        return "host";
      case "word":
        return "someone";
      case "email":
        return "user@example.com";
      case "id":
        return text.replace(/[\da-f]/giu, "0");
    }
  };
}

function longestFirst(paths: readonly string[]): readonly string[] {
  return paths.toSorted((one, other) => other.length - one.length);
}

function isPathBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function isSlugBelow(slug: string, folder: string): boolean {
  return slug === folder || slug.startsWith(`${folder}-`);
}

const ROOT = new RegExp(`^/(?:${ROOTS.join("|")})(?=$|/)|^[A-Za-z]:(?:\\\\+|/)Users`, "u");

/** Blanks the names of a path below its root folder. */
function blankPath(path: string, slug: (name: string) => string = blankText): string {
  const [root = ""] = ROOT.exec(path) ?? [];
  return root + blankNames(path.slice(root.length), slug);
}

function blankNames(path: string, slug: (name: string) => string): string {
  return path.replace(/[^/\\]+/gu, (name) => {
    if (KEPT_NAMES.has(name) || ID.test(name)) return name;
    return name.startsWith("-") ? slug(name) : blankText(name);
  });
}

/** Reports the kind of each trace that a fill function changes. */
export function reportFilled(fill: Fill, note: ((kind: Trace["kind"]) => void) | undefined): Fill {
  if (note === undefined) return fill;
  return (text, kind) => {
    const filled = fill(text, kind);
    if (filled !== text) note(kind);
    return filled;
  };
}
