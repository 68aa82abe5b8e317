import file from "./known_shapes.json" with { type: "json" };
import { type WireObject, wordsOf } from "../../claude/versions/profile_index.ts";
import { isKnownKey, isNewerThanProfiles } from "../../claude/versions/profiles.ts";
import type { Piece } from "./pieces.ts";

let known: KnownClaude | undefined;

export function knownShapes(): KnownClaude {
  known ??= readKnown(file as KnownFile);
  return known;
}

/** The facts about Claude Code that the recordings of this project show. */
export interface KnownClaude {
  /** The newest recorded version. */
  readonly version: string;
  /** Queries to the terminal, as `checkProbe()` names them. */
  readonly probes: ReadonlySet<string>;
  /** The fields of pieces, by sort and name. */
  readonly shapes: ReadonlyMap<string, KnownShape>;
  /** The fields of all transcript lines. Recordings omit some of them for attachments. */
  readonly fieldsOfLines: ReadonlySet<string>;
}

/** The fields of a piece. */
interface KnownShape {
  /** In at least one recording. */
  readonly ever: ReadonlySet<string>;
  /** In each recording of the newest version, if there are three or more. */
  readonly newest: ReadonlySet<string>;
  /** In each recording of every version. */
  readonly always: ReadonlySet<string>;
}

/**
 * The content of `known_shapes.json`. The fields of a piece are one text: `field` is in each piece, `field!` in each
 * piece of the newest version, `field?` in some.
 */
export interface KnownFile {
  readonly version: string;
  readonly probes: readonly string[];
  readonly shapes: Readonly<Record<string, string>>;
}

export function shapeKey({ sort, name }: Pick<Piece, "sort" | "name">): string {
  return `${sort} ${name}`;
}

export function readKnown({ version, probes, shapes: texts }: KnownFile): KnownClaude {
  const shapes = new Map(Object.entries(texts).map(([key, text]) => [key, readShape(text)]));
  const lines = [...shapes].filter(([key]) => key.startsWith("line "));
  return {
    version,
    probes: new Set(probes),
    shapes,
    fieldsOfLines: new Set(lines.flatMap(([, { ever }]) => [...ever])),
  };
}

function readShape(text: string): KnownShape {
  const words = wordsOf(text);
  const without = (mark: RegExp) =>
    new Set(words.filter((word) => !mark.test(word)).map((word) => word.replace(/[?!]$/u, "")));
  return { ever: without(/^$/u), newest: without(/\?$/u), always: without(/[?!]$/u) };
}

/**
 * Returns the fields that a piece must have: those of the newest recorded version, or for an older version those of
 * all.
 */
export function requiredFields(
  known: KnownClaude,
  piece: Piece,
  version: string | undefined,
): ReadonlySet<string> {
  const isNew = version === undefined || version === known.version || isNewerThanProfiles(version);
  return known.shapes.get(shapeKey(piece))?.[isNew ? "newest" : "always"] ?? new Set();
}

/** True if this program itself prints a field: its profiles may be newer than the recordings. */
export function isPrintedField(piece: Piece, field: string): boolean {
  const object = printedObject(piece);
  return object !== undefined && isKnownKey(object, field);
}

function printedObject({ sort, name }: Piece): WireObject | undefined {
  if (sort !== "frame") return undefined;
  switch (name) {
    case "system/init":
      return "init";
    case "assistant":
    case "user":
      return name;
    default:
      return name.startsWith("result/") ? "result" : undefined;
  }
}
