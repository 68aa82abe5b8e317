import { isWireKey, type WireObject } from "../wire/wire_keys.ts";
import { isVersionAtLeast } from "../claude/versions/compare_versions.ts";
import type { Piece } from "./piece.ts";

/** The fields of a piece in the recordings of a version. */
export interface KnownFields {
  /** Those that it has had every time, and often enough to say so. */
  readonly always: ReadonlySet<string>;
  readonly sometimes: ReadonlySet<string>;
}

/** What the recordings of this project have of Claude Code. */
export interface KnownClaude {
  /** The versions that were recorded, from the oldest to the newest. */
  readonly versions: readonly string[];
  /** Questions to the terminal, as `unknownProbe()` calls them. */
  readonly probes: ReadonlySet<string>;
  /** Pieces by sort and name. */
  readonly shapes: ReadonlyMap<string, KnownShape>;
  /** The fields that any line of a transcript has had: recordings do not keep all of those around attachments. */
  readonly fieldsOfLines: ReadonlySet<string>;
}

/** A piece in all recordings. */
export interface KnownShape {
  /** The fields that it has had in any of them. */
  readonly ever: ReadonlySet<string>;
  readonly byVersion: ReadonlyMap<string, KnownFields>;
}

/** What is known, as it is written down: the fields of a piece in one text, with "?" behind those that it has sometimes. */
export interface KnownFile {
  readonly versions: readonly string[];
  readonly probes: readonly string[];
  readonly shapes: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** By what a piece is found. */
export function shapeKey({ sort, name }: Pick<Piece, "sort" | "name">): string {
  return `${sort} ${name}`;
}

/** Reads what is known. */
export function readKnown({ versions, probes, shapes: texts }: KnownFile): KnownClaude {
  const shapes = readShapes(texts);
  const lines = [...shapes].filter(([key]) => key.startsWith("line "));
  return {
    versions,
    probes: new Set(probes),
    shapes,
    fieldsOfLines: new Set(lines.flatMap(([, { ever }]) => [...ever])),
  };
}

function readShapes(shapes: KnownFile["shapes"]): KnownClaude["shapes"] {
  return new Map(
    Object.entries(shapes).map(([key, texts]) => {
      const byVersion = new Map(
        Object.entries(texts).map(([version, text]) => [version, fieldsIn(text)]),
      );
      const ever = [...byVersion.values()].flatMap(({ always, sometimes }) => [
        ...always,
        ...sometimes,
      ]);
      return [key, { ever: new Set(ever), byVersion }];
    }),
  );
}

function fieldsIn(text: string): KnownFields {
  const words = text === "" ? [] : text.split(" ");
  return {
    always: new Set(words.filter((word) => !word.endsWith("?"))),
    sometimes: new Set(words.flatMap((word) => word.endsWith("?") ? [word.slice(0, -1)] : [])),
  };
}

/**
 * The fields that a piece has to have: those that it always has had in the recorded version that is next before its own,
 * or the oldest one; of a piece without a version, in the newest.
 */
export function needed(
  known: KnownClaude,
  piece: Piece,
  version: string | undefined,
): ReadonlySet<string> {
  const base = version === undefined
    ? known.versions.at(-1)
    : known.versions.findLast((each) => isVersionAtLeast(version, each)) ?? known.versions[0];
  return known.shapes.get(shapeKey(piece))?.byVersion.get(base ?? "")?.always ?? new Set();
}

/** Whether this program prints a field of a frame itself: what it knows of a version may be ahead of what was recorded. */
export function isPrinted(piece: Piece, field: string): boolean {
  const object = printedObject(piece);
  return object !== undefined && isWireKey(object, field);
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
