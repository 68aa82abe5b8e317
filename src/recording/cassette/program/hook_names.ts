import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/**
 * How the caller of this run calls the hooks of the recorded one: an SDK numbers them, and who adds one moves the others.
 * Hooks are the same when they stand at the same place of the same event.
 *
 * @param recorded the `initialize` of the tape, and `live` that of this run
 * @returns by the recorded name; what is missing this caller does not have
 */
export function hookNames(recorded: JsonObject, live: JsonObject): ReadonlyMap<string, string> {
  const now = new Map(hooksOf(live).map(({ place, name }) => [place, name]));
  return new Map(
    hooksOf(recorded).flatMap(({ place, name }) => {
      const other = now.get(place);
      return other === undefined ? [] : [[name, other] as const];
    }),
  );
}

function hooksOf(
  { hooks }: JsonObject,
): readonly { readonly place: string; readonly name: string }[] {
  if (!isJsonObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : []).flatMap((matcher, index) => {
      const names = isJsonObject(matcher) ? matcher["hookCallbackIds"] : undefined;
      return (Array.isArray(names) ? names : []).flatMap((name, inner) =>
        typeof name === "string" ? [{ place: `${event}/${index}/${inner}`, name }] : []
      );
    })
  );
}
