import { z } from "zod/mini";
import { CliError } from "../../cli_error.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, jsonObjects } from "../../json_object.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import {
  conversationPath,
  type ConversationSummary,
  fetchConversation,
  readFrames,
  ServerClient,
} from "../../server/server_client.ts";
import type { MessageOptions } from "../arguments/parsed_arguments.ts";
import { denoPromptIo, readPrompt } from "../arguments/read_prompt.ts";
import { makeVisible, print } from "../report/print.ts";
import { warningText } from "../report/report_error.ts";

/**
 * Begins a conversation in the current folder, and prints its id.
 *
 * @param options.args flags of a run
 * @returns the exit code
 * @throws {CliError} when there is no server, or it refuses the flags
 */
export async function begin({ args }: { readonly args: readonly string[] }): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const json = { profile: { args, cwd: currentFolder() } };
  const answer = await server.request("/v1/conversations", { json });
  const { id } = z.looseObject({ id: z.string() }).parse(await answer.json());
  print(Deno.stdout, `${id}\n`);
  return 0;
}

/**
 * Sends a message, and prints the answer of the model or the question of the conversation.
 *
 * @returns the exit code
 * @throws {CliError} when the conversation does not exist, or it accepts no message
 */
export async function send(
  { id: beginning, text, interrupts, waits }: MessageOptions,
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id } = await fetchConversation(server, beginning);
  const content = await readPrompt(
    { ignoredArguments: [], ...definedFields({ promptArgument: text }) },
    denoPromptIo({
      inTime: (wait) => wait,
      warn: (line) => void print(Deno.stderr, `${warningText(line)}\n`),
    }),
  );
  const json = { content, when: interrupts ? "interrupt" : "queue" };
  const sent = await server.request(`${conversationPath(id)}/messages`, { json });
  const { last_event_id: after } = z.looseObject({ last_event_id: z.number() })
    .parse(await sent.json());
  return waits ? await printOutcome(server, id, { after, beginning }) : 0;
}

/**
 * Answers the question of a conversation, and prints the outcome. Without an answer, prints the question.
 *
 * @returns the exit code
 * @throws {CliError} when there is no question, or the question has other answers
 */
export async function answer(
  { id: beginning, answers, waits }: {
    readonly id: string;
    readonly answers: readonly string[];
    readonly waits: boolean;
  },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id, waiting, last_event_id: after } = await fetchConversation(server, beginning);
  if (waiting === undefined) {
    throw new CliError("Cannot answer the conversation: it asks nothing now", {
      suggestion: '"claude-print ps" shows which conversations wait',
    });
  }
  if (answers.length === 0) {
    print(Deno.stdout, makeVisible(describeQuestion(waiting, beginning)));
    return 0;
  }
  const json = { request_id: waiting.request_id, ...answerBody(waiting, { answers, beginning }) };
  await server.request(`${conversationPath(id)}/answers`, { json });
  return waits ? await printOutcome(server, id, { after, beginning }) : 0;
}

/**
 * Stops the turn of a conversation.
 *
 * @param options.ends whether to end the conversation, too
 * @returns the exit code
 * @throws {CliError} when the conversation does not exist, or the server does not answer
 */
export async function interrupt(
  { id: beginning, ends }: { readonly id: string; readonly ends: boolean },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id } = await fetchConversation(server, beginning);
  const path = conversationPath(id);
  if (ends) await server.request(path, { method: "DELETE" });
  else await server.request(`${path}/interrupt`, { method: "POST" });
  return 0;
}

/** Milliseconds between two looks at a conversation. */
const POLL_MS = 150;

/**
 * Waits until no message is unanswered or the conversation asks a question, and prints the last result or the question.
 *
 * @param options.after the number of the event before the outcome
 * @param options.beginning the id as the user typed it
 * @returns the exit code: 1 for a failed turn and for a question
 * @throws {CliError} when the conversation has failed, or the server does not answer
 */
async function printOutcome(
  server: ServerClient,
  id: string,
  { after, beginning }: { readonly after: number; readonly beginning: string },
): Promise<number> {
  let conversation = await fetchConversation(server, id);
  while (["starting", "working"].includes(conversation.state) || hasNewDialog(conversation)) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    conversation = await fetchConversation(server, id);
  }
  const { waiting, problem, last_event_id: last } = conversation;
  if (waiting !== undefined) {
    print(Deno.stderr, `claude-print: ${describeQuestion(waiting, beginning)}`);
    return 1;
  }
  if (problem !== undefined) throw new CliError(problem.detail, definedFields(problem));
  let result: Readonly<Record<string, unknown>> | undefined;
  for await (const text of readFrames(server, id, { after, last })) {
    const frame = JSON.parse(text);
    if (frame.type === "result") result = frame;
  }
  if (result === undefined) {
    throw new CliError("Cannot print the answer: the conversation was ended before", {
      suggestion: `"claude-print logs ${beginning}" prints what has happened in it`,
    });
  }
  const text = typeof result["result"] === "string"
    ? result["result"]
    : [result["errors"] ?? result["subtype"]].flat().join("\n");
  print(Deno.stdout, `${Deno.stdout.isTerminal() ? makeVisible(text) : text}\n`);
  return result["is_error"] === true ? 1 : 0;
}

/**
 * How long a dialog is open before it is reported, in milliseconds. Claude Code also reports a dialog for a short time
 * around each question to the caller.
 */
const DIALOG_MS = 3000;

function hasNewDialog({ waiting, since }: ConversationSummary): boolean {
  return waiting?.for === "dialog" && Date.now() - Date.parse(since) < DIALOG_MS;
}

type Waiting = NonNullable<ConversationSummary["waiting"]>;

/** The questions of the model in a request. */
function questionsOf({ input }: Waiting) {
  return jsonObjects(isJsonObject(input) ? input["questions"] : undefined)
    .map(({ question, options }) => ({
      question: `${question}`,
      options: jsonObjects(options).map(({ label, description }) => ({ label, description })),
    }));
}

/** Describes the question of a conversation in lines, and how to answer it. */
function describeQuestion(waiting: Waiting, beginning: string): string {
  const cause = escapeInvisible(waiting.cause);
  const answerIt = `Answer it: claude-print answer ${beginning}`;
  const [first, ...others] = waiting.for === "question"
    ? [
      "The model asks:",
      ...questionsOf(waiting).flatMap(({ question, options }) => [
        question,
        ...options.map(({ label, description = "" }) => `- ${label}: ${description}`),
      ]),
      `${answerIt} ${questionsOf(waiting).map(() => "ANSWER").join(" ")}`,
    ]
    : waiting.for === "dialog"
    ? [
      `Claude Code shows a dialog: ${cause}`,
      `Answer it in its terminal: claude-print attach ${beginning} --take-over`,
    ]
    : [
      `The model needs your permission: ${cause}`,
      JSON.stringify(waiting.input, null, 2),
      `${answerIt} allow, or deny and why`,
    ];
  const indented = others.flatMap((each) => each.split("\n")).map((line) => `  ${line}\n`);
  return `${first}\n${indented.join("")}`;
}

/** @throws {CliError} for an answer that the question does not have */
function answerBody(
  waiting: Waiting,
  { answers, beginning }: { readonly answers: readonly string[]; readonly beginning: string },
): Readonly<Record<string, unknown>> {
  const suggestion = `See what it asks: claude-print answer ${beginning}`;
  switch (waiting.for) {
    case "question": {
      const questions = questionsOf(waiting);
      if (answers.length === questions.length) {
        return {
          answers: Object.fromEntries(questions.map(({ question }, at) => [question, answers[at]])),
        };
      }
      throw new CliError(
        `Cannot answer: there are ${questions.length} questions, not ${answers.length}`,
        { suggestion },
      );
    }
    case "dialog":
      throw new CliError("Cannot answer: Claude Code shows a dialog in its terminal", {
        suggestion: `Type in it: claude-print attach ${beginning} --take-over`,
      });
    default: {
      const [behavior, message, more] = answers;
      if (behavior === "allow" && message === undefined) return { behavior };
      if (behavior === "deny" && more === undefined) return definedFields({ behavior, message });
      throw new CliError(
        `Cannot answer: it takes "allow", or "deny" and why, not ${
          JSON.stringify(answers.join(" "))
        }`,
        { suggestion },
      );
    }
  }
}
