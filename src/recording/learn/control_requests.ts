import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { VersionProfile } from "../../claude/versions/profile.ts";
import { runPrint } from "./run_print.ts";
import type { Subject } from "./subject.ts";

/** Where the program names subtypes of control requests; most of those found by the second are of other frames. */
const NAMED = [/\brequest\.subtype==="([a-z_]+)"/gu, /\bsubtype:"([a-z_]+)"/gu];

/** It ends the run, so that nothing after it is answered. */
const ENDING = "end_session";
/** Claude Code answers requests in turn: once it has answered this one, it has looked at each one before. */
const LAST = "nonesuch";

/**
 * Measures which subtypes of control requests `claude -p` knows: those it does not reject as unsupported, when it is asked
 * with nothing else in the request.
 */
export async function learnControlRequests(
  subject: Subject,
): Promise<Pick<VersionProfile, "controlRequests">> {
  const named = NAMED.flatMap((pattern) =>
    subject.program.matches(pattern).map(([, name]) => name)
  );
  const candidates = [...new Set(named)].filter((name) => name !== undefined && name !== ENDING)
    .toSorted();
  const rejected = new Set<unknown>();
  await runPrint(subject, {
    args: ["--input-format", "stream-json"],
    talk: {
      start: ({ send }) => {
        for (const subtype of [...candidates, LAST]) {
          send({ type: "control_request", request_id: subtype, request: { subtype } });
        }
      },
      answer: (frame, { send, close }) => {
        const { request_id, error } = responseOf(frame);
        if (`${error}`.startsWith("Unsupported control request")) rejected.add(request_id);
        if (request_id !== LAST) return;
        send({ type: "control_request", request_id: ENDING, request: { subtype: ENDING } });
        close();
      },
    },
  });
  const known = candidates.filter((name) => !rejected.has(name));
  return { controlRequests: [...known, ENDING].toSorted().join(" ") };
}

function responseOf({ response }: JsonObject): JsonObject {
  return isJsonObject(response) ? response : {};
}
