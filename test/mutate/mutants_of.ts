import { resolve } from "node:path";
import type { Change } from "./mutants.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "../..");

/** A change of a source file. */
export interface Mutant extends Change {
  /** `PATH:LINE:COLUMN:RULE`. */
  readonly id: string;
  /** The file, as a path from the root. */
  readonly path: string;
  /** The first line that differs, before and after the change. */
  readonly before: string;
  readonly after: string;
  /** The whole file after the change. */
  readonly changed: string;
}

/** Returns the mutants of source files, in the order of the files and of their text. */
export async function mutantsOf(paths: readonly string[]): Promise<readonly Mutant[]> {
  const folder = await Deno.makeTempDir({ prefix: "mutants-" });
  try {
    const config = `${folder}/deno.json`;
    const plugins = [resolve(import.meta.dirname ?? ".", "mutants.ts")];
    const rules = { tags: [], include: ["mutate/mutants"] };
    await Deno.writeTextFile(config, JSON.stringify({ lint: { plugins, rules } }));
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["lint", "--config", config, "--json", ...paths],
      cwd: ROOT,
    }).output();
    const { diagnostics, errors } = JSON.parse(new TextDecoder().decode(stdout)) as Findings;
    if (errors.length > 0) throw new Error(new TextDecoder().decode(stderr));
    const reported = Map.groupBy(
      diagnostics,
      ({ filename }) => filename.slice(`file://${ROOT}/`.length),
    );
    return paths.flatMap((path) =>
      (reported.get(path) ?? []).map(({ message }) => JSON.parse(message) as Change)
        .toSorted((one, other) => one.start - other.start || one.rule.localeCompare(other.rule))
        .map((change) => asMutant(path, change))
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What `deno lint --json` prints. */
interface Findings {
  readonly diagnostics: readonly { readonly filename: string; readonly message: string }[];
  readonly errors: readonly unknown[];
}

const texts = new Map<string, string>();

function asMutant(path: string, change: Change): Mutant {
  const text = texts.get(path) ?? Deno.readTextFileSync(`${ROOT}/${path}`);
  texts.set(path, text);
  const { start, end, rule } = change;
  const changed = `${text.slice(0, start)}${change.text}${text.slice(end)}`;
  const [before, after] = [text.split("\n"), changed.split("\n")];
  const above = text.slice(0, start).split("\n");
  const at = before.findIndex((line, index) => line !== after[index]);
  return {
    ...change,
    path,
    id: `${path}:${above.length}:${(above.at(-1)?.length ?? 0) + 1}:${rule}`,
    before: before[at]?.trim() ?? "",
    after: after[at]?.trim() ?? "",
    changed,
  };
}
