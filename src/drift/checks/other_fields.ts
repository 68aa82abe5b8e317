import type { Found } from "../finding.ts";
import { type Known, needed, shapeKey } from "../known.ts";
import type { Piece } from "../piece.ts";

/** Which fields of a piece no recording has, and which it lacks that it always has had. */
export function otherFields(
  piece: Piece,
  { known, version }: { readonly known: Known; readonly version: string | undefined },
): readonly Found[] {
  const ever = known.shapes.get(shapeKey(piece))?.ever;
  // Of what is known by its name alone nothing can be said.
  if (ever === undefined || ever.size === 0) return [];
  const where = piece.sort === "part" ? piece.name : `${piece.sort} ${piece.name}`;
  const has = new Set(piece.fields);
  return [
    ...piece.fields.filter((field) => !ever.has(field))
      .map((what) => ({ check: "field new", where, what }) as const),
    ...[...needed(known, piece, version)].filter((field) => !has.has(field))
      .map((what) => ({ check: "field gone", where, what }) as const),
  ];
}
