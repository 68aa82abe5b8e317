import type { DriftCheck, Found } from "../finding.ts";
import { type KnownClaude, shapeKey } from "../known.ts";
import type { Piece, PieceSort } from "../piece.ts";

/** What it is called if a piece of a sort has a name that nobody knows. */
const CHECKS: Readonly<Record<PieceSort, DriftCheck | undefined>> = {
  frame: "type unknown",
  line: "type unknown",
  event: "type unknown",
  status: "type unknown",
  hook: "hook event new",
  block: "block dropped",
  part: undefined,
};

/** Whether a piece is of a type that no recording has. */
export function unknownType(piece: Piece, known: KnownClaude): readonly Found[] {
  const check = CHECKS[piece.sort];
  if (check === undefined || known.shapes.has(shapeKey(piece))) return [];
  return [{ check, where: piece.sort, what: piece.name }];
}
