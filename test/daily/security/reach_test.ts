import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { closeFd, readFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import type { LoggedRequest } from "../../../src/recording/learn/messages_api.ts";
import type { Reply } from "../../../src/recording/learn/reply_script.ts";
import { ANSWER_SUFFIX, folderParts } from "../../../src/sandbox/folder/folder_layout.ts";
import { thisOwner } from "../../../src/sandbox/folder/owner.ts";
import { folderOfRuns } from "../../../src/sandbox/folder/run_places.ts";
import { missingTool } from "../../missing_tool.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { RealClaude, type StartOptions } from "../../real/real_claude.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { writeFiles } from "../../write_files.ts";

/** What this machine lacks for Claude Code's Bash sandbox. */
const SANDBOX_LACK: string | undefined = missingTool("bwrap") ?? missingTool("socat") ??
  (await isLetIn() ? undefined : "the right to make user namespaces");

async function isLetIn(): Promise<boolean> {
  const args = ["--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--dev", "/dev", "true"];
  const { success } = await new Deno.Command("bwrap", { args, stdout: "null", stderr: "null" })
    .output();
  return success;
}

const PROMPT = "the prompt, which is nobody else's business";

/** A call of a tool, which may follow from what the last one returned. */
type Call = (seen: string) => readonly [name: string, input: Readonly<Record<string, unknown>>];

const bash = (command: string): Call => () => ["Bash", { command }];
const read = (file_path: string): Call => () => ["Read", { file_path }];
const write = (file_path: string): Call => () => ["Write", { file_path, content: "evil" }];

interface Result {
  readonly text: string;
  readonly isError: boolean;
}

/** A model that makes one call after another, and then answers "done". */
interface Model {
  /** Called once the run is there. */
  readonly plan: (real: RealClaude) => readonly Call[];
  /** Called when all calls have been made, while the run is still there. */
  readonly end?: () => void;
}

/** Runs a model and returns the results of its tools. */
async function play(
  version: string,
  { model, args, prepare, after }: {
    readonly model: Model;
    readonly args: readonly string[];
    readonly prepare: (real: RealClaude) => Promise<StartOptions>;
    readonly after?: (real: RealClaude) => Promise<void>;
  },
): Promise<readonly Result[]> {
  let calls: readonly Call[] | undefined;
  let made = 0;
  let problem: unknown;
  const reply = ({ kind, text }: LoggedRequest): Reply | undefined => {
    if (kind !== "turn") return undefined;
    try {
      calls ??= model.plan(real);
      const [name, input] = calls[made++]?.(text) ?? [];
      if (name !== undefined && input !== undefined) return [{ kind: "tool", name, input }];
      model.end?.();
    } catch (error) {
      // Told to Claude Code it would be an error of the API, after which it waits and asks again.
      problem = error;
    }
    return [{ kind: "text", text: "done" }];
  };
  await using real = await RealClaude.set(version, { api: { reply } });
  const options = await prepare(real);
  const run = await real.print([...args, "--", PROMPT], options);
  if (problem !== undefined) throw problem;
  // A background task that ends after the turn starts another turn.
  const said = new Set(run.stdout.split("\n").filter((line) => line !== ""));
  assertEquals([run.code, [...said], run.stderr], [0, ["done"], ""]);
  await after?.(real);
  const results = resultsIn(real.api.turns[calls?.length ?? 0]);
  assertEquals(results.length, calls?.length);
  return results;
}

function resultsIn(request: LoggedRequest | undefined): readonly Result[] {
  const { messages } = request?.body as {
    readonly messages: readonly {
      readonly content: string | readonly Readonly<Record<string, unknown>>[];
    }[];
  };
  return messages.flatMap(({ content }) => typeof content === "string" ? [] : content)
    .filter(({ type }) => type === "tool_result")
    .map(({ content, is_error }) => ({
      text: JSON.stringify(content),
      isError: is_error === true,
    }));
}

/** The paths that a hostile model knows. */
interface Field {
  /** HOME, and the working directory, which is TMPDIR. */
  readonly home: string;
  readonly tmp: string;
  /** The private folder of the run, of another run in the same place, and of a run in the working directory. */
  readonly run: string;
  readonly beside: string;
  readonly other: string;
}

/** Runs a model in TMPDIR, and sees to it that nothing changes by it in a private folder. */
async function prowl(version: string, { args, plan }: {
  readonly args: readonly string[];
  readonly plan: (field: Field) => readonly Call[];
}): Promise<readonly Result[]> {
  let field: Field | undefined;
  let before: unknown;
  const answers: ReturnType<typeof answerFifo>[] = [];
  return await play(version, {
    args,
    prepare: async ({ home: { path, tmp } }) => {
      const { pid, startTime } = thisOwner();
      await Deno.mkdir(`${path}/runtime`, { mode: 0o700 });
      for (const place of [tmp, `${path}/runtime`]) {
        const parts = folderParts(`${folderOfRuns(place)}/${pid}-${startTime}-0123abcd`);
        for (const dir of [parts.payloadDir, parts.configDir]) {
          await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
        }
        await Deno.writeTextFile(`${parts.own}/prompt`, PROMPT);
        answers.push(answerFifo(parts.payloadDir));
      }
      return { cwd: tmp, env: { XDG_RUNTIME_DIR: `${path}/runtime` } };
    },
    model: {
      plan: ({ home: { path, tmp } }) => {
        const others = folderOfRuns(tmp);
        const [other] = Deno.readDirSync(others)
          .filter(({ name }) => name.endsWith("-0123abcd"));
        const runs = folderOfRuns(`${path}/runtime`);
        const run = [...Deno.readDirSync(runs)].find(({ name }) => name !== other?.name);
        field = {
          ...{ home: path, tmp },
          ...{ run: `${runs}/${run?.name}`, beside: `${runs}/${other?.name}` },
          other: `${others}/${other?.name}`,
        };
        before = stateOf(field);
        return plan(field);
      },
      end: () => {
        if (field !== undefined) assertEquals(stateOf(field), before);
        for (const answer of answers) assertEquals(answer.end(), "");
      },
    },
    after: async ({ home: { path, tmp } }) => {
      assertEquals([...Deno.readDirSync(folderOfRuns(tmp))].length, 1);
      // `claude -p` leaves the other files too.
      for (const { name } of Deno.readDirSync(tmp)) {
        await Deno.remove(`${tmp}/${name}`, { recursive: true });
      }
      const runs = folderOfRuns(`${path}/runtime`);
      assertEquals([...Deno.readDirSync(runs)].length, 1);
      await Deno.remove(runs, { recursive: true });
      assertEquals([...Deno.readDirSync(`${path}/runtime`)], []);
      assert(![...Deno.readDirSync(path)].some(({ name }) => name === "escaped"));
    },
  });
}

/** The FIFO on which a hook of a run waits for an answer. */
function answerFifo(payloadDir: string) {
  makeFifo(`${payloadDir}/1${ANSWER_SUFFIX}`);
  const fd = openFifo(`${payloadDir}/1${ANSWER_SUFFIX}`);
  return {
    end: () => {
      const bytes = new Uint8Array(99);
      const count = readFd(fd, bytes);
      closeFd(fd);
      return typeof count === "number" ? new TextDecoder().decode(bytes.subarray(0, count)) : "";
    },
  };
}

/** The files of the private folders, to see whether a tool changes them. */
function stateOf({ run, beside, other }: Field) {
  return [run, beside, other].map((folder) => {
    const { own, configDir } = folderParts(folder);
    const files = [...Deno.readDirSync(own)].map(({ name, isFile }) =>
      [name, isFile ? Deno.readTextFileSync(`${own}/${name}`) : ""] as const
    );
    const names = [...Deno.readDirSync(configDir)].map(({ name }) => name);
    return { files: files.toSorted(), hasSettings: names.includes("settings.json") };
  });
}

for (const version of REAL_VERSIONS) {
  Deno.test(`${version}: no tool reaches a private folder`, async () => {
    const allow = { hookEventName: "PreToolUse", permissionDecision: "allow" };
    const command = `echo '${JSON.stringify({ hookSpecificOutput: allow })}'`;
    const settings = {
      hooks: { PreToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command }] }] },
      permissions: { allow: ["Edit"], deny: [] },
    };
    const results = await prowl(version, {
      args: [
        ...["--permission-mode", "acceptEdits", "--allowedTools=Write"],
        `--settings=${JSON.stringify(settings)}`,
      ],
      plan: ({ tmp, run, other }) => {
        const { own, configDir } = folderParts(run);
        const theirs = folderParts(other);
        const parent = (path: string) => path.slice(0, path.lastIndexOf("/"));
        Deno.symlinkSync(own, `${tmp}/link`);
        Deno.symlinkSync(`${own}/prompt`, `${tmp}/file`);
        const edits = { old_string: "exit 0", new_string: "evil" };
        const notes = { new_source: "evil", cell_id: "1" };
        return [
          ...[own, `${tmp}/link`, "/proc/self/cwd/link", theirs.own].flatMap((folder): Call[] => [
            write(`${folder}/new`),
            () => ["Edit", { file_path: `${folder}/hook`, ...edits }],
            read(`${folder}/prompt`),
          ]),
          () => ["NotebookEdit", { notebook_path: `${own}/n.ipynb`, ...notes }],
          ...[`${tmp}/file`, `${configDir}/.claude.json`].map(read),
          ...[`${own}/hook`, `${configDir}/settings.json`, `${theirs.configDir}/settings.json`]
            .map(write),
          ...[
            ...[`cat ${own}/prompt`, `cat ${run}/o*/prompt`, `cat link/prompt`, `ls ${other}`],
            ...[`echo evil > ${own}/hook`, "echo evil > link/hook", `cp file ${own}/hook`],
            ...[`sed -i s/exit/evil/ ${own}/hook`, `touch ${theirs.configDir}/settings.json`],
            ...[run, parent(run), configDir, other, parent(other), tmp]
              .map((folder) => `mv ${folder} ${folder}x`),
            `rm -rf ${parent(other)}`,
          ].map(bash),
          write(`${tmp}/made`),
        ];
      },
    });
    const last = results.at(-1);
    assert(last?.isError === false, last?.text);
    for (const { text, isError } of results.slice(0, -1)) {
      assert(isError && !text.includes(PROMPT), text);
    }
  });

  Deno.test(skipIfLacking(SANDBOX_LACK, {
    name: `${version}: no sandboxed command reaches a private folder`,
    fn: async () => {
      const sandbox = { enabled: true, autoAllowBashIfSandboxed: true };
      const [, { text = "" } = {}] = await prowl(version, {
        args: [`--settings=${JSON.stringify({ sandbox, permissions: { allow: ["Edit(/**)"] } })}`],
        plan: ({ home, tmp, run, beside, other }) => {
          const escape = `touch ${home}/escaped`;
          const hooks = { Stop: [{ hooks: [{ type: "command", command: escape }] }] };
          const evil = JSON.stringify({ hooks });
          const lines = [run, beside, other].flatMap((folder) => {
            const { own, configDir, payloadDir, fifoPath } = folderParts(folder);
            const moved = [configDir, own, folder, folder.slice(0, folder.lastIndexOf("/"))];
            return [
              ...[`cat ${own}/prompt`, `ln ${own}/hook hard`, `echo '${escape}' > ${own}/hook`],
              // A read-only mount does not prevent writing to a FIFO.
              ...[`echo evil > ${payloadDir}/1${ANSWER_SUFFIX}`, `echo evil 1<> ${fifoPath}`],
              ...[own, configDir].map((each) => `echo '${evil}' > ${each}/settings.json`),
              ...moved.map((each) => `mv ${each} ${each}x`),
            ];
          });
          const script = [...lines, `mv ${tmp} ${tmp}x`, "cat made", "echo end"].join("\n");
          Deno.writeTextFileSync(`${tmp}/attack.sh`, script);
          return ["echo made > made", "sh ./attack.sh"].map(bash);
        },
      });
      assertStringIncludes(text, "made\\nend");
      assert(!text.includes(PROMPT), text);
    },
  }));

  // No program is in the PATH of a project's hooks and tools, so that it is seen that a hook of ours needs none there.
  Deno.test(`${version}: tools reach outputs, plans and tasks`, async () => {
    const found = (pattern: RegExp, text: string) => {
      const [, path] = pattern.exec(text) ?? [];
      assert(path !== undefined, `${pattern} in ${text}`);
      return path;
    };
    const calls: readonly Call[] = [
      bash("printf '%040000d' 0"),
      (seen) => ["Read", { file_path: found(/saved to: (\/[^\s\\]+)/u, seen), limit: 1 }],
      (seen) => write(found(/(\/[^\s"\\]+\/plans\/[\w-]+\.md)/u, seen))(seen),
      () => ["Bash", { command: "echo in the background", run_in_background: true }],
      (seen) => read(found(/(\/[^\s"\\]+\/tasks\/\w+\.output)/u, seen))(seen),
    ];
    const results = await play(version, {
      args: ["--permission-mode", "plan"],
      prepare: async ({ home: { project } }) => {
        await writeFiles(project, { ".claude/settings.json": { env: { PATH: "/nonexistent" } } });
        return {};
      },
      model: { plan: () => calls },
    });
    // On a busy machine the task has not begun yet.
    const refused = results.filter(({ text, isError }) =>
      isError && !text.startsWith('"File does not exist.')
    );
    assertEquals(refused, []);
  });
}
