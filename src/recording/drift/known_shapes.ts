import file from "./known_shapes.json" with { type: "json" };
import { type WireObject, wordsOf } from "../../claude/versions/profile_index.ts";
import { isKnownKey, isNewerThanProfiles } from "../../claude/versions/profiles.ts";
import type { Piece } from "./pieces.ts";

let known: KnownClaude | undefined;

/** What the recordings of this project have of Claude Code. */
export function knownShapes(): KnownClaude {
  known ??= readKnown(file as KnownFile);
  return known;
}

/** What the recordings of this project have of Claude Code. */
export interface KnownClaude {
  /** The newest version that was recorded. */
  readonly version: string;
  /** Questions to the terminal, as `unknownProbe()` calls them. */
  readonly probes: ReadonlySet<string>;
  /** Pieces by sort and name. */
  readonly shapes: ReadonlyMap<string, KnownShape>;
  /** The fields that any line of a transcript has had: recordings do not keep all of those around attachments. */
  readonly fieldsOfLines: ReadonlySet<string>;
}

/** The fields of a piece in all recordings. */
interface KnownShape {
  /** The fields that any recording has. */
  readonly ever: ReadonlySet<string>;
  /** The fields that each recording of the newest version has, if there are three or more. */
  readonly newest: ReadonlySet<string>;
  /** The fields of `newest` that each recording of an older version has as well. */
  readonly always: ReadonlySet<string>;
}

/**
 * The content of `known_shapes.json`. The fields of a piece are one text: `field` is in each piece, `field!` in each piece of
 * the newest version, `field?` in some.
 */
export interface KnownFile {
  readonly version: string;
  readonly probes: readonly string[];
  readonly shapes: Readonly<Record<string, string>>;
}

/** By what a piece is found. */
export function shapeKey({ sort, name }: Pick<Piece, "sort" | "name">): string {
  return `${sort} ${name}`;
}

/** Reads the content of `known_shapes.json`. */
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

/** Returns the fields that a piece must have: those of the newest recorded version, or for an older version those of all. */
export function requiredFields(
  known: KnownClaude,
  piece: Piece,
  version: string | undefined,
): ReadonlySet<string> {
  const isNew = version === undefined || version === known.version || isNewerThanProfiles(version);
  return known.shapes.get(shapeKey(piece))?.[isNew ? "newest" : "always"] ?? new Set();
}

/** Whether this program prints a field of a frame itself: what it knows of a version may be ahead of what was recorded. */
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
