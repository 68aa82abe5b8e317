import type { Chunk } from "./exchange.ts";
import { joinedBytes } from "../../../joined_bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Cuts what has become of a text where the text was cut as it came. */
export interface Cutter {
  /** Takes when a piece came, and how many bytes it has. */
  readonly piece: (piece: { readonly ms: number; readonly size: number }) => void;
  /** Takes the next part of the text, of pieces that have come, as it was and as it is. */
  readonly part: (before: Bytes, after: Bytes) => void;
}

/** @param take takes each piece once all of its text is known */
export function createCutter(take: (chunk: Chunk) => void): Cutter {
  const coming: { readonly ms: number; left: number }[] = [];
  let made: Bytes[] = [];
  const end = (ms: number) => {
    coming.shift();
    take({ ms, bytes: joinedBytes(made) });
    made = [];
  };
  return {
    piece: ({ ms, size }) => void coming.push({ ms, left: size }),
    part: (before, after) => {
      let rest = after;
      for (let size = before.length; size > 0;) {
        const [piece] = coming;
        if (piece === undefined) throw new Error("There is more text than has come");
        const taken = Math.min(piece.left, size);
        // All that has become of a part is there by its end.
        const cut = taken === size ? rest.length : Math.min(taken, rest.length);
        if (cut > 0) made.push(rest.subarray(0, cut));
        rest = rest.subarray(cut);
        size -= taken;
        piece.left -= taken;
        if (piece.left === 0) end(piece.ms);
      }
      // Of pieces of nothing nothing becomes.
      for (let [piece] = coming; piece?.left === 0; [piece] = coming) end(piece.ms);
    },
  };
}
