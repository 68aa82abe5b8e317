/** What one version of Claude Code showed at one size of the terminal, up to a dialog that stands, or to none. */
export interface DialogRecording {
  readonly version: string;
  readonly size: { readonly rows: number; readonly cols: number };
  /** The terminal's bytes: up to the first key, up to the second, and so on. */
  readonly shown: readonly Uint8Array[];
  /** The keys that were typed in between. */
  readonly typed: readonly string[];
}

/** One line of a recording. */
interface Line {
  readonly version: string;
  readonly cols: number;
  readonly rows: number;
  readonly shown: readonly string[];
  readonly typed?: readonly string[];
}

const encoder = new TextEncoder();

/** The recordings of that name in `fixtures/recordings/dialogs`, one for each size. */
export function readDialogRecordings(name: string): readonly DialogRecording[] {
  const url = new URL(`../../../fixtures/recordings/dialogs/${name}.jsonl`, import.meta.url);
  return Deno.readTextFileSync(url).trimEnd().split("\n").map((text) => {
    const { version, cols, rows, shown, typed = [] } = JSON.parse(text) as Line;
    const bytes = shown.map((each) => encoder.encode(each));
    return { version, size: { rows, cols }, shown: bytes, typed };
  });
}
