import type { Message } from "../../control/message.ts";

/** A message, as far as frames name it. */
type Named = Pick<Message, "uuid" | "synthetic">;

/** The messages of a turn. */
export interface AskedMessages {
  /** All that it answers. */
  readonly taken: readonly Named[];
  /** Those of them that have become a part of the turn when it had begun. */
  readonly joined?: readonly Named[];
}

/**
 * Whose messages an answer is to, as far as the caller gave them ids. It names the last of those with which the turn
 * began, and one that has joined it where those have no id, or the last of them was not the user's.
 */
export function askedBy(
  asked: AskedMessages,
): { readonly user_message_uuid?: string; readonly user_message_uuids?: readonly string[] } {
  const uuids = asked.taken.flatMap(({ uuid }) => uuid ?? []);
  const first = begunBy(asked);
  const joined = asked.joined?.findLast(({ uuid }) => uuid !== undefined)?.uuid;
  const uuid = first?.synthetic === true ? joined ?? first.uuid : first?.uuid ?? joined;
  return uuid === undefined ? {} : { user_message_uuid: uuid, user_message_uuids: uuids };
}

/** Whether an answer names a message with which its turn began. */
export function isToFirst(asked: AskedMessages): boolean {
  const first = begunBy(asked);
  return first !== undefined && askedBy(asked).user_message_uuid === first.uuid;
}

/** The last message with an id of those with which a turn began. */
function begunBy({ taken, joined = [] }: AskedMessages): Named | undefined {
  return taken.findLast((message) => message.uuid !== undefined && !joined.includes(message));
}
