import { z } from "zod/mini";
import { LARGEST_SIDE } from "../../session/terminal/screen.ts";

/** Rows or columns of a terminal. */
export const sideSchema: z.ZodMiniType<number> = z.int().check(
  z.positive(),
  z.maximum(LARGEST_SIDE, `a terminal has at most ${LARGEST_SIDE}`),
);
