import type { Found } from "../finding.ts";
import { isPrinted, type KnownClaude, needed, shapeKey } from "../known.ts";
import type { Piece } from "../piece.ts";

/** Which fields of a piece no recording has, and which it lacks that it always has had. */
export function otherFields(
  piece: Piece,
  { known, version }: { readonly known: KnownClaude; readonly version: string | undefined },
): readonly Found[] {
  const ever = known.shapes.get(shapeKey(piece))?.ever;
  // Of what is known by its name alone nothing can be said: of some attachments recordings keep no more.
  if (ever === undefined || [...ever].every((field) => field === "type")) return [];
  const isAttached = piece.sort === "line" && piece.name.startsWith("attachment/");
  const isNew = (field: string) =>
    !ever.has(field) && !(isAttached && known.fieldsOfLines.has(field)) &&
    !isPrinted(piece, field);
  const where = piece.sort === "part" ? piece.name : `${piece.sort} ${piece.name}`;
  const has = new Set(piece.fields);
  return [
    ...piece.fields.filter(isNew)
      .map((what) => ({ check: "field new", where, what }) as const),
    ...[...needed(known, piece, version)].filter((field) => !has.has(field))
      .map((what) => ({ check: "field gone", where, what }) as const),
  ];
}
