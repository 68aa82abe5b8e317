import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { strangerToTurn } from "./stranger_to_turn.ts";

/** What becomes of a transcript that is cut; that there is no such message; or what keeps it from being cut there: a clause. */
export type CutTranscript =
  | { readonly kind: "cut"; readonly text: string }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly by: "message" | "turn"; readonly reason: string };

/** A line and its object, where it is one. */
interface Line {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * Shortens a transcript to a message and all before it, as `claude -p` shortens the conversation.
 *
 * What says something of the whole session, such as its title, stays, wherever it stands. Only messages of the
 * conversation's last branch are to be had, and only ends of an answer: to a conversation that ends in a prompt, a call
 * or a result the interactive Claude Code adds words of its own, which `claude -p` does not when it cuts.
 *
 * @param text the whole transcript
 * @param options.upTo the uuid of the last message that stays
 * @param options.dropsTurn the uuid of a prompt: nothing but its turn may go
 */
export function cutTranscript(
  text: string,
  { upTo, dropsTurn }: { readonly upTo: string; readonly dropsTurn: string | undefined },
): CutTranscript {
  const lines = inOrder(text.split("\n").map(lineOf).filter((line) => line !== undefined), upTo);
  const chain = lastBranch(lines);
  const at = lines.findIndex(({ value }) => value["uuid"] === upTo);
  if (at < 0 || !chain.has(upTo)) return { kind: "absent" };
  const inChain = ({ value }: Line) => chain.has(asText(value["uuid"]));
  const kept = lines.slice(0, at + 1);
  const spoken = kept.filter(inChain).filter(({ value }) => isSpoken(value));
  if (!isEndOfAnswer(spoken)) {
    return refused(
      "message",
      `the message "${upTo}" is not the end of an answer, and the interactive Claude Code adds to what ends elsewhere`,
    );
  }
  const rest = lines.slice(at + 1);
  if (dropsTurn !== undefined) {
    const dropped = rest.filter(inChain).map(({ value }) => value);
    const stranger = strangerToTurn(dropped, dropsTurn);
    if (stranger !== undefined) {
      return refused("turn", `more than the turn "${dropsTurn}" would be left out: ${stranger}`);
    }
  }
  const gone = new Set(rest.flatMap(({ value }) => uuidOf(value)));
  const stays = rest.filter(({ value }) =>
    uuidOf(value).length === 0 &&
    !Object.values(value).some((field) => typeof field === "string" && gone.has(field))
  );
  return { kind: "cut", text: [...kept, ...stays].map((line) => `${line.text}\n`).join("") };
}

/** The lines, with those that a message descends from before it: 2.1.197 now and then writes a prompt after its answer. */
function inOrder(lines: readonly Line[], upTo: string): readonly Line[] {
  const at = lines.findIndex(({ value }) => value["uuid"] === upTo);
  const parents = new Map(
    lines.flatMap(({ value }) => uuidOf(value).map((uuid) => [uuid, value["parentUuid"]] as const)),
  );
  const ancestors = new Set<unknown>();
  for (let uuid = parents.get(upTo); typeof uuid === "string" && !ancestors.has(uuid);) {
    ancestors.add(uuid);
    uuid = parents.get(uuid);
  }
  const isLate = ({ value }: Line) => ancestors.has(value["uuid"]);
  const rest = lines.slice(at);
  return at < 0
    ? lines
    : [...lines.slice(0, at), ...rest.filter(isLate), ...rest.filter((line) => !isLate(line))];
}

function refused(by: "message" | "turn", reason: string): CutTranscript {
  return { kind: "refused", by, reason };
}

function lineOf(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { text, value } : undefined;
  } catch {
    return undefined;
  }
}

function uuidOf({ uuid }: JsonObject): readonly string[] {
  return typeof uuid === "string" ? [uuid] : [];
}

/** The uuids from the last message up to the beginning, or to the last compaction, and of all results of its calls. */
function lastBranch(lines: readonly Line[]): ReadonlySet<string> {
  const byUuid = new Map(
    lines.flatMap(({ value }) => uuidOf(value).map((uuid) => [uuid, value] as const)),
  );
  const chain = new Set<string>();
  const leaf = lines.findLast(({ value }) => isSpoken(value));
  for (let at = leaf?.value["uuid"]; typeof at === "string" && !chain.has(at);) {
    chain.add(at);
    at = byUuid.get(at)?.["parentUuid"];
  }
  const answers = new Set([...chain].flatMap((uuid) => messageId(byUuid.get(uuid) ?? {}) ?? []));
  // Of calls at once only one with its result is in the line of descent, and so is nothing that follows the leaf.
  for (const { value } of lines) {
    const { parentUuid, type } = value;
    if (typeof parentUuid !== "string" || !chain.has(parentUuid)) continue;
    const belongs = isResult(value) || type === "attachment" || type === "system" ||
      answers.has(messageId(value) ?? "");
    if (belongs) { for (const uuid of uuidOf(value)) chain.add(uuid); }
  }
  return chain;
}

function isSpoken({ type, isSidechain }: JsonObject): boolean {
  return (type === "user" || type === "assistant") && isSidechain !== true;
}

function isEndOfAnswer(spoken: readonly Line[]): boolean {
  const last = spoken.at(-1)?.value;
  if (last === undefined || last["type"] !== "assistant") return false;
  const id = messageId(last);
  const parts = spoken.filter(({ value }) => id !== undefined && messageId(value) === id);
  return !parts.some(({ value }) => blocksOf(value).some(({ type }) => type === "tool_use"));
}

function messageId({ message }: JsonObject): string | undefined {
  const id = isJsonObject(message) ? message["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

function isResult(value: JsonObject): boolean {
  return value["type"] === "user" && blocksOf(value).some(({ type }) => type === "tool_result");
}

function blocksOf({ message }: JsonObject): readonly JsonObject[] {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}
