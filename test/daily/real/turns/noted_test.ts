import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { asRecorded } from "../../../real/as_recorded.ts";
import { filesBelow } from "../../../real/files_below.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import { type JsonObject, outlineOfFrames, parseFrames } from "../../../real/print_mode_facts.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { textsIn } from "../../../real/texts_in.ts";
import { writeScript } from "../../../write_script.ts";
import { writeFiles } from "../../../write_files.ts";

const RESULT = '"type":"result"';

/** Model, effort and the user's texts of later requests. */
function requestsSince(real: RealClaude, since: number) {
  return real.api.turns.slice(since).map(({ body }) => {
    const { model, output_config: effort } = body as JsonObject;
    return { model, effort, told: textsIn(body, "user") };
  });
}

/** Frames and requests of messages that are sent one after the other. */
async function heardBy(
  holding: typeof hold,
  { real, messages, args = [] }: {
    readonly real: RealClaude;
    /** Messages and control requests. */
    readonly messages: readonly (string | { readonly request_id: string })[];
    readonly args?: readonly string[];
  },
) {
  const since = real.api.turns.length;
  const script = async ({ say, send, heard }: Caller) => {
    let said = 0;
    for (const message of messages) {
      if (typeof message === "string") {
        await say(message);
        await heard(RESULT, ++said);
      } else {
        await send(message);
        await heard(`"request_id":"${message.request_id}"`);
      }
    }
  };
  const { code, stdout, stderr } = await holding(real, script, args);
  const frames = parseFrames(stdout);
  return {
    code,
    stderr,
    outline: outlineOfFrames(frames).filter((frame) => frame !== "rate_limit_event"),
    // `tools` are known from the first request, which comes late on a busy machine. Rows of parity compare them.
    inits: frames.filter(({ subtype }) => subtype === "init")
      .map(({ model, output_style: style, agents, skills, slash_commands }) => ({
        ...{ model, style },
        lists: [agents, skills, slash_commands].map((list) => (list as unknown[]).length),
      })),
    titles: frames.filter(({ subtype }) => subtype === "session_title_changed")
      .map(({ title }) => title),
    said: frames.filter(({ local_command_source: source }) => source !== undefined)
      .map(({ local_command_source, local_command_run }) => ({
        ...{ local_command_source, local_command_run },
      })),
    results: frames.filter(({ type }) => type === "result")
      .map(({ subtype, result, num_turns: turns, local_command: command, ...costs }) => ({
        ...{ subtype, result, turns, command },
        models: [costs["modelUsage"], costs["model_usage_since_last_result"]].map((usage) =>
          Object.keys(usage ?? {}).toSorted()
        ),
      })),
    requests: requestsSince(real, since),
  };
}

const COMMANDS = [
  "/model sonnet",
  "/effort high",
  "/rename My own",
  "/output-style Concise",
  "One. [[say first]]",
  "/model default",
  "/effort ultracode",
  "Two. [[say second]]",
  ...["haiku", "opus"].map((model) => ({
    type: "control_request",
    request_id: model,
    request: { subtype: "set_model", model },
  })),
  "Three. [[say third]]",
  "/rename Another",
  "/config",
];

/** A program in the place of Claude Code that notes each start of one that is not headless. */
async function countedClaude({ binary, home }: RealClaude) {
  const [path, starts] = [`${home.path}/claude`, `${home.path}/starts`];
  const script = `#!/bin/sh
case " $* " in *" -p "* | *" --version "*) ;; *) echo >> '${starts}' ;; esac
exec '${binary}' "$@"
`;
  await writeScript(path, script);
  return { path, starts: () => Deno.readTextFileSync(starts).length };
}

forNewestVersion("commands change the conversation as in claude -p", async (real) => {
  const claude = await countedClaude(real);
  const args = ["--claude-binary", claude.path];
  const ours = await heardBy(hold, { real, messages: COMMANDS, args });
  // Commands in a row are all told to the next message's child. Where the machine takes more than 0.2 s from one request to
  // the next, it is another child for each of the two models.
  assert([4, 5].includes(claude.starts()), `${claude.starts()} starts`);
  // The output style is one of the project's local settings.
  await Deno.remove(`${real.home.project}/.claude`, { recursive: true }).catch(() => {});
  const theirs = await asRecorded(
    real,
    "noted/conversation",
    () => heardBy(holdWithClaude, { real, messages: COMMANDS }),
  );
  assertEquals(JSON.parse(JSON.stringify(ours)), theirs);
  assertEquals(ours.requests.map(({ model }) => model), [
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-opus-5-5",
  ]);
  assertStringIncludes(ours.requests.at(-1)?.told.join("\n") ?? "", "<command-args>haiku<");
});

/**
 * Commands that tell something of Claude Code, or load something anew: the child is told of that. Some it carries out by
 * itself, for which the model is asked once there has been a turn.
 */
const TELLING = [
  ...["/reload-plugins", "/cost", "/fast", "/reload-skills", "/mcp"],
  ...["/nonsense", "One. [[say first]]"],
  ...["/keybindings-help now", "/recap", "/name", "/workflow-launch-exec", "/__remote-workflow"],
];

forNewestVersion("commands about Claude Code have the same answers", async (real) => {
  const messages = TELLING;
  // Another process has another session id.
  const told = ({ requests: _, stderr: __, ...rest }: Awaited<ReturnType<typeof heardBy>>) =>
    JSON.parse(JSON.stringify(rest));
  const ours = await heardBy(hold, { real, messages });
  const theirs = await asRecorded(
    real,
    "noted/telling",
    async () => told(await heardBy(holdWithClaude, { real, messages })),
  );
  assertEquals(told(ours), theirs);
  // "/nonsense" is text, and "/recap" asks for one.
  assertEquals(ours.requests.length, 3);
});

forNewestVersion("a resumed session has what commands noted", async (real) => {
  const { path, project } = real.home;
  // A run with such a command alone is a session, too.
  const begun = await real.printInProcess(["--output-format", "json", "/agents"]);
  const { session_id: session } = JSON.parse(begun.stdout);
  const chosen = await real.printInProcess(["--resume", session, "/model sonnet"]);
  assertStringIncludes(chosen.stdout, "Sonnet");
  const named = await real.printInProcess(["--resume", session, "/rename My own"]);
  assertEquals([named.code, named.stdout, named.stderr], [0, "Session renamed to: My own\n", ""]);
  const files = [...filesBelow(path).keys()].filter((file) => file.includes(session));
  assert(files.some((file) => file.endsWith("custom-title.json")), files.join("\n"));
  const resumed = await real.printInProcess(["--resume", "My own", "One. [[say first]]"]);
  assertEquals([resumed.code, resumed.stdout], [0, "first\n"]);
  const told = requestsSince(real, 0)[0]?.told.join("\n") ?? "";
  for (const command of ["/agents", "/model", "/rename"]) assertStringIncludes(told, command);
  assertEquals([...Deno.readDirSync(project)], [], "nothing is written but the session");
});

forNewestVersion("a command that cannot be noted fails its turn", async (real) => {
  const messages = ["/effort high", "/config verbose=true", "One. [[say first]]"];
  const args = ["--no-session-persistence"];
  const { code, stderr, inits, results } = await heardBy(hold, { real, messages, args });
  assertEquals(code, 0);
  // The first turn of a child prints a complete init.
  assert(inits.at(-1)?.lists.every((length) => length > 0), JSON.stringify(inits));
  const subtypes = results.map(({ subtype }) => subtype);
  assertEquals(subtypes, ["internal_error", "internal_error", "success"]);
  assertStringIncludes(stderr, "resumes the session, which is not kept");
  assertStringIncludes(stderr, "the user's settings, which are never changed");
  const hooks = { PreModelSwitch: [{ hooks: [] }] };
  await writeFiles(real.home.project, { ".claude/settings.json": { hooks } });
  const watched = await real.printInProcess(["/model sonnet"]);
  assertEquals(watched.code, 2);
  assertStringIncludes(watched.stderr, "PreModelSwitch");
});
