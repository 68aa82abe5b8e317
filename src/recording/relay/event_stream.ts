/** An event of a stream of the type `text/event-stream`. */
export interface ServerSentEvent {
  /** Its name; `message` where it has none. */
  readonly name: string;
  readonly data: string;
}

/** Most characters of an event that is not complete: more is no stream of events. */
const MAX_PENDING = 64 * 1024 * 1024;

/**
 * Reads a stream of events, in the format of the HTML standard, from bytes that may be cut anywhere.
 *
 * @returns takes bytes and gives the events that they complete
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
    // The line feed of a pair of which the carriage return has ended the line already.
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
