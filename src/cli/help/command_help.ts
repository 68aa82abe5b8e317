import { COMMAND_SHAPES, type CommandName, commandUsage } from "../arguments/command_shapes.ts";

const HELP_COLUMN = 31;

/** Texts besides usage and flags, at most 80 columns wide. */
const COMMAND_TEXTS: Readonly<
  Record<CommandName, { readonly description: string; readonly closing?: string }>
> = {
  doctor: {
    description: `Looks whether runs will work here: a line for each thing that they need, with
what to do if it is not well.`,
    closing: `Exit codes:
  0    all is well
  2    something is not`,
  },
  sweep: {
    description: `Brings home the transcripts that runs could not, as on a full disk, and removes
what runs left behind that were killed or lost power. A run that is alive is
never touched.`,
  },
  learn: {
    description: `Measures a Claude Code that is newer than every version this program knows:
offline, without an account, in about two minutes. Later runs of that version
print what "claude -p" of it prints. What runs may do stays the same.

The result is $XDG_CACHE_HOME/claude-print/versions/VERSION.json.`,
    closing: `Exit codes:
  0    the version is known, or was measured
  1    --check: the version is newer than every known one
  2    it could not be measured, or lacks what this program needs`,
  },
  shim: {
    description: `Puts a program "claude" into a folder of PATH that sends print-mode calls (-p,
or the stream-json that the Agent SDKs speak) through claude-print, and hands
everything else, untouched, to the real claude that comes later on PATH.`,
    closing: `What claude-print refuses is handed on too, with a warning on stderr.
CLAUDE_PRINT_SHIM=off in the environment hands everything to the real claude.`,
  },
  cassette: {
    description: `Works with what a run recorded with --record <folder>.

replay feeds the recorded run to this claude-print, prints the frames of its
output, and says on stderr where this claude-print would act otherwise; with
--split, where it would if all output had come in pieces of so many bytes.
With "--" behind the folder it behaves as the recorded claude did instead, on
stdin, stdout, stderr and by its exit code: what stands behind "--" is what a
caller gives claude, and what the caller does otherwise is told at the end.
program prints an executable that does so, for those who take only a path.
svg prints the recorded terminal as an animated SVG picture.
info tells what is inside: parts, versions, size, when, turns, frames by type,
how it ended, and how many secrets were taken out.
diff says where two recorded conversations part: the turn, and what was said or
done there. Ids, times, costs and which model spoke do not count.
fork goes on for real with a recorded conversation, behind the turn that --at
names: with what was said there, or with each --prompt, one after the other.
scrub takes out of cassettes, tapes and folders of them what tells of a machine
and of who sat at it: paths, names, addresses, numbers of accounts, and secrets
that were left. What is scrubbed replays the same; with --out it is in a folder
of its own, and what was recorded stays as it is.
lint says in which ways each of them replays, what is wrong with it, and where a
secret was left, or in one that was scrubbed a name, a path or the like.

A cassette is a folder: child.cast, which "asciinema play" shows too, tape.jsonl
with the frames and the lines of the caller, api/ with what the API said, and
meta.json. Keys and tokens are taken out; the prompt, the answers and all that
stood on Claude Code's screen are in it.`,
    closing: `Exit codes:
  0    all is well; replay: this claude-print does what the recorded one did
  1    replay: it, or with "--" its caller, does something else; diff: the
       conversations part; lint: something is wrong, or there is nothing
  2    the cassette cannot be read, or not be written
fork exits as a run does: with the code of its last turn, or of one that fails.`,
  },
  relay: {
    description: `Stands in front of the Messages API and answers from the api/ of a cassette,
byte for byte. The first line it prints is its base URL, with a secret in its
path; it ends by SIGINT or SIGTERM, and serves any number of runs until then.

Nothing is asked of the API unless --on-miss record says so. Without it, what
is not recorded is answered by 503, with what comes nearest and where that is
different. Headers of requests are not recorded, and keys are taken out of what
is. normalized looks past ids, dates, ports, temporary folders and the like;
sequence takes the next exchange of a conversation, whatever is asked.`,
    closing: `Exit codes:
  0    everything that was asked was recorded
  1    something was not, could not be written, or got no answer
  2    the relay cannot listen, or a file of the cassette cannot be read`,
  },
  drift: {
    description: `Looks at cassettes, tapes and folders of them for what claude-print does not
know: lines it could not read, types of frames, lines, events and blocks,
fields that are new or gone, events of hooks, dialogs, and what Claude Code asks
the terminal. What is known was measured from recordings of several versions.
Agent SDKs are asked what they make of the frames: the one for Python parses
them, the one for TypeScript says by its declarations what it expects. Those of
the virtual environment, of PATH and of node_modules are found.

--against says the prompts of cassettes again to another Claude Code, which the
recorded API answers, and compares: offline, in a home and a folder of its own.
A version that is not installed is downloaded by npm. Calls of tools are in the
recorded answers: cassettes that have any are passed over unless --allowedTools
names the tools, and these are carried out then.

Under GITHUB_ACTIONS each difference is an annotation too, and the summary of
the step has them all as a table.`,
    closing: `Exit codes:
  0    all is as it is known
  1    something is not, or there was nothing to check
  2    a path does not exist, or it cannot be told what is a cassette there`,
  },
  bisect: {
    description: `Finds the version of Claude Code in which behaviour changed, without an account.
It takes the versions on npm from --good to --bad, and halves them until one is
left. npm downloads what is not installed, with your registry and proxy; a
download is removed after its run, unless --keep puts it into
$XDG_CACHE_HOME/claude-print/releases, where it is found again.

The prompts of each cassette are said to a version, which the recorded API
answers: offline, in a home and a folder of its own. Frames, results, requests
and the exit code are compared with what the --good version does. Calls of
tools are in the recorded answers: cassettes that have any are passed over
unless --allowedTools names the tools, and these are carried out then.

--run needs no cassette: the shell runs the command for each version, with the
path of the executable in CLAUDE_BINARY. Exit code 0 means that the version is
good, 125 that it cannot be judged, any other up to 127 that it is bad. A higher
one ends the search.`,
    closing: `Exit codes:
  0    the first version that differs was found
  1    the --bad version does the same as the --good one
  2    a version cannot be fetched or run, or the --good one is not good
  130  SIGINT ended it; nothing is left`,
  },
  serve: {
    description: `Holds conversations for other programs, which speak HTTP on a socket that only
this user can reach: $XDG_RUNTIME_DIR/claude-print/http.sock, or where there is
no such directory, a private folder in TMPDIR. The first line it prints is that
socket. SIGTERM lets what is under way come to its end; a second one or SIGQUIT
ends it. "serve stop" does the same and waits for the end of the server, which
with --now does not wait; "serve status" tells what it does.

Claude Codes that have been started ahead wait for whoever asks for the like of
what was asked for before, each for one conversation; --warm 0 has none. A line
of --profiles is {"args": ["--model", "haiku"], "cwd": "/home/me/project"}.

A run with --warm starts a server with --background 600, which ends when it has
been unused for so many seconds, or when claude-print is replaced.

With --port HTTP is spoken on 127.0.0.1 too, with those who send the token that
is in the file "token" beside the socket, as "Authorization: Bearer ...". The
second line then says where. --bind takes another address, where whoever listens
to the network reads the token too: put TLS in front of it.

With --agentapi there is one conversation at once, to which clients of agentapi
talk at /message, /messages, /status and /events; behind "--" stand its flags.

--install writes a socket and a service of systemd below ~/.config/systemd/user
and says how to start them; flags beside it are those of the server, as in
"claude-print serve --warm 2 --install". What somebody else has written or
changed there is left as it is.`,
    closing: `Exit codes:
  0    it was told to stop, or the units are there; status: it is running;
       stop: it has ended, or there was none
  2    it cannot listen, or another one of this user's is there
       status: there is none, or it does not answer; stop: it does not end`,
  },
  ps: {
    description: `Lists the conversations that "claude-print serve" holds for other programs: what
each is at and for how long, its turns, what it has cost, and where it works;
and the Claude Codes that wait for a run.`,
    closing: `Exit codes:
  0    they are listed, or there is none
  2    there is no server, or it does not answer`,
  },
  new: {
    description: `Begins a conversation on the server, in the current folder, and prints its id.
What stands behind "--" are flags of a run, such as -- --model haiku, or
-- --resume SESSION to go on with a session. Its environment is the server's.
"send" sends it messages, "interrupt --end" ends it.`,
    closing: `Exit codes:
  0    it has begun
  2    there is no server, or it refuses the flags`,
  },
  send: {
    description: `Sends a message to a conversation of the server, and prints the answer of the
model. As much of the id will do as is its own. The text is an argument, stdin,
or both, as in "claude-print -p". What waits when a turn ends shares the next
turn and its answer.

If the model asks something first, the question is printed instead, and
"claude-print answer" answers it.`,
    closing: `Exit codes:
  0    the answer is printed; --no-wait: the message is sent
  1    the turn has failed, or the model asks something
  2    there is no such conversation, it takes no message, or it has failed`,
  },
  answer: {
    description: `Answers what a conversation of the server asks, and prints the answer of the
model or its next question. Without an answer it prints what is asked.

A permission and a plan take "allow", or "deny" and why. A question takes an
answer, several questions one for each, in their order.`,
    closing: `Exit codes:
  0    what is asked, or the answer of the model, is printed
  1    the turn has failed, or the model asks something else
  2    nothing is asked, or it has other answers`,
  },
  interrupt: {
    description: `Stops the turn of a conversation of the server. With --end the conversation is
ended, and its frames are removed.`,
    closing: `Exit codes:
  0    it was told to stop, or is ended
  2    there is no such conversation, or the server does not answer`,
  },
  attach: {
    description: `Shows the screen of a conversation that "claude-print serve" holds, as it is now
and as it changes. Of its id as much will do as is its own; "claude-print ps"
lists them. q, Ctrl-C or Ctrl-] leave it as it is. Without a terminal the
screen is printed once.

With --take-over what is typed goes to Claude Code, and messages of programs are
refused meanwhile. Ctrl-] hands the conversation back, and so does the end of
this command, whatever ends it.`,
    closing: `Exit codes:
  0    the screen was left
  2    there is no such conversation, or the server does not answer`,
  },
  logs: {
    description: `Prints what has happened in a conversation that "claude-print serve" holds: the
frames of stream-json, one a line, from the first one. Of its id as much will do
as is its own; "claude-print ps" lists them.`,
    closing: `Exit codes:
  0    all frames are printed
  2    there is no such conversation, or the server does not answer
  141  nobody reads them`,
  },
  completion: {
    description: `Prints the completions of the command line for a shell.

  bash   eval "$(claude-print completion bash)" in ~/.bashrc
  zsh    claude-print completion zsh > _claude-print, in a folder of $fpath
  fish   claude-print completion fish | source, in ~/.config/fish/config.fish`,
  },
  man: {
    description: `Prints the manual page; read it with: claude-print man | man -l -`,
  },
  help: { description: "Prints the help of a command, or of one of its actions." },
};

/** Returns the output of `claude-print doctor --help` and the like, at most 80 columns wide. */
export function commandHelp(command: CommandName): string {
  const { description, closing } = COMMAND_TEXTS[command];
  const flags = COMMAND_SHAPES[command].flags.map(({ name, placeholder, help }) =>
    `  ${name} ${placeholder}`.padEnd(HELP_COLUMN) + help
  );
  const parts = [
    `Usage: ${commandUsage(command).join(`\n${" ".repeat(7)}`)}`,
    description,
    ...(flags.length > 0 ? [`Flags:\n${flags.join("\n")}`] : []),
    ...(closing === undefined ? [] : [closing]),
  ];
  return `${parts.join("\n\n")}\n`;
}
