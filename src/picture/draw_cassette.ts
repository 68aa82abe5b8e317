import type { Cassette } from "../cassette/cassette.ts";
import { drawSvg } from "./draw_svg.ts";
import { filmOf } from "./film_of.ts";

/**
 * Draws a recorded run as one animated SVG: the command as it is typed, what Claude Code shows meanwhile, and what the
 * command prints.
 *
 * The same cassette always gives the same text.
 */
export async function drawCassette(cassette: Cassette): Promise<string> {
  return drawSvg(await filmOf(cassette));
}
