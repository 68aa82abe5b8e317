import { assertEquals } from "@std/assert";
import { COMMAND_NAMES, COMMAND_SHAPES } from "../../../src/cli/arguments/command_shapes.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { argumentsOf, type Line, testErrors } from "./command_line.ts";

function testCommands(
  name: string,
  rows: readonly (readonly [Line, Readonly<Record<string, unknown>>])[],
): void {
  Deno.test(name, async () => {
    for (const [line, parsed] of rows) {
      const [kind] = argumentsOf(line);
      assertEquals(
        await parseArguments(argumentsOf(line)),
        { kind, ...parsed } as never,
        `${line}`,
      );
    }
  });
}

const DOCTOR = { offline: false, run: false, json: false, claudeBinary: "/c" };
const DRIFT = { paths: ["a"], json: false, allowEmpty: false, allowedTools: [] };
const BISECT = { json: false, good: "2.1.285", bad: "2.1.332", keep: false, allowedTools: [] };
const VERSIONS = "bisect --good 2.1.285 --bad=2.1.332";
const RELAY = {
  cache: "c",
  match: "normalized",
  ignored: [],
  onMiss: "fail",
  offline: false,
  allowUpstream: false,
  speed: 0,
  hostname: "127.0.0.1",
  port: 0,
  hasSecret: true,
  stats: false,
};
const SERVE = { warm: 1, max: 4, idleMs: 900_000, conversations: 64 };

testCommands("a command knows its flags", [
  ["doctor --offline --claude-binary /c", { options: { ...DOCTOR, offline: true } }],
  ["doctor --run --json --claude-binary=/c", { options: { ...DOCTOR, run: true, json: true } }],
  ["sweep", { options: { dryRun: false, json: false } }],
  ["sweep --dry-run --json", { options: { dryRun: true, json: true } }],
  ["learn", { options: { check: false } }],
  ["learn --check --claude-binary /c", { options: { check: true, claudeBinary: "/c" } }],
  ["shim install /d", { options: { action: "install", dir: "/d" } }],
  ["shim status", { options: { action: "status" } }],
  ["drift a --sdk b --sdk=c --allow-empty", {
    options: { ...DRIFT, allowEmpty: true, sdks: ["b", "c"] },
  }],
  ["drift a b --json --input-name=c", {
    options: { ...DRIFT, paths: ["a", "b"], json: true, inputName: "c" },
  }],
  [
    [
      ...["drift", "a", "--no-sdk", "--against", "2.1.330", "--allowedTools", "Bash, Read"],
      ...["--allowedTools=Edit", "--allowedTools", " Grep Bash(git Task, Glob) Write"],
    ],
    {
      options: {
        ...DRIFT,
        sdks: [],
        against: "2.1.330",
        allowedTools: ["Bash", "Read", "Edit", "Grep", "Bash(git Task, Glob)", "Write"],
      },
    },
  ],
  [`${VERSIONS} a --allowedTools Bash,Read`, {
    options: { ...BISECT, paths: ["a"], allowedTools: ["Bash", "Read"] },
  }],
  [`${VERSIONS} --run a --keep --json`, {
    options: { ...BISECT, paths: [], run: "a", keep: true, json: true },
  }],
  ["relay --cache c", { options: RELAY }],
  [
    "relay --cache c --match exact --on-miss record --offline --allow-upstream --speed 2.5 " +
    "--upstream https://api.example/ --inject f.json --bind 0.0.0.0 --port 8 --no-secret --stats",
    {
      options: {
        ...RELAY,
        match: "exact",
        onMiss: "record",
        offline: true,
        allowUpstream: true,
        upstream: "https://api.example/",
        speed: 2.5,
        faults: "f.json",
        hostname: "0.0.0.0",
        port: 8,
        hasSecret: false,
        stats: true,
      },
    },
  ],
  ["relay --cache c --ignore /a --ignore=/b~0/0", {
    options: { ...RELAY, ignored: ["/a", "/b~0/0"] },
  }],
  ["serve", { options: SERVE }],
  ["serve --profiles p --warm 2.5 --max 3 --idle 500ms --conversations 9 --port 7 --bind ::1", {
    options: {
      profiles: "p",
      warm: 2,
      max: 3,
      idleMs: 500,
      conversations: 9,
      tcp: { hostname: "::1", port: 7 },
    },
  }],
  ["serve --background 2.5", { options: { ...SERVE, backgroundMs: 2500 } }],
  ["serve --port 0 --agentapi -- --model x", {
    options: {
      ...SERVE,
      tcp: { hostname: "127.0.0.1", port: 0 },
      agentArgs: ["--model", "x"],
    },
  }],
  ["serve status --json", { running: { action: "status", json: true } }],
  ["serve stop", { running: { action: "stop", now: false } }],
  ["serve stop --now", { running: { action: "stop", now: true } }],
  ["serve --install --warm 2", {
    options: { ...SERVE, warm: 2 },
    unit: { action: "install", flags: ["--warm", "2"] },
  }],
  ["serve --uninstall", { options: SERVE, unit: { action: "uninstall", flags: [] } }],
  ["ps", { json: false }],
  ["ps --json", { json: true }],
  ["new", { args: [] }],
  ["new -- --model x", { args: ["--model", "x"] }],
  ["send c1", { id: "c1", interrupts: false, waits: true }],
  ["send c1 --interrupt hi --no-wait", { id: "c1", text: "hi", interrupts: true, waits: false }],
  ["answer c1", { id: "c1", answers: [], waits: true }],
  ["answer c1 deny why --no-wait", { id: "c1", answers: ["deny", "why"], waits: false }],
  ["interrupt c1", { id: "c1", ends: false }],
  ["interrupt c1 --end", { id: "c1", ends: true }],
  ["attach c1", { id: "c1", takesOver: false }],
  ["attach c1 --take-over", { id: "c1", takesOver: true }],
  ["logs c1", { id: "c1", follows: false }],
  ["logs --follow c1", { id: "c1", follows: true }],
  ["completion zsh", { shell: "zsh" }],
  ["man", {}],
]);

const PROGRAM = { mode: "verify", speed: 0, patienceMs: 30_000 };
const fork = { action: "fork", dir: "x", prompts: [], flags: [] };

testCommands("an action of a cassette knows its flags", [
  ["cassette replay x", { options: { action: "replay", dir: "x" } }],
  ["cassette replay x --split 3", { options: { action: "replay", dir: "x", split: 3 } }],
  ["cassette replay x --speed 2 -- -p hi", {
    options: {
      action: "replay",
      dir: "x",
      asProgram: { ...PROGRAM, speed: 2, args: ["-p", "hi"] },
    },
  }],
  ["cassette program x --patience 1s", {
    options: { action: "program", dir: "x", asProgram: { ...PROGRAM, patienceMs: 1000 } },
  }],
  ["cassette info x", { options: { action: "info", dir: "x", json: false } }],
  ["cassette svg x", { options: { action: "svg", dir: "x" } }],
  ["cassette diff x y --json", { options: { action: "diff", dir: "x", other: "y", json: true } }],
  ["cassette scrub x y --prompts --name Acme --name=b --input-name i.jsonl", {
    options: {
      action: "scrub",
      paths: ["x", "y"],
      inputName: "i.jsonl",
      prompts: true,
      answers: false,
      names: ["Acme", "b"],
    },
  }],
  ["cassette lint a.jsonl b.jsonl", { options: { action: "lint", paths: ["a.jsonl", "b.jsonl"] } }],
  ["cassette fork x --at=0", { options: { ...fork, at: 0 } }],
  [
    "cassette fork x --at 2 --model=m --api-cassette=a --record=r --prompt -x --prompt=y -- --verbose",
    {
      options: {
        ...fork,
        at: 2,
        prompts: ["-x", "y"],
        model: "m",
        apiCassette: "a",
        record: "r",
        flags: ["--verbose"],
      },
    },
  ],
]);

const bad = (command: string, flag: string, values: readonly string[]) =>
  values.map((value) =>
    [[...command.split(" "), `${flag}=${value}`], `${flag} does not take "${value}"`] as const
  );
const ONE_SOURCE = "bisect needs either a cassette or --run and a command";
const PATHS = "a cassette, a tape or a folder of them";

testErrors("a command refuses what it does not know", [
  ["doctor --dry-run", 'doctor does not take "--dry-run"'],
  ["doctor --claude-binary", "--claude-binary needs a value"],
  ["doctor --json=x", "--json takes no value"],
  [["sweep", "the floor"], 'sweep does not take "the floor"'],
  ["shim", "shim needs an action"],
  ["shim run", 'shim does not take "run"'],
  ["shim install", "shim install needs a folder"],
  ["drift", `drift needs ${PATHS}`],
  ["drift a --sdk b --no-sdk", "--sdk and --no-sdk were both given"],
  ["drift a --allowedTools Bash", "--allowedTools needs --against"],
  ["bisect a", "bisect needs --good and a version"],
  ...bad(
    "bisect a",
    "--good",
    ["../../x", "-x", "latest", "2.1.285\n", "2.1", ""],
  ),
  ["bisect a --good=2.1.285 --bad -x", '--bad does not take "-x"'],
  ["bisect --good=2.1.285", ONE_SOURCE],
  [["bisect", "--good=2.1.285", "--run", ""], ONE_SOURCE],
  ["bisect --good=2.1.285 a --run b", ONE_SOURCE],
  [
    "bisect --good=2.1.285 --run a --allowedTools Bash",
    "--allowedTools has no effect with --run",
  ],
  ["relay", "relay needs --cache and a folder"],
  ["relay --cache=", "relay needs --cache and a folder"],
  ["relay --cache c --on-miss never", '--on-miss does not take "never"'],
  ["relay --cache c --match none", '--match does not take "none"'],
  ...bad("relay --cache c", "--ignore", ["", "x", "/~2"]),
  ["relay --cache c --match exact --ignore /a", "--ignore needs --match normalized"],
  ...bad("relay --cache c", "--upstream", ["x", "ftp://x"]),
  ...bad("relay --cache c", "--speed", ["-1", "1e9", "x"]),
  ...bad("relay --cache c", "--port", ["65536"]),
  ...bad("serve", "--warm", ["101"]),
  ...bad("serve", "--max", ["1001"]),
  ...bad("serve", "--conversations", ["10001"]),
  ["serve --bind x", "--bind needs --port"],
  ["serve --install --uninstall", "--install and --uninstall were both given"],
  ["serve --uninstall --warm 2", "--uninstall takes no other flags"],
  ["new --model x", 'new does not take "--model"'],
  ["send", "send needs the id of a conversation"],
  ["serve start", 'serve does not take "start"'],
  ["serve stop -- x", 'serve stop does not take "--"'],
  ["serve stop --warm 2", 'serve stop does not take "--warm"'],
  ["serve --json", 'serve does not take "--json"'],
  ["serve -- x", 'arguments after "--" need --agentapi'],
  ["attach", "attach needs the id of a conversation"],
  ["attach a b", 'attach does not take "b"'],
  ["completion", "completion needs a shell"],
  ["completion tcsh", 'completion does not take "tcsh"'],
  ["man x", 'man does not take "x"'],
  ["cassette replay --json x", 'cassette replay does not take "--json"'],
  ["cassette replay x --speed 1", '--speed needs "--" and the arguments of claude'],
  [
    "cassette replay x --split 2 -- -p",
    '--split does not go with "--"',
  ],
  ...bad(
    "cassette replay x",
    "--split",
    ["0", "-1", "1.5", "1e3", "1000001", ""],
  ),
  ["cassette fork x", "cassette fork needs --at and a turn"],
  ...bad("cassette fork x", "--at", ["-1", "1.5", "last"]),
  ["cassette info --at 1 x", 'cassette info does not take "--at"'],
  ["cassette lint", `cassette lint needs ${PATHS}`],
  ["cassette lint x --prompts", 'cassette lint does not take "--prompts"'],
  ["cassette lint x --input-name=a/b", '--input-name does not take "a/b"'],
  ["cassette svg", "cassette svg needs the folder of a cassette"],
  ["cassette diff x", "cassette diff needs the folders of two cassettes"],
  ["cassette svg --split 1 x", 'cassette svg does not take "--split"'],
]);

/** Values of flags that do not take an "x". */
const VALUES: Readonly<Record<string, string>> = {
  ...{ "--on-miss": "record", "--upstream": "https://api.example.com", "--match": "normalized" },
  ...{ "--ignore": "/metadata/user_id", "--mode": "verify", "--good": "2.1.280" },
  "--bad": "2.1.332",
};
const NUMBERS = /^--(?:speed|port|split|patience|at|warm|max|idle|background|conversations)$/u;

/** What a command, one of its first words, or a flag cannot do without. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  relay: ["--cache", "recorded"],
  fork: ["--at", "1"],
  drift: ["--against", "x"],
  bisect: ["--good", "2.1.280", "recorded"],
  "bisect --run": ["--good", "2.1.280"],
  "--bind": ["--port", "0"],
};

Deno.test("a command takes every flag of its shape", async () => {
  for (const command of COMMAND_NAMES) {
    const { flags, action: first, operands = {} } = COMMAND_SHAPES[command];
    for (const { name: flag, placeholder, actions } of flags) {
      const word = actions?.[0] ?? first?.choices.at(-1) ?? "";
      const { kind } = await parseArguments([
        command,
        ...word === "" ? [] : [word],
        ...Array(operands[word]?.min ?? 0).fill("x"),
        ...BESIDE[`${command} ${flag}`] ?? BESIDE[command] ?? BESIDE[word] ?? BESIDE[flag] ?? [],
        flag,
        ...placeholder === "" ? [] : [VALUES[flag] ?? (NUMBERS.test(flag) ? "1" : "x")],
      ]);
      assertEquals(kind, command, `${command} ${flag}`);
    }
  }
});
