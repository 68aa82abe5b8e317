import type { Deeds } from "./deeds.ts";
import { asText } from "../../../json_object.ts";

/** What was done, in the tense of either run. */
interface Words {
  readonly past: string;
  readonly present: string;
}

/** Longer keys are cut in a sentence. */
const MAX_TYPED = 60;

/** Says how two runs differ at a moment: "the recorded run … and this one …"; nothing when they do the same. */
export function describeDifference(recorded: Deeds, now: Deeds): string | undefined {
  const sameKeys = recorded.typed === now.typed &&
    recorded.replies.join() === now.replies.join();
  const sameRest = recorded.others.join() === now.others.join();
  if (sameKeys && sameRest) return undefined;
  const parts = { keys: !sameKeys, rest: !sameRest };
  const before = wordsOf(recorded, parts).map(({ past }) => past);
  const after = wordsOf(now, parts).map(({ present }) => present);
  // The same words for two things: they differ in what a sentence leaves out.
  const details = wordsOf(now, parts).map(({ past }) => past).join() === before.join();
  return `the recorded run ${listed(before, "did nothing")}, and this one ${
    listed(after, "does nothing")
  }${details ? " with other details" : ""}`;
}

function wordsOf(
  deeds: Deeds,
  parts: { readonly keys: boolean; readonly rest: boolean },
): readonly Words[] {
  const keys = deeds.typed + deeds.replies.join("");
  return [
    ...(parts.keys && keys !== "" ? [typing(keys)] : []),
    ...(parts.rest ? deeds.others.map((other) => wordsOfEffect(JSON.parse(other))) : []),
  ];
}

function typing(keys: string): Words {
  const shown = JSON.stringify(keys.slice(0, MAX_TYPED)) + (keys.length > MAX_TYPED ? "…" : "");
  return { past: `typed ${shown}`, present: `types ${shown}` };
}

function wordsOfEffect(effect: Readonly<Record<string, unknown>>): Words {
  switch (effect["type"]) {
    case "look":
      return { past: "looked at the screen", present: "looks at the screen" };
    case "answer": {
      const reply = effect["reply"] === undefined ? "" : ` with ${JSON.stringify(effect["reply"])}`;
      return { past: `answered a hook${reply}`, present: `answers a hook${reply}` };
    }
    case "mcp-message":
      return {
        past: "answered a server's call",
        present: "answers a server's call",
      };
    case "consult":
      return {
        past: "asked a headless Claude Code",
        present: "asks a headless Claude Code",
      };
    case "deliver":
      return { past: "delivered the prompt", present: "delivers the prompt" };
    case "kill": {
      const whom = effect["tree"] === true ? "the child and its tools" : "the child";
      const rest = `${asText(effect["signal"])} to ${whom}`;
      return { past: `sent ${rest}`, present: `sends ${rest}` };
    }
    case "resize": {
      const { cols, rows } = effect["size"] as { readonly cols: unknown; readonly rows: unknown };
      const rest = `the terminal ${asText(cols)}x${asText(rows)} cells`;
      return { past: `made ${rest}`, present: `makes ${rest}` };
    }
    case "list-shells":
      return { past: "looked which shells run", present: "looks which shells run" };
    case "follow-shell":
      return {
        past: `followed shell ${asText(effect["id"])}`,
        present: `follows shell ${asText(effect["id"])}`,
      };
    case "leave-shell":
      return {
        past: `left shell ${asText(effect["id"])}`,
        present: `leaves shell ${asText(effect["id"])}`,
      };
    case "report": {
      const { exitCode, problem } = effect["report"] as {
        readonly exitCode: unknown;
        readonly problem?: { readonly message?: unknown };
      };
      const words = problem === undefined ? "" : ` and "${asText(problem.message)}"`;
      return {
        past: `told exit code ${asText(exitCode)}${words}`,
        present: `tells exit code ${asText(exitCode)}${words}`,
      };
    }
    case "end": {
      const { kind } = effect["ending"] as { readonly kind: unknown };
      return { past: `ended as "${asText(kind)}"`, present: `ends as "${asText(kind)}"` };
    }
    default: {
      const rest = `something unknown ("${asText(effect["type"])}")`;
      return { past: `did ${rest}`, present: `does ${rest}` };
    }
  }
}

function listed(words: readonly string[], nothing: string): string {
  return words.length === 0 ? nothing : words.join(" and ");
}
