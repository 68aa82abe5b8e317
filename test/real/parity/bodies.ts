import type { LoggedRequest } from "../../../src/learn/api/messages_api.ts";
import { hash } from "./hash.ts";
import type { RowRun } from "./run_row.ts";

/** What the interactive Claude Code tells the API otherwise than `claude -p`, and why it stays so. */
interface Allowed {
  readonly why: string;
  /** Where it is in a request, as names with dots in between. */
  readonly at: RegExp;
  /** The words that do not count; absent for all of it. */
  readonly words?: RegExp;
  /** Whether requests of subagents alone need it. */
  readonly ofSubagents?: true;
}

/** All that may be different. */
const ALLOWED: readonly Allowed[] = [
  {
    why: "the child says of itself that it is the interactive Claude Code",
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
    why:
      "at a terminal it offers its user the prefix ! for commands, which nothing but -p takes away",
    at: /^body\.system\.\d\.text$/u,
    words:
      /^# Session-specific guidance\n|^ - If you need the user to run a shell command.*`! <command>`.*\n?/gmu,
  },
  {
    why:
      "2.1.330 has forks at a terminal only if all subagents run in the background: one variable decides on both",
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
      "2.1.330 has the time limit of shells in the background only without a terminal, and no variable for it",
    at:
      /^body\.tools\.Bash\.(?:description|input_schema\.properties\.run_in_background\.description)$/u,
    words: /^.*`run_in_background`.*$|^Set to true to run this command in the background\..*$/gmu,
  },
  {
    why: "the same of what is told of one that was started",
    at: /^body\.messages\.\d+\.content\.\d+\.content$/u,
    words:
      /^Command running in background with ID: TASK\.| You will be notified when it completes[^]*$/gu,
  },
  {
    why: "2.1.330 lets a monitor run longer at a terminal",
    at:
      /^body\.tools\.Monitor\.(?:description|input_schema\.properties\.timeout_ms\.description)$/u,
    words: /at most \d+ minutes|Deadlines above \d+ms are capped to \d+ms/gu,
  },
  {
    why:
      "the run's own folder is out of reach, and so are tools that take a person at the terminal",
    at: /^body\.safeguards\.\d+\.classifier_context\.(?:rules\.deny|rule_roots)\./u,
  },
  {
    why: "-p says of some commands which part of them requires approval, which no hook is told",
    at: /^body\.messages\.\d+\.content\.\d+\.content$/u,
    words:
      /This command requires approval|This Bash command contains multiple .*|\w+ in '[^']*' needs approval\..*/u,
  },
  {
    why: "a person at a terminal may be shown previews of what there is to choose from",
    at: /^body\.tools\.AskUserQuestion\.description$/u,
    words: /\n*Preview feature:\n[^]*$/gu,
  },
  {
    why:
      "2.1.330 shows a person what subagents think, of which -p tells nothing beside frames either",
    at:
      /^(?:body\.thinking\.display$|headers\.anthropic-beta\.(?:thinking-display-updates|redact-thinking)-)/u,
    ofSubagents: true,
  },
  {
    why:
      "-p adds what is left of the budget to the prompt, and a hook could do so in other words only",
    at: /^body\.messages\.\d+\.content/u,
    words: /(?:\n\n)?<system-reminder>\n?USD budget: .*\n?<\/system-reminder>|\n*USD budget: .*/u,
  },
  { why: "made by the scripted API for each answer", at: /^body\.messages\..*\.signature$/u },
  {
    why: "the child's config dir is the run's own",
    at: /^body\.messages\./u,
    words: /HOME\/(?:tmp\/claude-print-\d+\/[^/]+\/)?\.claude\b/gu,
  },
];

/** Headers that say nothing of what the model is told, or are of one connection. */
const LEFT =
  /^(?:content-length|host|connection|x-claude-code-(?:session|agent)-id|x-stainless-retry-count)$/u;

/** The requests of a run as what is to be the same for both programs: leaves by their paths. */
export function maskedRequests(
  { requests, home }: Pick<RowRun, "requests" | "home">,
  { row }: { readonly row: string },
): readonly Readonly<Record<string, unknown>>[] {
  if (row in UNASKED) return [];
  return requests.map((request) => {
    // That of a skill that somebody types has no id in the headers.
    const isOfSubagent = request.headers["x-claude-code-agent-id"] !== undefined ||
      JSON.stringify(request.body).includes("You are an agent for Claude Code");
    const allowed = ALLOWED.filter(({ ofSubagents }) => ofSubagents === undefined || isOfSubagent);
    return Object.fromEntries(leavesOf(comparable(request, home), { path: "", allowed }));
  });
}

/** Rows whose requests are not compared, and why. */
const UNASKED: Readonly<Record<string, string>> = {
  "subagent-woken": "the model is told ids of this run, and how much the subagent has used",
};

/** Strings that are longer are recorded by length and hash. */
const LONG = 160;

/**
 * The same in short, for the recording: the headers, the tools, the system prompt, the messages and the rest of each
 * request. Of a tool there is a hash; what is another on each machine and day is left out.
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

/** Where what belongs together is in a request; the rest comes last. */
const PARTS: readonly RegExp[] = [/^headers\./u, /^body\.system\./u, /^body\.messages\./u, /^/u];

/** A text without the day, the system and the user. */
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
 * Whether -p tells the model with a message what is left of the budget, as it does after calls. What a hook says in that
 * place begins with the hook's name, in both versions, so that the child is told nothing.
 */
function isOfBudget(message: unknown): boolean {
  const { role, content } = message as { readonly role: string; readonly content: unknown };
  const [first] = Array.isArray(content) ? content : [{ text: content }];
  return role === "system" && typeof first?.text === "string" &&
    first.text.startsWith("USD budget: ");
}

/** Puts results of calls into an order: calls at the same time return in any. */
function inOrder(message: unknown): unknown {
  const { content } = message as { readonly content: unknown };
  if (!Array.isArray(content)) return message;
  const isResult = ({ type }: { readonly type: string }) => type === "tool_result";
  // What is said of the last one is of its place.
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
