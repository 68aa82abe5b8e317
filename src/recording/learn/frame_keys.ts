import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Objects whose keys are no names of fields but of models and the like. */
const MAPS = ["modelUsage", "model_usage_since_last_result", "by_type"];

/** What the API, a tool, a hook, the transcript or the caller has put into a frame: Claude Code passes it on. */
const PASSED_ON = [
  ...["entries", "event", "input", "schema", "structured_output", "tool_input", "tool_use_result"],
  ...["request.message", "response.response"],
];

/**
 * What kind a frame is: its type and subtype, and what is within it where that says what the other keys are:
 * `system/init`, `assistant`, `result/success`, `stream_event/message_start`, `control_request/can_use_tool`.
 */
export function kindOf({ type, subtype, request, response, event }: JsonObject): string {
  const inner = type === "control_request"
    ? fieldOf(request, "subtype")
    : type === "control_response"
    ? fieldOf(response, "subtype")
    : type === "stream_event"
    ? fieldOf(event, "type")
    : subtype;
  return inner === undefined ? `${type}` : `${type}/${inner}`;
}

function fieldOf(value: unknown, key: string): unknown {
  return isJsonObject(value) ? value[key] : undefined;
}

/** The kind whose objects stand for those of the others with the same type, where both have the same keys. */
const USUAL = "result/success";

/** The keys of each kind of frame that was added, and of the objects in it. */
export class FrameKeys {
  /** By kind or path: each order of keys that was seen. */
  readonly #orders = new Map<string, Map<string, readonly string[]>>();

  /**
   * Adds a frame.
   *
   * @param asked the subtype of the control request that it answers: `control_response/SUBTYPE` has the keys of the answer
   */
  add(frame: JsonObject, asked?: string): void {
    this.#addObject(frame, kindOf(frame), "");
    const answer = fieldOf(frame["response"], "response");
    if (asked !== undefined && isJsonObject(answer)) {
      this.#addOrder(`control_response/${asked}`, answer);
    }
  }

  /** Keys in the order in which they are printed, by kind or path, a `?` behind those that some objects lack. */
  words(): Readonly<Record<string, string>> {
    const all = new Map(
      [...this.#orders].map(([path, each]) => [path, wordsOf([...each.values()])]),
    );
    const isUsual = (path: string, words: string) => {
      const [, inner] = /^result\/\w+(\..*)/u.exec(path) ?? [];
      return inner !== undefined && !path.startsWith(USUAL) &&
        all.get(`${USUAL}${inner}`) === words;
    };
    return Object.fromEntries(
      [...all].filter(([path, words]) => words !== "" && !isUsual(path, words))
        .toSorted(([one], [other]) => one < other ? -1 : 1),
    );
  }

  #addOrder(path: string, object: JsonObject): void {
    const keys = Object.keys(object);
    const orders = this.#orders.get(path) ?? new Map<string, readonly string[]>();
    this.#orders.set(path, orders.set(keys.join(" "), keys));
  }

  /** `inner` is the way from the frame to the object. */
  #addObject(object: JsonObject, kind: string, inner: string): void {
    this.#addOrder(`${kind}${inner}`, object);
    for (const [key, value] of Object.entries(object)) {
      const path = `${inner}.${key}`;
      if (PASSED_ON.some((each) => key === each || path === `.${each}`)) continue;
      const isMap = MAPS.includes(key);
      if (isJsonObject(value) && !isMap) this.#addObject(value, kind, path);
      const elements = Array.isArray(value) ? value : isMap ? Object.values(value ?? {}) : [];
      for (const element of elements) {
        if (!isJsonObject(element)) continue;
        const { type } = element;
        const of = isMap ? ".*" : key === "content" ? `[]/${type}` : "[]";
        this.#addObject(element, kind, `${path}${of}`);
      }
    }
  }
}

/**
 * One order of keys for several. The longest comes first, and a key that is missing in it comes behind the one that it
 * follows: the result depends on which orders were seen, not on when.
 */
function wordsOf(orders: readonly (readonly string[])[]): string {
  const sorted = orders.toSorted((one, other) =>
    other.length - one.length || (one.join(" ") < other.join(" ") ? -1 : 1)
  );
  const merged: string[] = [];
  for (const order of sorted) {
    order.forEach((key, index) => {
      if (merged.includes(key)) return;
      const before = order[index - 1];
      merged.splice(before === undefined ? 0 : merged.indexOf(before) + 1, 0, key);
    });
  }
  return merged.map((key) => orders.every((order) => order.includes(key)) ? key : `${key}?`)
    .join(" ");
}
