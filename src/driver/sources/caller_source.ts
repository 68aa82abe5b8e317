import { readFd } from "../../../ffi/fd.ts";
import { type Interest, Poller, type Ready } from "../../../ffi/poll.ts";
import type { Message } from "../../session/message.ts";
import { createLineSplitter } from "../../transcript/line_splitter.ts";
import { type CallerLine, readCallerLine } from "../../wire/caller_line.ts";
import type { ControlRequest } from "../../wire/control.ts";

/** What the caller says, as the machines take it. */
export type CallerInput =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "control"; readonly request: ControlRequest }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "closed" };

/** What a caller of a conversation says, line by line as it comes. */
export interface CallerSource {
  /** What to wait for; nothing once there is no more. */
  readonly interests: readonly Interest[];
  /** What has been said since the last time, if a wait found something. */
  readonly take: (ready: readonly Ready[]) => readonly CallerInput[];
  /** Says something again that was taken and not carried out: before anything else. */
  readonly putBack: (inputs: readonly CallerInput[]) => void;
}

/**
 * Reads stream-json from an fd.
 *
 * @param options.judge says how a text reaches the child, if it can
 */
export function createCallerSource(
  options: {
    readonly fd: number;
    readonly judge: (line: Extract<CallerLine, { readonly type: "user" }>) => Message;
  },
): CallerSource {
  const { fd, judge } = options;
  const lines = createLineSplitter();
  const buffer = new Uint8Array(256 * 1024);
  let waiting: CallerInput[] = [];
  let open = true;
  const hear = (line: string) => {
    const said = readCallerLine(line);
    if (said === undefined) return;
    if (said.type !== "user") waiting.push(said);
    else waiting.push({ type: "message", message: judge(said) });
    if (said.type === "unreadable") open = false;
  };
  return {
    // What waits already is there at once.
    get interests() {
      return open ? [{ fd, read: true }] : [];
    },
    take: (ready) => {
      const found = ready.find((one) => one.fd === fd);
      if (open && found !== undefined && (found.readable || found.hangup)) {
        const count = readFd(fd, buffer);
        if (typeof count === "number") {
          for (const line of lines.push(buffer.subarray(0, count))) if (open) hear(line);
        } else if (count === "end") {
          hear(lines.remainder());
          if (open) waiting.push({ type: "closed" });
          open = false;
        }
      }
      const taken = waiting;
      waiting = [];
      return taken;
    },
    putBack: (inputs) => {
      waiting = [...inputs, ...waiting];
    },
  };
}

/** Waits until a caller has said something. */
export async function firstWords(
  source: CallerSource,
  poller: Poller,
  untilMs: number,
): Promise<readonly CallerInput[]> {
  for (;;) {
    const ready = await poller.wait(source.interests, untilMs);
    const said = source.take(ready);
    if (said.length > 0 || source.interests.length === 0) return said;
  }
}
