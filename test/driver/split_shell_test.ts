import { assert, assertEquals } from "@std/assert";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { ShellSource } from "../../src/driver/sources/shells/shell_source.ts";
import { shellScript } from "../../src/sandbox/child/split_shell.ts";
import { shellQuote } from "../../src/shell_quote.ts";

/** Commands that have to do the same however their output is watched. */
const COMMANDS: readonly string[] = [
  "echo plain",
  "echo 'single \"in\" quotes' \"double 'in' quotes\" $'\\t|\\x41'",
  'echo it\\\'s \\\\ \\$HOME `echo sub` $(echo "nested $(echo deeper)")',
  "cat <<'END'\nhere $HOME `x` 'y'\n  indented\nEND",
  "cat <<END | tr a-z A-Z\nexpanded $((6 * 7))\nEND",
  "cat <<-END\n\ttabs\n\tEND",
  "cd /tmp && pwd",
  "mkdir -p inner/folder && cd inner/folder && pwd",
  "pwd",
  "cd ..; cd ..; pwd",
  "exit 3",
  "echo before; exit 0; echo never",
  "false",
  "set -e; false; echo never",
  "set -e; if false; then :; fi; echo still",
  "set -euo pipefail; echo x | grep y | cat; echo never",
  "trap 'echo trapped' EXIT; echo body",
  "trap 'echo caught >&2' ERR; false; true",
  "trap 'echo usr1' USR1; kill -USR1 $$; echo after",
  "kill -9 $$",
  "kill -TERM $$; sleep 1",
  "sleep 0.2 & wait; echo waited",
  "(sleep 0.1; echo from behind) & echo first; wait",
  "nohup sleep 0.1 > /dev/null 2>&1 & echo left it",
  "seq 5 | sort -r | head -n 2",
  "yes | head -n 3",
  "(exit 7); echo $?",
  "(cd /; pwd); pwd",
  "{ echo grouped; echo error >&2; } 2>&1 | cat",
  "echo ünïcödé 🎉 日本語; printf '\\342\\202\\254\\n'",
  "printf '\\377\\376 no text\\n'",
  "printf 'no newline at the end'",
  "printf '\\n\\n  space around  \\n\\n'",
  "printf 'carriage\\r\\nreturn\\r'",
  "echo commented # and no more",
  "echo ends in a backslash \\",
  "echo one; echo two >&2; echo three; echo four >&2",
  "for n in 1 2 3; do echo out $n; echo err $n >&2; done",
  "echo kept; echo anew > /dev/stderr; echo added",
  "ls /nowhere/at/all",
  "no_such_command --at-all",
  "echo $((",
  "if true; then echo unclosed",
  'printf \'%s\\n\' "$0" "$SHELL" "$SHLVL" "$#" "$-" "${CLAUDE_CODE_SHELL-none}" "$BASH_SUBSHELL"',
  "[ -t 1 ] && echo terminal; [ -f /dev/stdout ] && echo file; [ -p /dev/stderr ] || echo no pipe",
  "[ /dev/stdout -ef /dev/stderr ] && echo the same",
  "exec 3>&1; echo third >&3; exec 3>&-; echo closed >&3",
  "exec 2>&1; echo joined >&2",
  "exec > redirected.txt; echo hidden; cat redirected.txt >&2",
  'read line; echo "read: $line $?"',
  "VALUE=set; export VALUE; alias a=b; f() { echo called; }; f",
  'echo "${VALUE-unset}"; type f',
  "env | grep -c '^CLAUDE_CODE_SHELL='; env | sort | cut -d= -f1 | grep -v -x -e _ | tr '\\n' ' '",
  "head -c 10000000 /dev/zero | tr '\\0' x",
  "seq 1000",
  "dd if=/dev/zero bs=1000 count=3 2>/dev/null | wc -c; dd if=/dev/null of=/dev/null 2>&1 | head -n 1",
  "python3 -c 'import sys; print(1); print(2, file=sys.stderr); print(3)' 2>&1 | sort",
  "bash -c 'echo inner; exit 4'; echo $?",
  "timeout 0.2 sleep 5; echo $?",
];

/** How many shells run at a time: most wait for something. */
const AT_ONCE = 8;

/** What a command has done: the status of its shell, what it wrote, and where it has gone. */
interface Done {
  readonly code: number;
  readonly signal: string | null;
  readonly text: string;
  readonly folder: string;
}

/** A folder in which commands are given to shells as Claude Code gives them. */
class Ground implements Disposable {
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

  /** Gives a command to a shell; both streams are the same open file. */
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

  /** Lets shells begin that announce themselves, until all is done; gives what was told of one stream alone. */
  async attend(isOver: () => boolean): Promise<ReadonlySet<string>> {
    using poller = new Poller();
    const told = new Set<string>();
    for (let at = 0; !isOver(); at++) {
      await poller.wait(this.source.interests, 5);
      for (const id of this.#running) this.source.follow(id);
      for (const one of this.source.read({ at, child: Deno.pid })) {
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

Deno.test("the shell that splits output leaves every command as it is", async () => {
  using ground = new Ground();
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
  assert([...told].every((id) => id.startsWith("split")) && told.size > 0, "split they are");
  for (const [index, command] of COMMANDS.entries()) {
    assertEquals(done.split[index], done.plain[index], command);
  }
});
