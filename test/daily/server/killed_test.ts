import { assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { poolCounts } from "../../program/server/delegation/pool_counts.ts";
import { runSocket } from "../../program/server/delegation/run_socket.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { connectUnix } from "../../../ffi/descriptors/unix_socket.ts";
import { LineChannel } from "../../../src/server/delegation/delegation_channel.ts";
import { isJsonObject } from "../../../src/json_object.ts";
import type { Moment, Scenario } from "../../../fixtures/mock/scenario.ts";
import { callerLines, CONVERSATION, userMessage } from "../../caller_lines.ts";

/** Moments of a conversation on stdin at which whoever holds it is killed, and how many messages it has said by then. */
const MOMENTS = [
  { moment: "before a word", said: 0 },
  { moment: "while its child starts", said: 1 },
  { moment: "in a turn", said: 1 },
  { moment: "in a tool", said: 1 },
  { moment: "between two turns", said: 1 },
  { moment: "in the next turn", said: 2 },
  { moment: "when it has said all", said: 1 },
] as const;

type ClientMoment = typeof MOMENTS[number]["moment"];

/** Resolves when a conversation has come to a moment. */
async function comesTo(moment: ClientMoment, { claude, read, say, close }: {
  readonly claude: StandIn;
  /** Reads what is printed until something is in it. */
  readonly read: (text: string) => Promise<void>;
  readonly say: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}): Promise<void> {
  if (moment === "before a word") return;
  await say("one");
  switch (moment) {
    case "while its child starts":
      return await claude.untilNoted("start");
    case "in a turn":
      return await claude.untilNoted("prompt");
    case "in a tool":
      return await claude.untilNoted("tool");
  }
  await read('"type":"result"');
  switch (moment) {
    case "between two turns":
      return;
    case "in the next turn":
      await say("two");
      return await claude.untilNoted("prompt", 2);
    case "when it has said all":
      return await close();
    default:
      moment satisfies never;
  }
}

Deno.test("a client killed at any moment ends its child", async () => {
  await using server = await serve();
  for (const { moment, said } of MOMENTS) {
    await using claude = await StandIn.set({
      turns: [[{ text: "Well.", tools: [{ name: "Bash", input: { command: "sleep 0.2" } }] }, {
        text: "You said {prompt}",
      }]],
      exitMs: 100,
    });
    const [program = "", ...args] = CLAUDE_PRINT;
    const client = new Deno.Command(program, {
      args: [...args, "--claude-binary", claude.binary, ...CONVERSATION],
      clearEnv: true,
      env: { ...claude.home.env, ...server.env },
      cwd: claude.home.project,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const writer = client.stdin.getWriter();
    const reader = client.stdout.pipeThrough(new TextDecoderStream()).getReader();
    await until(async () => (await poolCounts(server.env)).underWay === 1, "the server has it");
    await comesTo(moment, {
      claude,
      read: async (text) => {
        for (let all = ""; !all.includes(text);) all += (await reader.read()).value ?? "";
      },
      say: (text) => writer.write(new TextEncoder().encode(callerLines([userMessage(text)]))),
      close: () => writer.close(),
    });
    client.kill("SIGKILL");
    await client.status;
    await reader.cancel();
    await writer.abort().catch(() => {});
    await until(async () => (await poolCounts(server.env)).underWay === 0, `${moment}: it is over`);
    await until(async () => (await leftovers(claude.home)).length === 0, `${moment}: all is gone`);
    const prompts = (await claude.journal("prompt")).length;
    assertEquals(prompts <= said, true, moment);
    assertEquals(claude.transcripts().size >= Math.min(prompts, 1), true, moment);
  }
  server.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assertEquals([code, stderr], [0, ""]);
});

/** A moment of a hand-over: just before the server or its client gets a message, at its beginning, and at its end. */
type Step = "connect" | "taken" | "streams" | "ready" | "go" | "exit" | "end";

/**
 * A server that is killed at a moment of a hand-over: somebody stands between it and its client, and passes on what both
 * say until then.
 *
 * @param options.step absent for one that nobody kills here
 * @param options.env its environment, but for where it is to be found
 * @param options.waits the profile of a Claude Code that waits in it before anybody comes, if one does
 */
async function dyingServer(
  { step, env, waits }: {
    readonly step?: Step | undefined;
    readonly env: Readonly<Record<string, string>>;
    readonly waits?: {
      readonly args: readonly string[];
      readonly cwd: string;
      readonly env: Readonly<Record<string, string>>;
    } | undefined;
  },
) {
  const socket = await runSocket(async (client, { poller, isOver }) => {
    if (step === "connect") return server.kill("SIGKILL");
    using behind = new LineChannel(
      connectUnix(`${server.env.XDG_RUNTIME_DIR}/claude-print/run.sock`),
    );
    while (!isOver() && !client.isClosed && !behind.isClosed) {
      const ready = await poller.wait([...client.interests, ...behind.interests], -1);
      for (const [from, to] of [[client, behind], [behind, client]] as const) {
        for (const message of from.receive(ready)) {
          const type = isJsonObject(message) ? `${message["type"]}` : "";
          if (type === step) return server.kill("SIGKILL");
          const fds = from.takeFds();
          to.send(message, { fds });
          for (const each of fds) closeFd(each);
          if (type === "exit" && step === "end") return server.kill("SIGKILL");
        }
      }
    }
  });
  const profiles = `${socket.env.XDG_RUNTIME_DIR}/profiles`;
  const profile = { ...waits, env: { ...waits?.env, ...socket.env }, text: true };
  await Deno.writeTextFile(profiles, `${JSON.stringify(profile)}\n`);
  const args = waits === undefined ? ["--warm", "0"] : ["--profiles", profiles];
  const server = await serve({ env, args });
  if (waits !== undefined) {
    await until(async () => (await poolCounts(server.env)).ready === 1, "one waits");
  }
  return {
    /** What a program's environment has so that it finds the server, through whoever stands between. */
    env: socket.env,
    pid: server.pid,
    ended: server.ended,
    [Symbol.asyncDispose]: async () => {
      await socket[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const TURNS = [[{ text: "You said {prompt}, {turn}" }]];
const ANSWER = "You said hello, 1\n";

/** A Claude Code's way to kill whoever has started it. */
const KILLS = "read -r _ _ _ parent _ < /proc/$CLAUDE/stat; kill -KILL $parent";

/** What is not to be told before the server is dead waits for so long. */
const NEVER_MS = 600_000;

/** When a server is killed: at a step of the hand-over, or by its Claude Code at a moment of the turn. */
type Death = ({ readonly step: Step } | { readonly at: Moment }) & {
  /** Whether a Claude Code waits that the run can have. */
  readonly waits?: true;
};

/** What the caller has of it: exit code, stdout, and a part of what it is told. */
type Fate = readonly [code: 0 | 2, stdout: string, told: string];

const COLD: Fate = [0, ANSWER, "without a server: the server is gone\n"];
const LOST = "claude-print: Cannot tell how the run ended: the server is gone\n";

/** Each with how many Claude Codes there are for it in all. */
const DEATHS: readonly (readonly [death: Death, fate: Fate, starts: number])[] = [
  [{ step: "connect" }, COLD, 1],
  [{ step: "taken" }, COLD, 1],
  [{ step: "streams" }, COLD, 1],
  [{ step: "ready" }, COLD, 1],
  [{ step: "go" }, [2, "", LOST], 0],
  [{ at: "start" }, [2, "", LOST], 1],
  [{ at: "prompt" }, [2, "", LOST], 1],
  [{ at: "stop" }, [2, "", LOST], 1],
  // The answer is there, and whether all of the run is nobody knows.
  [{ step: "exit" }, [2, ANSWER, LOST], 1],
  [{ step: "end" }, [0, ANSWER, ""], 1],
  // One that has waited goes with its server, like any other one.
  [{ step: "ready", waits: true }, COLD, 2],
  [{ step: "go", waits: true }, [2, "", LOST], 1],
  [{ at: "prompt", waits: true }, [2, "", LOST], 1],
  [{ step: "exit", waits: true }, [2, ANSWER, LOST], 1],
];

Deno.test("a server killed at any step loses nothing", async () => {
  await using claude = await StandIn.set();
  const { env } = claude.home;
  let starts = 0;
  for (const [death, [code, stdout, told], started] of DEATHS) {
    const what = JSON.stringify(death);
    const step = "step" in death ? death.step : undefined;
    const scenario: Partial<Scenario> = "at" in death
      ? { turns: TURNS, sabotage: [{ at: death.at, run: KILLS }], transcriptDelayMs: NEVER_MS }
      : { turns: TURNS };
    const own = { MOCK_CLAUDE_SCENARIO: JSON.stringify(scenario) };
    const waits = death.waits === undefined
      ? undefined
      : { args: ["--claude-binary", claude.binary], cwd: claude.home.project, env: own };
    await using server = await dyingServer({ step, env, waits });
    // The one before it has been killed.
    if (waits === undefined) {
      assertEquals(await leftovers(claude.home, { but: ownedBy(server.pid) }), [], what);
    }
    const keptBefore = kept(claude);
    const run = await claude.print(["hello", "--trace"], {
      env: { ...server.env, ...own },
      killed: true,
    });
    assertEquals([run.code, run.stdout], [code, stdout], what);
    assertStringIncludes(run.stderr, told, what);
    // An answer that was told is in a transcript that is at home.
    if (stdout === ANSWER) assertEquals(kept(claude), keptBefore + 1, what);
    await server.ended;
    starts += started;
    assertEquals((await claude.journal("start")).length, starts, what);
  }
  await using last = await serve({ env });
  assertEquals(await leftovers(claude.home, { but: ownedBy(last.pid) }), []);
});

/** What belongs to a server that is alive, and the folder of all. */
function ownedBy(pid: number): RegExp {
  return new RegExp(`/claude-print-\\d+(?:/${pid}-.*)?$|^process ${pid}:`, "u");
}

/** How many transcripts with an answer are at home. */
function kept(claude: StandIn): number {
  return [...claude.transcripts().values()].filter((text) => text.includes(ANSWER.trim())).length;
}
