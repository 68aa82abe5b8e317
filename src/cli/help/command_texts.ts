import type { CommandName } from "../arguments/command_shapes.ts";
import type { Rows } from "./layout.ts";

/** What a command or one of its actions does, for `--help` and the manual page. */
export interface HelpText {
  /** Paragraphs, each on one line. Lines that begin with two spaces are printed as they are. */
  readonly description: readonly string[];
  readonly exitCodes?: Rows;
  /** Command lines for a shell. */
  readonly examples?: readonly string[];
}

/** The groups of commands, and their titles in the help text. */
export const COMMAND_GROUPS = {
  setup: "Setup",
  recordings: "Recordings",
  server: "Server",
} as const;

export interface CommandText extends HelpText {
  readonly group: keyof typeof COMMAND_GROUPS;
  /** The help of each action; the first paragraph is its summary. */
  readonly actions?: Readonly<Record<string, HelpText>>;
}

const NO_SERVER = "there is no server, or it does not answer";
const NO_CONVERSATION = "there is no such conversation, or the server does not answer";
const PREFIX = 'A unique prefix of the id is enough; "claude-print ps" lists the ids.';
const UNREADABLE: Rows[number] = ["2", "the cassette cannot be read"];
const OFFLINE_RERUN =
  "The recorded API answers, without network access, in a home and a folder of its own. Recorded " +
  "answers may call tools: such cassettes are skipped unless --allowedTools names the tools, which " +
  "then run for real.";

export const COMMAND_TEXTS: Readonly<Record<CommandName, CommandText>> = {
  doctor: {
    group: "setup",
    description: [
      "Checks that runs will work on this machine. Prints a line for each requirement, with a " +
      "remedy if it is not met.",
    ],
    exitCodes: [["0", "all requirements are met"], ["2", "one is not"]],
    examples: ["claude-print doctor", "claude-print doctor --run"],
  },
  sweep: {
    group: "setup",
    description: [
      "Recovers transcripts that a run could not save, for example on a full disk, and removes " +
      "what killed runs left behind. Never touches a live run.",
    ],
    examples: ["claude-print sweep --dry-run"],
  },
  learn: {
    group: "setup",
    description: [
      "Measures a Claude Code that is newer than every version this program knows: offline, " +
      'without an account, in about two minutes. Later runs of that version print what its "claude ' +
      '-p" prints. Permissions stay the same.',
      "The result is $XDG_CACHE_HOME/claude-print/versions/VERSION.json.",
    ],
    exitCodes: [
      ["0", "the version is known, or was measured"],
      ["1", "--check: the version is newer than every known one"],
      ["2", "it could not be measured, or lacks something this program needs"],
    ],
  },
  shim: {
    group: "setup",
    description: [
      'Puts a program "claude" into a folder on PATH. It sends print-mode calls (-p, or the ' +
      "stream-json of the Agent SDKs) through claude-print, and everything else to the real claude " +
      "later on PATH.",
      "Unsupported calls go to the real claude too, with a warning on stderr. With " +
      "CLAUDE_PRINT_SHIM=off in the environment all calls do.",
    ],
    actions: {
      install: {
        description: ["Write the shim into a folder, which has to come first on PATH."],
        examples: ["claude-print shim install ~/.local/claude-shim"],
      },
      remove: { description: ["Remove the shim from a folder."] },
      status: {
        description: ["Tell whether the shim is active, and if not, how to activate it."],
        exitCodes: [["0", '"claude -p" goes through claude-print'], ["2", "it does not"]],
      },
    },
  },
  cassette: {
    group: "recordings",
    description: [
      "Works with recordings of runs, which --record <folder> makes.",
      'A cassette is a folder: child.cast is the terminal, which "asciinema play" shows; tape.jsonl ' +
      "has the frames and the caller's lines; api/ has the traffic of the API; meta.json has the " +
      "rest. Keys and tokens are removed. Prompts, answers and the screen are kept.",
    ],
    actions: {
      replay: {
        description: [
          "Replay a recording through this version, or as the recorded program.",
          "Without arguments after the folder, prints the frames that this claude-print makes of " +
          "the recorded input, and reports on stderr where it acts differently.",
          'With "--" and arguments of claude, behaves as the recorded claude did, on stdin, stdout, ' +
          "stderr and by its exit code, and reports at the end what its caller did differently.",
        ],
        exitCodes: [
          ["0", "everything is as recorded"],
          ["1", 'this claude-print acts differently, or with "--" its caller'],
          UNREADABLE,
        ],
        examples: [
          "claude-print cassette replay recorded",
          "claude-print cassette replay recorded -- -p hello",
        ],
      },
      program: {
        description: [
          "Print an executable that behaves as the recorded program.",
          "It is for callers that take only the path of a program.",
        ],
        examples: ["claude-print cassette program recorded > claude && chmod +x claude"],
      },
      svg: {
        description: ["Print the recorded terminal as an animated SVG picture."],
        examples: ["claude-print cassette svg recorded > run.svg"],
      },
      info: {
        description: [
          "Print what a recording contains.",
          "Its parts, versions, size, date, turns, frames by type, how it ended, and how many " +
          "secrets were removed.",
        ],
      },
      diff: {
        description: [
          "Compare two recordings.",
          "Prints the first turn in which the conversations differ, and how. Ids, times, costs and " +
          "the model's name are not compared.",
        ],
        exitCodes: [["0", "they are equal"], ["1", "they differ"], UNREADABLE],
      },
      fork: {
        description: [
          "Continue a recorded conversation for real after one of its turns.",
          "Sends the recorded prompts after the turn --at, or each --prompt in order. Exits with " +
          "the code of its last turn, or of the first that fails.",
        ],
        examples: ['claude-print cassette fork recorded --at 2 --prompt "And in French?"'],
      },
      scrub: {
        description: [
          "Remove personal data from recordings.",
          "Replaces paths, names, addresses, account numbers and remaining secrets in cassettes, " +
          "tapes and folders of them. A scrubbed recording replays the same.",
        ],
        examples: ["claude-print cassette scrub recorded --out shared --name Acme"],
      },
      lint: {
        description: [
          "Check recordings for damage, secrets and personal data.",
          "Prints in which ways each recording replays, its faults, and where a secret is left; in " +
          "a scrubbed one also where a name or a path is left.",
        ],
        exitCodes: [
          ["0", "no recording has a fault"],
          ["1", "one has, or there is no recording"],
          UNREADABLE,
        ],
      },
    },
  },
  relay: {
    group: "recordings",
    description: [
      "Answers requests to the Messages API from the api/ of a cassette, byte for byte. Prints its " +
      "base URL, with a secret in the path, and serves until SIGINT or SIGTERM.",
      "Asks the API only with --on-miss record. Otherwise a request that is not recorded gets a 503 " +
      "with the closest recorded request and where they differ. Headers of requests are not " +
      "recorded, and keys are removed.",
      "--match normalized ignores ids, dates, ports and temporary folders; sequence takes the next " +
      "exchange of a conversation, whatever the request is.",
    ],
    exitCodes: [
      ["0", "all requests were recorded"],
      ["1", "one was not, could not be written, or got no answer"],
      ["2", "the relay cannot listen, or a file of the cassette cannot be read"],
    ],
    examples: ["claude-print relay --cache recorded --on-miss record"],
  },
  drift: {
    group: "recordings",
    description: [
      "Reports what this version does not recognise in cassettes, tapes and folders of them: lines, " +
      "frames, events, blocks, new and missing fields, hooks, dialogs and terminal queries. The " +
      "known ones were measured from recordings of several versions.",
      "Installed Agent SDKs check the frames too: the Python SDK parses them, the TypeScript SDK " +
      "gives its declarations. They are found in the virtual environment, on PATH and in " +
      "node_modules.",
      "--against sends the prompts of cassettes to another Claude Code and compares. npm downloads " +
      `a version that is not installed. ${OFFLINE_RERUN}`,
      "Under GITHUB_ACTIONS each difference is an annotation, and the summary of the step has a " +
      "table of them.",
    ],
    exitCodes: [
      ["0", "everything is known"],
      ["1", "something is not, or there was nothing to check"],
      ["2", "a path does not exist or cannot be read as recordings"],
    ],
    examples: ["claude-print drift recordings --against 2.1.330"],
  },
  bisect: {
    group: "recordings",
    description: [
      "Finds the version of Claude Code in which a behaviour changed, without an account. Halves " +
      "the versions on npm from --good to --bad until one is left. npm downloads them with your " +
      "registry and proxy, and each is removed after use; --keep keeps them in " +
      "$XDG_CACHE_HOME/claude-print/releases.",
      "With cassettes, their prompts are sent to each version, and frames, results, requests and " +
      `the exit code are compared with the --good version. ${OFFLINE_RERUN}`,
      "With --run, the shell runs a command for each version, with the path of the executable in " +
      "CLAUDE_BINARY. Exit code 0 means good, 125 means that it cannot be judged, any other up to " +
      "127 means bad. A higher one ends the search.",
    ],
    exitCodes: [
      ["0", "the first version that differs was found"],
      ["1", "the --bad version behaves like the --good one"],
      ["2", "a version cannot be fetched or run, or the --good one is not good"],
      ["130", "interrupted (SIGINT); nothing is left behind"],
    ],
    examples: ["claude-print bisect recorded --good 2.1.300"],
  },
  serve: {
    group: "server",
    description: [
      "Runs a server with an HTTP API for conversations. It also keeps started Claude Codes warm, " +
      "so that claude-print runs start sooner.",
      "It listens on a socket that only this user can open: $XDG_RUNTIME_DIR/claude-print/http.sock, " +
      "or without that directory in a private folder in TMPDIR. Its first line of output is the " +
      "path. SIGTERM lets running turns end; a second one, or SIGQUIT, ends them.",
      "Warm children fit runs with the same flags and folder as an earlier one. A line of " +
      '--profiles starts them in advance: {"args": ["--model", "haiku"], "cwd": "/home/me/project"}.',
      "With --port it also serves HTTP on 127.0.0.1, to callers that send the token in the file " +
      '"token" beside the socket as "Authorization: Bearer ...". --bind takes another address, on ' +
      "which the network can read the token: put TLS in front of it.",
      "--agentapi adds one conversation for clients of agentapi at /message, /messages, /status and " +
      '/events; its flags follow "--".',
      "--install writes a socket and a service of systemd into ~/.config/systemd/user, with the " +
      "other flags given, and prints how to start them. It overwrites no file of other programs.",
    ],
    exitCodes: [
      ["0", "it was told to stop, or the units are written"],
      ["2", "it cannot listen, or another server of this user is running"],
    ],
    examples: ["claude-print serve --warm 2", "claude-print serve --port 8080"],
    actions: {
      status: {
        description: ["Print what the running server does."],
        exitCodes: [["0", "it is running"], ["2", NO_SERVER]],
      },
      stop: {
        description: [
          "Stop the running server, and wait for its end.",
          "Running turns may end first, unless --now is given.",
        ],
        exitCodes: [["0", "it has ended, or there was none"], ["2", "it does not end"]],
      },
    },
  },
  ps: {
    group: "server",
    description: [
      "Lists the conversations of the server, with state, age, turns, cost and folder, and its warm " +
      "children.",
    ],
    exitCodes: [["0", "they are listed"], ["2", NO_SERVER]],
  },
  new: {
    group: "server",
    description: [
      "Begins a conversation on the server, in the current folder, and prints its id. Flags of a " +
      'run follow "--", such as -- --model haiku, or -- --resume SESSION to continue a session. The ' +
      "environment is the server's.",
      '"send" sends it messages, "interrupt --end" ends it.',
    ],
    exitCodes: [["0", "it has begun"], ["2", "there is no server, or it refuses the flags"]],
    examples: ["id=$(claude-print new -- --model haiku)"],
  },
  send: {
    group: "server",
    description: [
      "Sends a message to a conversation of the server, and prints the model's answer. The text is " +
      'an argument, stdin, or both, as in "claude-print -p". Messages that wait when a turn ends ' +
      `share the next turn and its answer. ${PREFIX}`,
      'If the model asks something first, the question is printed instead; "claude-print answer" ' +
      "answers it.",
    ],
    exitCodes: [
      ["0", "the answer is printed; with --no-wait, the message is sent"],
      ["1", "the turn failed, or the model asks something"],
      ["2", "there is no such conversation, it takes no message, or it has failed"],
    ],
    examples: ['claude-print send "$id" "What does this project do?"'],
  },
  answer: {
    group: "server",
    description: [
      "Answers a request of a conversation of the server, and prints the model's answer or its next " +
      "question. Without an answer it prints the request.",
      'A permission and a plan take "allow", or "deny" and a reason. A question takes one answer, ' +
      "several questions one answer each, in their order.",
    ],
    exitCodes: [
      ["0", "the request, or the model's answer, is printed"],
      ["1", "the turn failed, or the model asks something else"],
      ["2", "there is no request, or it takes other answers"],
    ],
    examples: ['claude-print answer "$id" allow'],
  },
  interrupt: {
    group: "server",
    description: [
      "Stops the turn of a conversation of the server. --end also ends the conversation and removes " +
      "its frames.",
    ],
    exitCodes: [["0", "the turn stops, or the conversation has ended"], ["2", NO_CONVERSATION]],
  },
  attach: {
    group: "server",
    description: [
      `Shows the live screen of a conversation of the server. ${PREFIX} q, Ctrl-C or Ctrl-] leave ` +
      "it unchanged. Without a terminal the screen is printed once.",
      "With --take-over your keys go to Claude Code, and messages of programs are refused. Ctrl-], " +
      "or the end of this command, gives the conversation back.",
    ],
    exitCodes: [["0", "the screen was left"], ["2", NO_CONVERSATION]],
  },
  logs: {
    group: "server",
    description: [`Prints the stream-json frames of a conversation of the server. ${PREFIX}`],
    exitCodes: [
      ["0", "all frames are printed"],
      ["2", NO_CONVERSATION],
      ["141", "the reader of stdout is gone"],
    ],
  },
  completion: {
    group: "setup",
    description: [
      "Prints the completions of the command line for a shell.",
      '  bash   eval "$(claude-print completion bash)" in ~/.bashrc\n' +
      "  zsh    claude-print completion zsh > _claude-print, in a folder of $fpath\n" +
      "  fish   claude-print completion fish | source, in ~/.config/fish/config.fish",
    ],
  },
  man: {
    group: "setup",
    description: ["Prints the manual page."],
    examples: ["claude-print man | man -l -"],
  },
  help: {
    group: "setup",
    description: [
      "Prints the help of a command, or of one of its actions. Alone it is a command at a terminal " +
      "only; elsewhere it is a prompt.",
    ],
    examples: ["claude-print help serve", "claude-print help cassette replay"],
  },
};
