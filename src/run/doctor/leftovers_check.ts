import type { SweptFolder } from "../../sandbox/folder/sweep.ts";
import type { Check } from "./check.ts";

/**
 * Whether runs that were killed, or could not bring a transcript home, have left folders behind.
 *
 * @param options.swept what a dry run of the sweep found in the `places`
 */
export function leftoversCheck(
  { swept, places }: { readonly swept: readonly SweptFolder[]; readonly places: readonly string[] },
): Check {
  const name = "leftovers";
  const paths = (verdict: SweptFolder["verdict"]) =>
    swept.filter((folder) => folder.verdict === verdict).map(({ path }) => path);
  const abandoned = paths("abandoned");
  const kept = swept.filter(({ verdict }) => verdict === "kept");
  const data = {
    folders: places,
    abandoned,
    kept: kept.map(({ path, reason }) => ({ path, reason })),
    live: paths("live"),
    foreign: paths("foreign"),
  };
  if (abandoned.length > 0) {
    const [first = "", ...others] = abandoned;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return {
      name,
      ok: false,
      detail: `A run left ${first}${more}`,
      suggestion: "Bring transcripts home and remove what is left: claude-print sweep",
      data,
    };
  }
  const [first] = kept;
  if (first !== undefined) {
    return {
      name,
      ok: false,
      detail: `Cannot sweep ${first.path}: ${first.reason}`,
      suggestion: "Look into the folder, and remove it yourself",
      data,
    };
  }
  return { name, ok: true, detail: `none in ${places.join(", ")}`, data };
}
