import type { TextStyle } from "./picture_row.ts";
import { INK } from "./terminal_colour.ts";

/** The CSS of all text in a terminal. */
export const TEXT_RULE =
  `text{font:14px ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${INK};white-space:pre}`;

/** The CSS of a style; what it says of text does not matter to shapes. */
export function styleRule(style: TextStyle, use: "text" | "fill" | "line"): string {
  const ink = style.ink ?? INK;
  const opacity = style.dim ? ";opacity:.6" : "";
  if (use === "line") return `fill:none;stroke:${ink}${opacity}`;
  if (use === "fill") return `fill:${ink}${opacity}`;
  const lines = [
    ...(style.underline ? ["underline"] : []),
    ...(style.strike ? ["line-through"] : []),
  ];
  return [
    ...(style.ink === undefined ? [] : [`fill:${ink}`]),
    ...(style.dim ? ["opacity:.6"] : []),
    ...(style.bold ? ["font-weight:700"] : []),
    ...(style.italic ? ["font-style:italic"] : []),
    ...(lines.length === 0 ? [] : [`text-decoration:${lines.join(" ")}`]),
  ].join(";");
}
