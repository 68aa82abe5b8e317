/** A character of a prompt that does not reach the model unchanged. */
export type AlteredCharacter = {
  /** The position of the character, in UTF-16 code units from 0. */
  readonly offset: number;
  readonly codePoint: number;
  /** The name of the character, such as "U+200B (zero width space)". */
  readonly name: string;
};

/**
 * Finds the first character that the input box of Claude Code 2.1.330 would remove from a prompt or replace by a line
 * feed; undefined if the text stays unchanged. `claude -p` changes nothing.
 *
 * The input box removes control characters and invisible ones: zero width and bidirectional marks, variation selectors,
 * fillers, tags. Every line break other than U+000A becomes U+000A. It keeps invisible characters that are needed:
 * joiners in emoji and in scripts that use them, the zero width space of scripts without spaces, variation selectors
 * after a character that has variants, direction marks among right-to-left letters, tags of the three subdivision
 * flags. For rare scripts (Mongolian, Brahmi, hieroglyphs, ...) this function may name a character that Claude Code
 * would keep.
 */
export function firstAlteredCharacter(text: string): AlteredCharacter | undefined {
  SUSPECT.lastIndex = 0;
  const lines = lineSearch(text);
  for (let match = SUSPECT.exec(text); match !== null; match = SUSPECT.exec(text)) {
    const offset = match.index;
    const codePoint = match[0].codePointAt(0) ?? 0;
    if (!staysInPlace(codePoint, { text, offset, lines })) {
      return { offset, codePoint, name: nameOf(codePoint) };
    }
  }
  return undefined;
}

/** All characters that are removed or replaced, unless the characters around them prevent it. */
const SUSPECTS = String.raw`\x00-\x08\x0B-\x1F\x7F-\x9F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5` +
  String.raw`\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0` +
  String.raw`\uFFF0-\uFFFB\u{110BD}\u{13430}-\u{1343F}\u{16FE4}\u{1BCA0}-\u{1BCA3}` +
  String.raw`\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}\p{Cs}`;
const SUSPECT = new RegExp(`[${SUSPECTS}]`, "gu");
const HIDDEN = new RegExp(`^[${SUSPECTS}]$`, "u");

const LETTER = /^\p{L}$/u;
const MARK = /^\p{M}$/u;
const DIGIT = /^\p{Nd}$/u;
const ASCII_DIGIT = /^[0-9]$/;
const SPACE = /^\p{White_Space}$/u;
const PICTURE = /^\p{Extended_Pictographic}$/u;
const VARIED = /^[\p{Emoji}\p{Extended_Pictographic}]$/u;
const VARIED_OPERATOR = /^(?=[\u2200-\u2BFF])\p{Sm}$/u;
const KEYCAP = /^[0-9#*]$/;
const EMOJI_PART = /^[\uFE0F\u{1F3FB}-\u{1F3FF}]$/u;
const RIGHT_TO_LEFT = scripts("Arab Hebr Syrc Thaa Nkoo Samr Mand Adlm Rohg Yezi");
const ARABIC_LIKE = scripts("Arab Syrc Thaa Rohg");
const JOINED_AHEAD = scripts("Arab Syrc Mong Nkoo");
const WITHOUT_SPACES = scripts("Khmr Thai Laoo Mymr");
const NON_JOINED = scripts(
  "Arab Syrc Nkoo Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr Tibt",
);
const JOINED = scripts(
  "Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr Tibt Arab Syrc Tfng",
);
const KHMER = scripts("Khmr");
const FLAGS_WITH_TAGS: readonly string[] = ["gbeng", "gbsct", "gbwls"];

/** The maximum number of characters that are examined before a suspect. */
const LOOK_BACK = 16;

/**
 * Patterns of the characters, and of the characters and shared marks, of some scripts. Compiling them takes
 * milliseconds, and few prompts need them.
 */
function scripts(codes: string): { readonly own: RegExp; readonly shared: RegExp } {
  const set = (property: string) =>
    new RegExp(`^[${codes.split(" ").map((code) => `\\p{${property}=${code}}`).join("")}]$`, "u");
  let [own, shared]: (RegExp | undefined)[] = [];
  return {
    get own() {
      return own ??= set("sc");
    },
    get shared() {
      return shared ??= set("scx");
    },
  };
}

/** Whether Claude Code keeps a suspect, if all text before it is unchanged. */
function staysInPlace(
  codePoint: number,
  { text, offset, lines }: {
    readonly text: string;
    readonly offset: number;
    readonly lines: LineSearch;
  },
): boolean {
  const before = charactersBefore(text, offset);
  const [previous] = before;
  const afterHidden = previous !== undefined && HIDDEN.test(previous);
  const visiblePrevious = afterHidden ? undefined : previous;
  const next = characterAt(text, offset + (codePoint > 0xffff ? 2 : 1));
  const visibleNext = next === undefined || HIDDEN.test(next) ? undefined : next;
  const precedes = (pattern: RegExp) =>
    visiblePrevious !== undefined && pattern.test(visiblePrevious);
  const follows = (pattern: RegExp) => visibleNext !== undefined && pattern.test(visibleNext);

  switch (codePoint) {
    case 0x200c:
      return followsLetterOf(NON_JOINED, before) ||
        (visiblePrevious !== undefined && !precedes(SPACE) && !precedes(MARK) &&
          follows(LETTER) && follows(NON_JOINED.own));
    case 0x200d:
      return followsLetterOf(JOINED, before) || joinsPictures(before, visibleNext) ||
        (visiblePrevious !== undefined && !precedes(LETTER) && !precedes(DIGIT) &&
          !precedes(MARK) && follows(LETTER) && follows(JOINED_AHEAD.own));
    case 0x200b: {
      const ahead = follows(WITHOUT_SPACES.own) && !follows(MARK);
      return (followsCharacterOf(WITHOUT_SPACES, before) && (ahead || follows(ASCII_DIGIT))) ||
        (ahead && precedes(ASCII_DIGIT));
    }
    case 0xfe0e:
    case 0xfe0f:
      return (precedes(VARIED) && (previous?.codePointAt(0) ?? 0) >= 0xa9) ||
        (precedes(KEYCAP) && next === "\u20E3");
    case 0xfe00:
      return precedes(VARIED_OPERATOR);
    case 0x034f:
      return precedes(MARK) || (!afterHidden && follows(MARK));
    case 0x17b4:
    case 0x17b5:
      return followsLetterOf(KHMER, before);
    case 0x061c:
    case 0x200e:
    case 0x200f:
      return !afterHidden &&
        lines(codePoint === 0x061c ? ARABIC_LIKE.own : RIGHT_TO_LEFT.own, offset) &&
        (next === undefined || isLineBreak(next) ||
          (visibleNext !== undefined && !follows(MARK))) &&
        !standsBetweenAlikes(before, next);
    default:
      return codePoint >= 0xe0061 && codePoint <= 0xe007f && isFlagTag(text, offset);
  }
}

/**
 * Whether the preceding character belongs to one of some writing systems. Marks that several writing systems share
 * are skipped.
 */
function followsCharacterOf(
  { own, shared }: { readonly own: RegExp; readonly shared: RegExp },
  before: readonly string[],
): boolean {
  if (before[0] === undefined || HIDDEN.test(before[0])) return false;
  const base = before.find((character) => !MARK.test(character));
  return base !== undefined && own.test(base) &&
    before.slice(0, before.indexOf(base)).every((mark) => shared.test(mark));
}

function followsLetterOf(
  script: { readonly own: RegExp; readonly shared: RegExp },
  before: readonly string[],
): boolean {
  const base = before.find((character) => !MARK.test(character));
  return base !== undefined && LETTER.test(base) && followsCharacterOf(script, before);
}

/** Whether a joiner is between two pictures. The first picture may have a selector and a skin tone. */
function joinsPictures(before: readonly string[], next: string | undefined): boolean {
  const parts = before.slice(0, 2).findIndex((character) => !EMOJI_PART.test(character));
  const picture = before[parts === -1 ? 2 : parts];
  return before[0] !== "\u200D" && picture !== undefined && PICTURE.test(picture) &&
    next !== undefined && PICTURE.test(next);
}

/** Whether the line around an offset holds a letter that a pattern matches. */
type LineSearch = (pattern: RegExp, offset: number) => boolean;

/** Searches the lines of a text. Each line is searched only once, for any number of offsets. */
function lineSearch(text: string): LineSearch {
  let line = { start: 0, end: -1, known: new Map<RegExp, boolean>() };
  return (pattern, offset) => {
    if (offset < line.start || offset > line.end) {
      const start = text.lastIndexOf("\n", offset) + 1;
      const length = text.slice(offset).search(/[\n\v\f\r\x85\u2028\u2029]/);
      line = { start, end: length === -1 ? text.length : offset + length, known: new Map() };
    }
    let holds = line.known.get(pattern);
    if (holds === undefined) {
      holds = [...text.slice(line.start, line.end)]
        .some((character) => LETTER.test(character) && pattern.test(character));
      line.known.set(pattern, holds);
    }
    return holds;
  };
}

function isLineBreak(character: string): boolean {
  return /^[\n\v\f\r\x85\u2028\u2029]$/.test(character);
}

/** Whether a direction mark has no effect, because letters of one direction, or digits, are on both sides. */
function standsBetweenAlikes(before: readonly string[], next: string | undefined): boolean {
  if (next === undefined) return false;
  const letter = LETTER.test(next);
  if (!letter && !DIGIT.test(next)) return false;
  const base = before.find((character) => HIDDEN.test(character) || !MARK.test(character));
  if (base === undefined) return before.length >= LOOK_BACK;
  if (HIDDEN.test(base)) return true;
  return letter ? LETTER.test(base) && runsLeft(base) === runsLeft(next) : DIGIT.test(base);
}

function runsLeft(letter: string): boolean {
  return letter === "\u0640" || RIGHT_TO_LEFT.own.test(letter);
}

/** Whether a tag belongs to a complete flag of England, Scotland or Wales. */
function isFlagTag(text: string, offset: number): boolean {
  const start = text.lastIndexOf("\u{1F3F4}", offset);
  if (start === -1) return false;
  const flag = [...text.slice(start, start + 14)];
  const tags = flag.slice(1, 6).map((tag) =>
    String.fromCodePoint((tag.codePointAt(0) ?? 0) & 0x7f)
  );
  return offset < start + 14 && flag.length === 7 && flag[6] === "\u{E007F}" &&
    flag.slice(1, 6).every((tag) => (tag.codePointAt(0) ?? 0) >= 0xe0061) &&
    FLAGS_WITH_TAGS.includes(tags.join(""));
}

function characterAt(text: string, offset: number): string | undefined {
  const codePoint = text.codePointAt(offset);
  return codePoint === undefined ? undefined : String.fromCodePoint(codePoint);
}

/** The characters before `offset`, the nearest first, at most {@linkcode LOOK_BACK}. */
function charactersBefore(text: string, offset: number): readonly string[] {
  return [...text.slice(Math.max(0, offset - 2 * LOOK_BACK), offset)].slice(-LOOK_BACK).reverse();
}

const NAMES: ReadonlyMap<number, string> = new Map([
  [0x0b, "vertical tab"],
  [0x0c, "form feed"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x7f, "delete"],
  [0x85, "next line"],
  [0xad, "soft hyphen"],
  [0x34f, "combining grapheme joiner"],
  [0x61c, "Arabic letter mark"],
  [0x200b, "zero width space"],
  [0x200c, "zero width non-joiner"],
  [0x200d, "zero width joiner"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x2060, "word joiner"],
  [0x3164, "Hangul filler"],
  [0xfeff, "byte order mark"],
]);

function nameOf(codePoint: number): string {
  const code = `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
  return `${code} (${NAMES.get(codePoint) ?? kindOf(codePoint)})`;
}

function kindOf(codePoint: number): string {
  if (codePoint < 0xa0) return "control character";
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return "half of a surrogate pair";
  if (codePoint >= 0xfe00 && codePoint <= 0xfe0f) return "variation selector";
  if (codePoint >= 0xe0000) return "tag character";
  if (codePoint >= 0x202a && codePoint <= 0x202e) return "direction override";
  return "invisible character";
}
