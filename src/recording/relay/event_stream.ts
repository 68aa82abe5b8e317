/** An event of the media type `text/event-stream`. */
export interface ServerSentEvent {
  /** The event's name; `message` if it has none. */
  readonly name: string;
  readonly data: string;
}

/** The maximum number of characters of an incomplete event. A longer event is dropped. */
const MAX_PENDING = 64 * 1024 * 1024;

/**
 * Creates a parser for an event stream, as the HTML standard defines it. The bytes may be cut anywhere.
 *
 * @returns takes bytes and returns the events that they complete
 */
export function eventReader(): (bytes: Uint8Array) => readonly ServerSentEvent[] {
  const decoder = new TextDecoder();
  let line = "";
  let isAfterReturn = false;
  let name = "";
  let data: string[] = [];
  let size = 0;
  return (bytes) => {
    const events: ServerSentEvent[] = [];
    const take = (line: string) => {
      if (line === "") {
        if (data.length > 0) events.push({ name: name || "message", data: data.join("\n") });
        name = "";
        data = [];
        size = 0;
        return;
      }
      const [, field = line, value = ""] = /^([^:]*):? ?([^]*)$/u.exec(line) ?? [];
      if (field === "event") name = value;
      if (field !== "data" || size > MAX_PENDING) return;
      data.push(value);
      size += value.length;
    };
    let text = decoder.decode(bytes, { stream: true });
    // The carriage return before this line feed has already ended the line.
    if (isAfterReturn && text !== "") {
      if (text.startsWith("\n")) text = text.slice(1);
      isAfterReturn = false;
    }
    const lines = text.split(/\r\n|\n|\r/u);
    if (text.endsWith("\r")) isAfterReturn = true;
    for (const [index, piece] of lines.entries()) {
      line = line.length > MAX_PENDING ? "" : line + piece;
      if (index === lines.length - 1) break;
      take(line);
      line = "";
    }
    return events;
  };
}
