/** What XML 1.0 allows, without the controls of C1, and without what turns the direction of text. */
const UNFIT = /[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Bidi_Control}/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Any text as the content of an XML element or attribute; what cannot be in one is left out. */
export function xmlText(text: string): string {
  return text.replace(UNFIT, "").replace(/[&<>"]/gu, (character) => ENTITIES[character] ?? "");
}
