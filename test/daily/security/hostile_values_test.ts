import { assert } from "@std/assert";
import type { CastEvent } from "../../../src/recording/cassette/cassette_format.ts";
import { replayCast } from "../../../src/recording/cassette/replay_cast.ts";
import { isJsonObject } from "../../../src/json_object.ts";
import { RECORDED_RUNS } from "../../recording/cassette/recorded_runs.ts";

/** An object that no template and no `String` takes, as JSON can hold it. */
const HOSTILE = { toString: {}, valueOf: {} };
/** Fields of inputs that come from outside: lines of transcripts, payloads of hooks, messages of servers. */
const OUTSIDE = ["line", "lines", "payload", "message"];
/** Inputs whose fields of such a name hold what was looked at before: a caller's message, and counts of lines. */
const LOOKED_AT = ["message", "cost"];
const NEWEST = "2.1.332";
/** Runs that have most fields between them. */
const RUNS = /\/(?:api-error|background|denied-tool|subagent|tools)$/u;

/** The names of all fields in a value. */
function fieldsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsIn);
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([field, each]) => [field, ...fieldsIn(each)])
    : [];
}

/** A value in which each field of that name is hostile. */
function withHostile(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((each) => withHostile(each, field));
  return isJsonObject(value)
    ? Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        name === field ? HOSTILE : withHostile(each, field),
      ]),
    )
    : value;
}

/** An input of a recording, with what comes from outside as it is made. */
function altered(event: CastEvent, make: (value: unknown) => unknown): CastEvent {
  if (event.code !== "h") return event;
  const input = JSON.parse(event.data);
  const outside = OUTSIDE.filter((field) => field in input && !LOOKED_AT.includes(input.type));
  for (const field of outside) input[field] = make(input[field]);
  return { ...event, data: JSON.stringify(input) };
}

/** Fields that have been hostile in a run before: those of another version are the same but for a few. */
const tried = new Set<string>();

for (
  const { name, cassette: { cast } } of RECORDED_RUNS.filter(({ name }) => RUNS.test(name))
    .toReversed()
) {
  const [version = "", what = ""] = name.split("/");
  Deno.test(`no type of a field ends a run: ${name}`, () => {
    const fields = new Set<string>();
    for (const event of cast.events) {
      altered(event, (value) => {
        for (const field of fieldsIn(value)) fields.add(field);
        return value;
      });
    }
    assert(fields.size > 50);
    for (const field of fields) {
      if (version !== NEWEST && tried.has(`${what} ${field}`)) continue;
      tried.add(`${what} ${field}`);
      const events = cast.events.map((event) =>
        altered(event, (value) => withHostile(value, field))
      );
      // An input that is none is refused by name before any machine sees it.
      replayCast({ ...cast, events });
    }
  });
}
