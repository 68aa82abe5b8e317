/**
 * Shells as Claude Code starts them: each test starts processes.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { readShellCommands } from "../../../src/driver/inputs/shells/shell_commands.ts";
import { type ShellInput, ShellSource } from "../../../src/driver/inputs/shells/shell_source.ts";
import { shellScript } from "../../../src/sandbox/child/child_files.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { tempFolder } from "../../temp_folder.ts";

Deno.test("ShellSource reports a shell that it sees running", async () => {
  using temp = tempFolder();
  const tempDir = temp.path;
  using source = new ShellSource({ tempDir, sessionId: "s", cwd: "/w" });
  const [fifo, output] = [
    `${tempDir}/fifo`,
    `${tempDir}/claude-${Deno.uid()}/-w/s/tasks/b1.output`,
  ];
  makeFifo(fifo);
  const command = `echo one; read x < "${fifo}"`;
  const given = `source x || true && eval '${command}' < /dev/null && pwd -P >| /tmp/x-cwd`;
  const shell = new Deno.Command("/bin/sh", {
    args: ["-c", 'exec >> "$0" 2>&1; exec /bin/bash -c "$1"', output, given],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  // The FIFO opens once the command reads it.
  const writer = await Deno.open(fifo, { write: true });
  const read = (at: number) => source.read({ at, child: Deno.pid });
  assert([...readShellCommands(Deno.pid).values()].includes(command));
  assertEquals([read(0), read(150)], [[], []], "the call may not be known yet");
  assertEquals(read(300).slice(0, 1), [{ type: "shell", id: "b1", command, running: true }]);
  shell.kill();
  await shell.status;
  writer.close();
  source.finish("b1");
  assertEquals(read(1300).at(-1), { type: "shell-over", id: "b1" });
  assertEquals(read(2300), []);
});

/** Commands that do the same under both shells. */
const COMMANDS: readonly string[] = [
  "echo plain",
  "echo 'single \"in\" quotes' \"double 'in' quotes\" $'\\t|\\x41'",
  'echo it\\\'s \\\\ \\$HOME `echo sub` $(echo "nested $(echo deeper)")',
  "cat <<'END'\nhere $HOME `x` 'y'\n  indented\nEND",
  "cat <<END | tr a-z A-Z\nexpanded $((6 * 7))\nEND",
  "cd /tmp && pwd",
  "mkdir -p inner/folder && cd inner/folder && pwd",
  "echo before; exit 0; echo never",
  "set -e; false; echo never",
  "trap 'echo trapped' EXIT; echo body",
  "trap 'echo usr1' USR1; kill -USR1 $$; echo after",
  "kill -9 $$",
  "sleep 0 & wait; echo waited",
  "(cd /; pwd); pwd",
  "echo ünïcödé 🎉 日本語; printf '\\342\\202\\254\\n'",
  "printf '\\377\\376 no text\\n'",
  "printf 'no newline at the end'",
  "printf '\\n\\n  space around  \\n\\n'",
  "echo ends in a backslash \\",
  "echo one; echo two >&2; echo three; echo four >&2",
  "echo kept; echo anew > /dev/stderr; echo added",
  "echo $((",
  'printf \'%s\\n\' "$0" "$SHELL" "$SHLVL" "$#" "$-" "${CLAUDE_CODE_SHELL-none}" "$BASH_SUBSHELL"',
  "[ -t 1 ] && echo terminal; [ -f /dev/stdout ] && echo file; [ -p /dev/stderr ] || echo no pipe",
  "[ /dev/stdout -ef /dev/stderr ] && echo the same",
  "exec 3>&1; echo third >&3; exec 3>&-; echo closed >&3",
  "exec 2>&1; echo joined >&2",
  "exec > redirected.txt; echo hidden; cat redirected.txt >&2",
  'read line; echo "read: $line $?"',
  "VALUE=set; export VALUE; alias a=b; f() { echo called; }; f",
  'echo "${VALUE-unset}"; type f',
  "head -c 1000000 /dev/zero | tr '\\0' x",
  "bash -c 'echo inner; exit 4'; echo $?",
];

/** How many shells run at a time. */
const AT_ONCE = 8;

/** The status of a shell, its output and its last working directory. */
interface Done {
  readonly code: number;
  readonly signal: string | null;
  readonly text: string;
  readonly folder: string;
}

/** A folder in which commands are given to shells like Claude Code does. */
class SplitGround implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly source: ShellSource;
  readonly #running = new Set<string>();
  readonly script = `${this.path}/bash`;

  constructor() {
    const streamsDir = `${this.path}/streams`;
    this.source = new ShellSource({ tempDir: this.path, sessionId: "s", cwd: "/w", streamsDir });
    const shell = { path: this.script, shell: "/bin/bash", named: undefined, folder: streamsDir };
    Deno.writeTextFileSync(this.script, shellScript(shell), { mode: 0o700 });
    for (const name of ["plain", "split"]) Deno.mkdirSync(`${this.path}/${name}`);
  }

  /** Runs a command in a shell with the same open file as both streams. */
  async run(command: string, { index, name }: Place): Promise<Done> {
    const cwd = `${this.path}/${name}/${index}`;
    await Deno.mkdir(cwd);
    const [gone, snapshot] = [`${cwd}.cwd`, `${cwd}.sh`];
    await Deno.writeTextFile(snapshot, "shopt -s expand_aliases\n");
    const given = `source ${snapshot} 2>/dev/null || true && shopt -u extglob 2>/dev/null || true` +
      ` && eval ${shellQuote(command)}${/<</u.test(command) ? "" : " < /dev/null"} && ` +
      `pwd -P >| ${gone}`;
    const shell = name === "split" ? this.script : "/bin/bash";
    const output = `${this.path}/claude-${Deno.uid()}/-w/s/tasks/${name}${index}.output`;
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", 'exec >> "$0" 2>&1; exec "$1" -c "$2"', output, shell, given],
      cwd,
      env: { SHELL: shell, ...(name === "split" ? { CLAUDE_CODE_SHELL: shell } : {}) },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#running.add(`${name}${index}`);
    const { code, signal } = await child.status;
    this.#running.delete(`${name}${index}`);
    const folder = await Deno.readTextFile(gone).catch(() => "");
    const text = new TextDecoder("latin1").decode(await Deno.readFile(output));
    const place = new RegExp(`(?<=/)${name}(?=/${index}\\b)`, "gu");
    const anywhere = (told: string) => told.replaceAll(place, "*");
    return { code, signal, text: anywhere(text), folder: anywhere(folder) };
  }

  /** Lets shells begin that announce themselves; returns the ids of those with output of a known stream. */
  async attend(
    isOver: () => boolean,
    onNews: (news: ShellInput) => void = () => {},
  ): Promise<ReadonlySet<string>> {
    using poller = new Poller();
    const told = new Set<string>();
    for (let at = 0; !isOver(); at++) {
      await poller.wait(this.source.interests, 5);
      for (const id of this.#running) this.source.follow(id);
      for (const one of this.source.read({ at, child: Deno.pid })) {
        onNews(one);
        if (one.type === "shell-output" && one.stream !== undefined) told.add(one.id);
      }
    }
    return told;
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
    Deno.removeSync(this.path, { recursive: true });
  }
}

interface Place {
  readonly index: number;
  readonly name: "plain" | "split";
}

Deno.test("the splitting shell runs every command unchanged", async () => {
  using ground = new SplitGround();
  const done = { plain: [] as Done[], split: [] as Done[] };
  const places = COMMANDS.keys().flatMap((index): Place[] => [
    { index, name: "plain" },
    { index, name: "split" },
  ]);
  const work = async () => {
    for (const place of places) {
      done[place.name][place.index] = await ground.run(COMMANDS[place.index] ?? "", place);
    }
  };
  let isOver = false;
  const working = Promise.all(Array.from({ length: AT_ONCE }, work)).finally(() => isOver = true);
  const [, told] = await Promise.all([working, ground.attend(() => isOver)]);
  assert([...told].every((id) => id.startsWith("split")) && told.size > 0, "streams were split");
  for (const [index, command] of COMMANDS.entries()) {
    assertEquals(done.split[index], done.plain[index], command);
  }
});

Deno.test("ShellSource separates stdout from stderr of a splitting shell", async () => {
  using ground = new SplitGround();
  const news: ShellInput[] = [];
  let isOver = false;
  const running = ground.run("echo out; echo err >&2; echo more >&2; exit 3", {
    index: 1,
    name: "split",
  }).finally(() => isOver = true);
  await ground.attend(() => isOver, (one) => news.push(one));
  const { code, text } = await running;
  ground.source.finish("split1");
  for (const at of [10_000, 20_000]) news.push(...ground.source.read({ at, child: Deno.pid }));
  assertEquals([code, text], [3, "out\nerr\nmore\n"]);
  const linesOf = (stream: "stdout" | "stderr") =>
    news.map((one) => one.type === "shell-output" && one.stream === stream ? one.text : "").join(
      "",
    );
  assertEquals([linesOf("stdout"), linesOf("stderr")], ["out\n", "err\nmore\n"]);
  assertEquals(news.at(-1), { type: "shell-over", id: "split1" });
  // Other text on the FIFO is no shell of the child.
  const fifo = Deno.openSync(`${ground.path}/streams/calls`, { write: true, read: true });
  fifo.writeSync(new TextEncoder().encode(`1\n-1\nx\n${"9".repeat(4000)}\n\n${Deno.pid}\n`));
  fifo.close();
  assertEquals(ground.source.read({ at: 30_000, child: Deno.pid }), []);
  const left = Array.from(Deno.readDirSync(`${ground.path}/streams`), ({ name }) => name);
  assertEquals(left.toSorted(), ["calls", "idle"]);
});
