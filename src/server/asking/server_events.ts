/** An event of a stream as HTML's standard on server-sent events has it. */
export interface ServerEvent {
  /** The last id that was told; empty where none was. */
  readonly id: string;
  /** What kind of event it is. */
  readonly event: string;
  readonly data: string;
}

/** The longest event that is taken, in UTF-16 units. */
const LONGEST = 64 * 1024 * 1024;

/**
 * The events of a stream, as it comes; one that is cut off by its end is none.
 *
 * @throws {RangeError} when an event is longer than any that a server of ours tells
 */
export async function* serverEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  let id = "";
  let event = "";
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (data.length > 0) {
        yield { id, event: event === "" ? "message" : event, data: data.join("\n") };
      }
      [event, data] = ["", []];
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*)(?::[ ]?(.*))?$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  }
}

async function* linesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  const pieces: string[] = [];
  let length = 0;
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const [first = "", ...others] = text.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > LONGEST) throw new RangeError("The server tells an event that is too long");
    for (const other of others) {
      yield pieces.join("").replace(/\r$/u, "");
      pieces.splice(0, pieces.length, other);
      length = other.length;
    }
  }
}
