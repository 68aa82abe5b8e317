import type { Cast, CastEvent } from "../../src/cassette/cast.ts";

/** A cast whose output is cut at other places: each number cuts one event, counted over all characters. */
export function cutAnew({ header, events }: Cast, cuts: readonly number[]): Cast {
  const length = events.reduce((sum, { code, data }) => sum + (code === "o" ? data.length : 0), 0);
  const places = new Set(cuts.map((cut) => cut % length));
  let place = 0;
  const cut = (event: CastEvent): readonly CastEvent[] => {
    if (event.code !== "o") return [event];
    const parts = [""];
    for (const character of event.data) {
      if (places.has(place)) parts.push("");
      parts.push(`${parts.pop()}${character}`);
      place += character.length;
    }
    return parts.filter((data) => data !== "").map((data) => ({ ...event, data }));
  };
  return { header, events: events.flatMap(cut) };
}
