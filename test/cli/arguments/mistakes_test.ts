import { assertEquals, assertRejects } from "@std/assert";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { parseListLine, readListInput } from "../../../src/cli/arguments/check_prompt.ts";
import { readPrompt } from "../../../src/cli/arguments/read_prompt.ts";
import { problemText } from "../../../src/cli/report/report_error.ts";
import { CliError } from "../../../src/cli_error.ts";
import { argumentsOf, type Line } from "./command_line.ts";

/** A terminal at which a person types. Nothing is on stdin, and `task.md` is the only file. */
const TERMINAL: Parameters<typeof readPrompt>[1] = {
  stdinIsTerminal: true,
  isAttended: true,
  isFile: (path) => path === "task.md",
  stdin: new ReadableStream(),
  readFile: (path) => Promise.reject(new Deno.errors.NotFound(path)),
  inTime: (wait) => wait,
  warn: () => {},
  startTimer: () => () => {},
};

async function typeAtTerminal(line: Line): Promise<void> {
  const parsed = await parseArguments(argumentsOf(line), { isAttended: true });
  if (parsed.kind === "run") await readPrompt(parsed.request, TERMINAL);
}

/** Registers a test of the two lines that each mistake prints: what is wrong, and what to do. */
function testMistakes(
  name: string,
  rows: readonly (readonly [line: Line, problem: string, advice: string])[],
): void {
  Deno.test(name, async () => {
    for (const [line, problem, advice] of rows) {
      const error = await assertRejects(() => typeAtTerminal(line), CliError, undefined, `${line}`);
      assertEquals(problemText(error), `claude-print: ${problem}\n  ${advice}\n`);
      assertEquals(error.exitCode, 2, `${line}`);
    }
  });
}

testMistakes("a mistyped flag suggests the one that was meant", [
  [
    "--modle opus hi",
    "unknown flag --modle",
    'Did you mean --model? "claude-print --help" lists all flags',
  ],
  [
    "--outputformat=json hi",
    "unknown flag --outputformat",
    'Did you mean --output-format? "claude-print --help" lists all flags',
  ],
  [
    "--maxTurns 3 hi",
    "unknown flag --maxTurns",
    'Did you mean --max-turns? "claude-print --help" lists all flags',
  ],
  [
    "--allowed Bash",
    "unknown flag --allowed",
    'Did you mean --allowedTools? "claude-print --help" lists all flags',
  ],
  [
    "--system x",
    "unknown flag --system",
    'Did you mean --system-prompt? "claude-print --help" lists all flags',
  ],
  [
    "-output-format json",
    "unknown flag -output-format",
    'Did you mean --output-format? "claude-print --help" lists all flags',
  ],
  [
    "-model haiku",
    "unknown flag -model",
    'Did you mean --model? "claude-print --help" lists all flags',
  ],
  [
    "-mhaiku hi",
    "unknown flag -mhaiku",
    'Did you mean --model? "claude-print --help" lists all flags',
  ],
  ["-m haiku hi", "unknown flag -m", 'Did you mean --model? "claude-print --help" lists all flags'],
  [
    "-o json hi",
    "unknown flag -o",
    'Did you mean --output-format? "claude-print --help" lists all flags',
  ],
  ["-t 5 hi", "unknown flag -t", 'Did you mean --timeout? "claude-print --help" lists all flags'],
  ["-P hi", "unknown flag -P", 'Did you mean -p? "claude-print --help" lists all flags'],
  ["-pz hi", "unknown flag -z", '"claude-print --help" lists all flags'],
  ["--bogus=1 hi", "unknown flag --bogus", '"claude-print --help" lists all flags'],
  [["--bogus=two words"], "unknown flag --bogus", '"claude-print --help" lists all flags'],
  [
    ["- one\n- two"],
    "a prompt that begins with a dash looks like a flag",
    'Put "--" before the prompt, after all flags',
  ],
  ["doctr --offline", "unknown flag --offline", "Did you mean claude-print doctor?"],
]);

testMistakes("a wrong value of a flag is named with what it takes", [
  ["--model", "--model needs a value", "Type --model <model>"],
  ["--verbose=1 hi", "--verbose takes no value", "Type --verbose alone"],
  [
    "--output-format jsn hi",
    '--output-format does not take "jsn"',
    "Use one of text, json, stream-json",
  ],
  [
    "--permission-mode plann hi",
    '--permission-mode does not take "plann"',
    "Use one of acceptEdits, auto, bypassPermissions, default, dontAsk, manual, plan",
  ],
  [
    "--setting-sources usr hi",
    '--setting-sources does not take "usr"',
    "Use any of user,project,local",
  ],
  [
    "--timeout soon hi",
    '--timeout does not take "soon"',
    "Use 10s, 5m, 1h or a number of seconds, up to 2147483",
  ],
  [
    "--timeout 1000h hi",
    '--timeout does not take "1000h"',
    "Use 10s, 5m, 1h or a number of seconds, up to 2147483",
  ],
  [
    "--wait-for-limit=soon hi",
    '--wait-for-limit does not take "soon"',
    "Use 10s, 5m, 1h or a number of seconds",
  ],
  [
    "--max-turns few hi",
    '--max-turns does not take "few"',
    "Use a number of requests to the model, 0 for no limit",
  ],
  [
    "--max-budget-usd -1 hi",
    '--max-budget-usd does not take "-1"',
    "Use a number of US dollars above 0, for example 0.50",
  ],
  [
    "--task-budget x hi",
    '--task-budget does not take "x"',
    "Use a whole number of tokens, 1 or more",
  ],
  [
    "--session-id x hi",
    "Invalid session ID. Must be a valid UUID.",
    "Use an id such as 123e4567-e89b-42d3-a456-426614174000",
  ],
  [
    "--resume x.jsonl",
    'Cannot honour --resume: "x.jsonl" is a file, not a session id or a title',
    "Use --resume <id>, with the session_id of an earlier json result",
  ],
  [
    "--cloud hi",
    "Cannot honour --cloud: it concerns a session that runs elsewhere, and there is nothing to print here",
    "Leave it out",
  ],
]);

testMistakes("a flag without its partner is told which one", [
  [
    "--output-format stream-json hi",
    "--output-format=stream-json needs --verbose",
    "Add --verbose, as for claude -p",
  ],
  [
    "--stream-text --output-format json hi",
    "--stream-text prints text, not json",
    "Leave --output-format or --stream-text out",
  ],
  [
    "--one-session",
    "--one-session needs --jsonl",
    "Add --jsonl, and give each turn a line of its own, or leave it out",
  ],
  ["--rewind-files x", "--rewind-files requires --resume", "Add --resume <id>, or leave it out"],
  [
    "--on-miss record hi",
    "--on-miss needs --api-cassette",
    "Add --api-cassette and a folder, or leave --on-miss out",
  ],
]);

testMistakes("a missing prompt is named with the flag that took it", [
  [
    "",
    "No prompt given",
    'Type claude-print "your prompt", or pipe the prompt in; claude-print -h has examples',
  ],
  [
    "--add-dir /nope hi",
    'No prompt given: --add-dir took "hi" too',
    'If "hi" is the prompt, put it before the flag, or after "--"',
  ],
  [
    "--mcp-config x hi",
    'No prompt given: --mcp-config took "hi" too',
    'If "hi" is the prompt, put it before the flag, or after "--"',
  ],
  [
    ["--allowedTools", "Bash", "fix the tests"],
    'No prompt given: --allowedTools took "fix the tests" too',
    'If "fix the tests" is the prompt, put it before the flag, or after "--"',
  ],
  [
    ["--resume", "fix the tests"],
    'No prompt given: --resume took "fix the tests" too',
    'If "fix the tests" is the prompt, put it before the flag, or after "--"',
  ],
  [
    "--allowedTools Bash",
    "No prompt given",
    'Type claude-print "your prompt", or pipe the prompt in; claude-print -h has examples',
  ],
]);

testMistakes("a command suggests the flag or action that was meant", [
  [
    "serve --prot 1",
    'serve does not take "--prot"',
    'Did you mean --port? "claude-print serve --help" lists what it takes',
  ],
  [
    "serve -p 1",
    'serve does not take "-p"',
    'Did you mean --profiles? "claude-print serve --help" lists what it takes',
  ],
  [
    "serve start",
    'serve does not take "start"',
    "Use one of status, stop, or claude-print serve alone",
  ],
  [
    "new --model x",
    'new does not take "--model"',
    '"claude-print new --help" lists what it takes; flags of claude -p follow "--"',
  ],
  [
    "send me a poem",
    'send does not take "poem"',
    '"claude-print send --help" lists what it takes; as a prompt: claude-print -p "send me a poem"',
  ],
  ["serve --port 99999", '--port does not take "99999"', "Use a number from 0 to 65535"],
  [
    "serve --idle soon",
    '--idle does not take "soon"',
    "Use 10s, 5m, 1h or a number of seconds, up to 2147483",
  ],
  [
    "serve -- x",
    'arguments after "--" need --agentapi',
    "Add --agentapi; conversations over HTTP get their flags from their profile",
  ],
  [
    "ps --jsn",
    'ps does not take "--jsn"',
    'Did you mean --json? "claude-print ps --help" lists what it takes',
  ],
  [
    "ps -j",
    'ps does not take "-j"',
    'Did you mean --json? "claude-print ps --help" lists what it takes',
  ],
  [
    "doctor --ofline",
    'doctor does not take "--ofline"',
    'Did you mean --offline? "claude-print doctor --help" lists what it takes',
  ],
  ["doctor --run=1", "--run takes no value", "Type --run alone"],
  [
    "doctor who is there",
    'doctor does not take "who"',
    '"claude-print doctor --help" lists what it takes; as a prompt: claude-print -p "doctor who is there"',
  ],
  [
    ["sweep", "the floor"],
    'sweep does not take "the floor"',
    '"claude-print sweep --help" lists what it takes; as a prompt: claude-print -p "sweep the floor"',
  ],
  [
    "sweep --dryrun",
    'sweep does not take "--dryrun"',
    'Did you mean --dry-run? "claude-print sweep --help" lists what it takes',
  ],
  [
    "learn --chek",
    'learn does not take "--chek"',
    'Did you mean --check? "claude-print learn --help" lists what it takes',
  ],
  [
    "shim",
    "shim needs an action",
    'Use one of install, remove, status; "claude-print shim --help" lists what it takes',
  ],
  [
    "shim instal /d",
    'shim does not take "instal"',
    "Did you mean install? Use one of install, remove, status",
  ],
  [
    "shim install",
    "shim install needs a folder",
    '"claude-print shim install --help" lists what it takes',
  ],
  [
    "cassette inf hello",
    'cassette does not take "inf"',
    "Did you mean info? Use one of replay, program, svg, info, diff, fork, scrub, lint",
  ],
  [
    "cassette play x",
    'cassette does not take "play"',
    "Use one of replay, program, svg, info, diff, fork, scrub, lint",
  ],
  [
    "cassette replay",
    "cassette replay needs the folder of a cassette",
    '"claude-print cassette replay --help" lists what it takes',
  ],
  [
    "cassette replay x --spit 3",
    'cassette replay does not take "--spit"',
    'Did you mean --split? "claude-print cassette replay --help" lists what it takes',
  ],
  [
    "cassette replay x --patience 5m",
    '--patience needs "--" and the arguments of claude',
    "Type claude-print cassette replay FOLDER --patience ... -- -p hello",
  ],
  [
    "cassette info x --at 1",
    'cassette info does not take "--at"',
    "Leave it out: only cassette fork has it",
  ],
  [
    "cassette fork x --at last",
    '--at does not take "last"',
    "Use the number of the last turn to keep, as in --at 2; 0 keeps none",
  ],
  [
    "completion",
    "completion needs a shell",
    'Use one of bash, zsh, fish; "claude-print completion --help" lists what it takes',
  ],
  [
    "completion bsh",
    'completion does not take "bsh"',
    "Did you mean bash? Use one of bash, zsh, fish",
  ],
  ["attach a b", 'attach does not take "b"', '"claude-print attach --help" lists what it takes'],
  [
    "attach a --takeover",
    'attach does not take "--takeover"',
    'Did you mean --take-over? "claude-print attach --help" lists what it takes',
  ],
  [
    "logs a --folow",
    'logs does not take "--folow"',
    'Did you mean --follow? "claude-print logs --help" lists what it takes',
  ],
  [
    "relay --cash x",
    'relay does not take "--cash"',
    '"claude-print relay --help" lists what it takes',
  ],
  ["relay --cache c --on-miss never", '--on-miss does not take "never"', "Use one of fail, record"],
  [
    "relay --cache c --upstream x",
    '--upstream does not take "x"',
    "Use a URL such as https://api.anthropic.com",
  ],
  [
    "relay --cache c --ignore x",
    '--ignore does not take "x"',
    "Use a JSON pointer such as /metadata/user_id or /messages/0",
  ],
  [
    "drift a --agianst 2",
    'drift does not take "--agianst"',
    'Did you mean --against? "claude-print drift --help" lists what it takes',
  ],
  [
    "bisect a --god 2.1.300",
    'bisect does not take "--god"',
    'Did you mean --good? "claude-print bisect --help" lists what it takes',
  ],
  ["bisect a --good 2.1", '--good does not take "2.1"', "Use a version: --good 2.1.330"],
  [
    "help cassette replya",
    'cassette does not take "replya"',
    "Did you mean replay? Use one of replay, program, svg, info, diff, fork, scrub, lint",
  ],
  [
    "help doctor now",
    'doctor does not take "now"',
    'It has no actions: "claude-print doctor --help" lists what it takes',
  ],
]);

testMistakes("a lone word at a terminal suggests the command or the file", [
  [
    "doctr",
    '"doctr" looks like a command',
    "Did you mean claude-print doctor? To send the word to the model: claude-print -p doctr",
  ],
  [
    "swep",
    '"swep" looks like a command',
    "Did you mean claude-print sweep? To send the word to the model: claude-print -p swep",
  ],
  [
    "help srve",
    '"help" looks like a command',
    "Did you mean claude-print help serve? To send the word to the model: claude-print -p help",
  ],
  [
    "version",
    '"version" looks like a command',
    "Did you mean claude-print --version? To send the word to the model: claude-print -p version",
  ],
  [
    "replay",
    '"replay" looks like a command',
    "Did you mean claude-print cassette replay? To send the word to the model: claude-print -p replay",
  ],
  [
    "status",
    '"status" looks like a command',
    "Did you mean claude-print shim status or claude-print serve status? To send the word to the model: claude-print -p status",
  ],
  [
    "ls",
    '"ls" looks like a command',
    "Did you mean claude-print ps? To send the word to the model: claude-print -p ls",
  ],
  [
    "cassete replay x",
    '"cassete" looks like a command',
    "Did you mean claude-print cassette? To send the word to the model: claude-print -p cassete",
  ],
  [
    "--model haiku task.md",
    '"task.md" is the name of a file',
    "Did you mean claude-print --input-file task.md? To send the word to the model: claude-print -p task.md",
  ],
  [
    "task.md",
    '"task.md" is the name of a file',
    "Did you mean claude-print --input-file task.md? To send the word to the model: claude-print -p task.md",
  ],
]);

Deno.test("a list names the key that was mistyped", () => {
  const read = (line: string) => {
    try {
      return readListInput(parseListLine(line));
    } catch (error) {
      return problemText(error as CliError);
    }
  };
  assertEquals(
    read('{"promt": "x"}'),
    'claude-print: Cannot read the line: unknown key "promt"\n  Did you mean "prompt"?\n',
  );
  assertEquals(
    read('{"text": "x"}').toString().split("\n")[0],
    "claude-print: Cannot read the line: it has no prompt",
  );
});

Deno.test("elsewhere a lone word is the prompt, with a note", async () => {
  const rows: readonly (readonly [Line, string, number])[] = [
    ["doctr", "doctr", 1],
    ["help", "help", 1],
    ["task.md", "task.md", 1],
    ["hello", "hello", 0],
    ["-p doctr", "doctr", 0],
    ["doctr -p", "doctr", 0],
    ["-- task.md", "task.md", 0],
    ["--model haiku doctr", "doctr", 0],
    [["doctr is broken"], "doctr is broken", 0],
  ];
  for (const [line, prompt, notes] of rows) {
    const warnings: string[] = [];
    const parsed = await parseArguments(argumentsOf(line));
    if (parsed.kind !== "run") throw new Error(`${line}: ${parsed.kind}`);
    const io = { ...TERMINAL, isAttended: false, warn: (text: string) => warnings.push(text) };
    assertEquals([await readPrompt(parsed.request, io), warnings.length], [prompt, notes]);
    // With text on stdin it is clearly a prompt.
    const piped = { ...io, stdinIsTerminal: false, stdinAtOnce: () => new Uint8Array([0x61]) };
    assertEquals(await readPrompt(parsed.request, piped), `${prompt}\na`);
    assertEquals(warnings.length, notes, `${line}`);
  }
});

Deno.test("help is a command before the name of one", async () => {
  const rows: readonly (readonly [Line, boolean, unknown])[] = [
    ["help doctor", false, { kind: "help", command: "doctor" }],
    ["help cassette replay", false, { kind: "help", command: "cassette", action: "replay" }],
    ["cassette replay --help", false, { kind: "help", command: "cassette", action: "replay" }],
    ["doctor -h", false, { kind: "help", command: "doctor" }],
    ["help", true, { kind: "help" }],
    ["-h", false, { kind: "help", short: true }],
    ["--help", false, { kind: "help" }],
  ];
  for (const [line, isAttended, parsed] of rows) {
    assertEquals(await parseArguments(argumentsOf(line), { isAttended }), parsed as never);
  }
});
