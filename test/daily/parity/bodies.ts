import type { LoggedRequest } from "../../../src/recording/learn/messages_api.ts";
import { hash } from "../../parity/mask.ts";
import type { RowRun } from "./run_row.ts";

/** A part of requests in which the interactive Claude Code differs from `claude -p`, and why that stays so. */
interface Allowed {
  readonly why: string;
  /** Its path in a request, names joined by dots. */
  readonly at: RegExp;
  /** The words that are left out; the whole value if absent. */
  readonly words?: RegExp;
  /** Whether only requests of subagents differ. */
  readonly ofSubagents?: true;
}

/** All differences that are allowed. */
const ALLOWED: readonly Allowed[] = [
  {
    why: "the child identifies itself as the interactive Claude Code",
    at: /^body\.system\.0\.text$/u,
    words: /(?<=cc_entrypoint=)(?:sdk-)?cli\b/u,
  },
  { why: "the same", at: /^headers\.user-agent$/u, words: /(?<=external, )(?:sdk-)?cli\b/u },
  {
    why: "the same",
    at: /^body\.system\.1\.text$/u,
    words:
      /^You are (?:Claude Code, Anthropic's official CLI for Claude(?:, running within the Claude Agent SDK)?|a Claude agent, built on Anthropic's Claude Agent SDK)\./u,
  },
  {
    why: "at a terminal it offers the prefix ! for commands, which only -p removes",
    at: /^body\.system\.\d\.text$/u,
    words:
      /^# Session-specific guidance\n|^ - If you need the user to run a shell command.*`! <command>`.*\n?/gmu,
  },
  {
    why:
      "2.1.330 offers forks at a terminal only if all subagents run in the background: one variable controls both",
    at: /^body\.tools\.Agent\.(?:description$|input_schema\.properties\.effort\.)/u,
  },
  {
    why: "the same",
    at: /^body\.system\.\d\.text$/u,
    words:
      /^ - (?:Use the Agent tool with|For broad codebase exploration|Calling Agent with).*\n?/gmu,
  },
  {
    why:
      "2.1.330 limits the time of background shells only without a terminal, and no variable changes that",
    at:
      /^body\.tools\.Bash\.(?:description|input_schema\.properties\.run_in_background\.description)$/u,
    words: /^.*`run_in_background`.*$|^Set to true to run this command in the background\..*$/gmu,
  },
  {
    why: "the same in the result of a call that started one",
    at: /^body\.messages\.\d+\.content\.\d+\.content$/u,
    words:
      /^Command running in background with ID: TASK\.| You will be notified when it completes[^]*$/gu,
  },
  {
    why: "2.1.330 allows a monitor more time at a terminal",
    at:
      /^body\.tools\.Monitor\.(?:description|input_schema\.properties\.timeout_ms\.description)$/u,
    words: /at most \d+ minutes|Deadlines above \d+ms are capped to \d+ms/gu,
  },
  {
    why: "the run's folder and tools that need a person at the terminal are denied",
    at: /^body\.safeguards\.\d+\.classifier_context\.(?:rules\.deny|rule_roots)\./u,
  },
  {
    why: "-p names the part of a command that requires approval, which no hook receives",
    at: /^body\.messages\.\d+\.content\.\d+\.content$/u,
    words:
      /This command requires approval|This Bash command contains multiple .*|\w+ in '[^']*' needs approval\..*/u,
  },
  {
    why: "at a terminal, options of a question may have previews",
    at: /^body\.tools\.AskUserQuestion\.description$/u,
    words: /\n*Preview feature:\n[^]*$/gu,
  },
  {
    why: "2.1.330 shows the thinking of subagents at a terminal, and -p does not print it",
    at:
      /^(?:body\.thinking\.display$|headers\.anthropic-beta\.(?:thinking-display-updates|redact-thinking)-)/u,
    ofSubagents: true,
  },
  {
    why: "-p adds the rest of the budget to the prompt, which a hook could only do in other words",
    at: /^body\.messages\.\d+\.content/u,
    words: /(?:\n\n)?<system-reminder>\n?USD budget: .*\n?<\/system-reminder>|\n*USD budget: .*/u,
  },
  { why: "made by the scripted API for each answer", at: /^body\.messages\..*\.signature$/u },
  {
    why: "the child's config dir is in the run's folder",
    at: /^body\.messages\./u,
    words: /HOME\/(?:tmp\/claude-print-\d+\/[^/]+\/)?\.claude\b/gu,
  },
];

/** Headers of a connection, or without a meaning for the model. */
const LEFT =
  /^(?:content-length|host|connection|x-claude-code-(?:session|agent)-id|x-stainless-retry-count)$/u;

/** Returns the parts of requests that are the same for both programs: leaves by their paths. */
export function maskedRequests(
  { requests, home }: Pick<RowRun, "requests" | "home">,
  { row }: { readonly row: string },
): readonly Readonly<Record<string, unknown>>[] {
  if (row in UNASKED) return [];
  return requests.map((request) => {
    // The request of a typed skill has no agent id in the headers.
    const isOfSubagent = request.headers["x-claude-code-agent-id"] !== undefined ||
      JSON.stringify(request.body).includes("You are an agent for Claude Code");
    const allowed = ALLOWED.filter(({ ofSubagents }) => ofSubagents === undefined || isOfSubagent);
    return Object.fromEntries(leavesOf(comparable(request, home), { path: "", allowed }));
  });
}

/** Rows whose requests are not compared, with the reason. */
const UNASKED: Readonly<Record<string, string>> = {
  "input-command": "the texts before a command come before the reminders of Claude Code",
  "slash-review": "the review runs in the foreground, without parameters for background tasks",
  "subagent-woken": "requests contain ids of the run and the tokens of the subagent",
};

/** Longer strings are recorded by length and hash. */
const LONG = 160;

/**
 * Returns the same in short, for the recording: tools, headers, system prompt, messages and the rest of each request. A tool
 * is a hash; names of the day, the system and the user are replaced.
 */
export function digestsOfRequests(
  run: RowRun,
  { row }: { readonly row: string },
): readonly (readonly Readonly<Record<string, unknown>>[])[] {
  return maskedRequests(run, { row }).map((request) => {
    const parts = PARTS.map((): Record<string, unknown> => ({}));
    const tools = new Map<string, unknown[]>();
    for (const [path, leaf] of Object.entries(request)) {
      const value = typeof leaf === "string" ? anywhere(leaf) : leaf;
      const [, tool] = /^body\.tools\.([^.]+)/u.exec(path) ?? [];
      if (tool !== undefined) tools.set(tool, [...tools.get(tool) ?? [], path, value]);
      else {
        const part = parts[PARTS.findIndex((each) => each.test(path))] ?? {};
        part[path] = typeof value === "string" && value.length > LONG
          ? `${value.length} ${hash(value)}`
          : value;
      }
    }
    const hashes = [...tools].map(([tool, leaves]) => [tool, hash(JSON.stringify(leaves))]);
    return [Object.fromEntries(hashes.toSorted()), ...parts.map(sorted)];
  });
}

/** The paths of each part; the last part is the rest. */
const PARTS: readonly RegExp[] = [/^headers\./u, /^body\.system\./u, /^body\.messages\./u, /^/u];

/** Replaces the day, the system and the user in a text. */
function anywhere(text: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\d\b(?!-)/gu, "DAY")
    .replaceAll(
      /\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b/gu,
      "MONTH",
    )
    .replaceAll(/(?<=OS Version: ).*/gu, "SYSTEM")
    .replaceAll(/(?<=\/claude-)\d+\b/gu, "USER");
}

function sorted(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).toSorted(([one], [other]) => one < other ? -1 : 1),
  );
}

function comparable({ body, headers }: LoggedRequest, home: string): unknown {
  const { tools, messages, ...rest } = body as Readonly<Record<string, unknown>>;
  const text = JSON.stringify({
    body: {
      ...rest,
      messages: Array.isArray(messages)
        ? messages.filter((message) => !isOfBudget(message)).map(inOrder)
        : messages,
      tools: byName(tools),
    },
    headers: {
      ...Object.fromEntries(Object.entries(headers).filter(([name]) => !LEFT.test(name))),
      "anthropic-beta": Object.fromEntries(
        (headers["anthropic-beta"] ?? "").split(",").map((beta) => [beta, true]),
      ),
    },
  });
  return JSON.parse(
    text.replaceAll(home, "HOME").replaceAll(home.replaceAll(/[^a-z\d]/giu, "-"), "SLUG")
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gu, "UUID")
      .replaceAll(/toolu_01[\da-f]{22}/gu, "TOOL")
      .replaceAll(/req_01[\da-f]{22}/gu, "REQUEST")
      .replaceAll(/(?<=\/plans\/)[a-z-]+(?=\.md)/gu, "PLAN")
      .replaceAll(/(?<=agentId: |to: ')a[\da-f]{16}/gu, "AGENT")
      .replaceAll(/HOME\/t(?:mp\/claude-print-\d+\/[^/"]+\/tmp)?\/claude-\d+/gu, "TEMP")
      .replaceAll(/(?<=with ID: |<task-id>|tasks\/)b\w{8}\b/gu, "TASK")
      .replaceAll(/duration_ms: \d+/gu, "duration_ms: N"),
  );
}

/**
 * Whether a message is the rest of the budget, which -p adds after calls. The text of a hook there would begin with the
 * hook's name, so the child gets none.
 */
function isOfBudget(message: unknown): boolean {
  const { role, content } = message as { readonly role: string; readonly content: unknown };
  const [first] = Array.isArray(content) ? content : [{ text: content }];
  return role === "system" && typeof first?.text === "string" &&
    first.text.startsWith("USD budget: ");
}

/** Sorts results of calls: parallel calls return in any order. */
function inOrder(message: unknown): unknown {
  const { content } = message as { readonly content: unknown };
  if (!Array.isArray(content)) return message;
  const isResult = ({ type }: { readonly type: string }) => type === "tool_result";
  // Cache control belongs to the place of the last result.
  const results = content.filter(isResult)
    .map(({ cache_control: _, ...block }) => ({ ...block, tool_use_id: "TOOL" }))
    .toSorted((one, other) => JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
  return {
    ...message as Readonly<Record<string, unknown>>,
    content: content.map((block) => isResult(block) ? results.shift() : block),
  };
}

function byName(tools: unknown): Readonly<Record<string, unknown>> {
  return Array.isArray(tools)
    ? Object.fromEntries(tools.map((tool: { readonly name: string }) => [tool.name, tool]))
    : {};
}

function leavesOf(
  value: unknown,
  { path, allowed }: { readonly path: string; readonly allowed: readonly Allowed[] },
): readonly (readonly [string, unknown])[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, each]) =>
      leavesOf(each, { path: path === "" ? key : `${path}.${key}`, allowed })
    );
  }
  const rules = allowed.filter(({ at }) => at.test(path));
  if (rules.some(({ words }) => words === undefined)) return [];
  if (typeof value !== "string" || rules.length === 0) return [[path, value]];
  const text = rules.reduce((text, { words = "" }) => text.replace(words, ""), value);
  return [[path, text.replaceAll(/\n{3,}/gu, "\n\n").trimEnd()]];
}
