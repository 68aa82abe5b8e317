/** Levels of objects and arrays in each other: no run writes so many, and what walks over them has room for more. */
const DEEPEST = 500;

/** Whether a JSON text is nested so deeply that what becomes of it could not be walked over, or written again. */
export function isTooDeep(json: string): boolean {
  if (!hasManyOpenings(json)) return false;
  let depth = 0;
  let isString = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (isString) {
      if (character === "\\") at++;
      else if (character === '"') isString = false;
    } else if (character === '"') {
      isString = true;
    } else if (character === "{" || character === "[") {
      depth++;
      if (depth > DEEPEST) return true;
    } else if (character === "}" || character === "]") {
      depth--;
    }
  }
  return false;
}

/** Whether a text opens enough objects and arrays to be too deep, those within strings included: that is seen faster. */
function hasManyOpenings(json: string): boolean {
  if (json.length <= DEEPEST) return false;
  let count = 0;
  for (const opening of ["{", "["]) {
    for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
      count++;
      if (count > DEEPEST) return true;
    }
  }
  return false;
}

/** A value as JSON on one line, without the two separators that some readers of lines take for the end of one. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
