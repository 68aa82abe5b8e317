/** How the files begin, as base64, that Claude Code's input box takes for images, and how their names end (2.1.330). */
const IMAGES: readonly (readonly [start: string, suffix: string])[] = [
  ["iVBORw0KGgo", ".png"],
  ["/9j/", ".jpg"],
  ["R0lGOD", ".gif"],
  ["UklGR", ".webp"],
];

/** How the name of a file ends that holds an image, given as base64; undefined for what is none that Claude Code takes. */
export function imageSuffix(data: string): string | undefined {
  return IMAGES.find(([start]) => data.startsWith(start))?.[1];
}
