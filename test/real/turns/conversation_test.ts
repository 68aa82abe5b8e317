import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { processesBelow } from "../../processes_below.ts";
import { asRecorded, type RecordedName } from "../as_recorded.ts";
import { differences } from "../../parity/differences.ts";
import { maskedOutput } from "../../parity/mask.ts";
import { forEachVersion, forNewestVersion } from "../for_each_version.ts";
import { type Caller, hold, holdWithClaude, holdWithProgram } from "../hold_conversation.ts";
import { factsOfResult, type JsonObject, parseFrames } from "../print_mode_facts.ts";
import { RealClaude } from "../real_claude.ts";
import type { ProgramOutput } from "../../start_program.ts";

const RESULT = '"type":"result"';
const INIT = '"subtype":"init"';
const INTERRUPT = {
  type: "control_request",
  request_id: "r",
  request: { subtype: "interrupt" },
};

/** Fields of a result that do not depend on the length of the context. */
const COMPARED = [
  ...["subtype", "is_error", "result", "num_turns", "stop_reason", "terminal_reason"],
  ...["result_index", "queued_turn_count", "errors", "user_message_uuid", "user_message_uuids"],
  "origin",
];

/** The output of a conversation and its requests. */
interface Held {
  readonly code: number;
  readonly stderr: string;
  readonly results: readonly JsonObject[];
  /** Lifecycle frames by the first digit of the message's id, and results. */
  readonly lives: readonly string[];
  readonly asked: readonly unknown[];
  /** All frames, masked, each once, and their order. */
  readonly printed: { readonly frames: readonly unknown[]; readonly order: readonly number[] };
}

/** The same conversation, held by both. */
interface Both {
  readonly ours: Held;
  readonly theirs: Held;
}

/** Holds the same conversation with `claude-print` and `claude -p`, each with its own home and API. */
async function both(
  real: RealClaude,
  { recorded, script, args = [] }: {
    readonly recorded: RecordedName;
    readonly script: (caller: Caller) => Promise<void>;
    readonly args?: readonly string[];
  },
): Promise<Both> {
  const held = async (holding: typeof hold, real: RealClaude): Promise<Held> => {
    const { code, stdout, stderr } = await holding(real, script, args);
    const frames = stdout === "" ? [] : parseFrames(stdout);
    return {
      code,
      stderr,
      results: frames.filter(({ type }) => type === "result").map(factsOfResult),
      lives: frames.flatMap(({ type, command_uuid: id, state }) =>
        type === "command_lifecycle" ? `${`${id}`[0]} ${state}` : type === "result" ? type : []
      ),
      asked: real.api.turns.map(({ body }) => wordsOf(body)),
      printed: printedBy(real, { code, stdout, stderr }),
    };
  };
  const ours = await held(hold, real);
  const theirs = await asRecorded(real, recorded, async () => {
    await using other = await RealClaude.set(real.version);
    return await held(holdWithClaude, other);
  });
  return { ours, theirs };
}

/** Counts of tokens and costs, which depend on the length of the home's path. */
const OF_REQUESTS = /tokens$|cost_?usd$/iu;

/** The masked frames, without answers to the caller, which come at any time. */
function printedBy(real: RealClaude, output: ProgramOutput): Held["printed"] {
  const { stdout } = maskedOutput({ ...output, home: real.home.path }, { row: "" });
  const texts = (Array.isArray(stdout) ? stdout : [])
    .filter(({ type }) => type !== "control_response")
    .map((frame) =>
      JSON.stringify(frame, (name, value) => {
        if (name.startsWith("first_request_")) return typeof value;
        return OF_REQUESTS.test(name) ? undefined : value;
      })
    );
  const frames = [...new Set(texts)];
  return {
    frames: frames.map((text) => JSON.parse(text)),
    order: texts.map((text) => frames.indexOf(text)),
  };
}

/** The frames in the order in which they were printed. */
function inOrder({ frames, order }: Held["printed"]): readonly unknown[] {
  return order.map((at) => frames[at]);
}

/** The messages of a request, without the additions of Claude Code. */
function wordsOf(body: unknown): readonly string[] {
  const { messages } = body as {
    readonly messages: readonly {
      readonly role: string;
      readonly content: string | readonly { readonly text?: string }[];
    }[];
  };
  return messages.filter(({ role }) => role !== "system").flatMap(({ role, content }) => {
    const texts = typeof content === "string" ? [content] : content.map(({ text = "" }) => text);
    const own = texts.filter((text) => !text.startsWith("<system-reminder>"));
    return `${role}: ${own.join("").replaceAll("\n", "")}`;
  });
}

const compared = (results: readonly JsonObject[]) =>
  results.map((result) => {
    // Claude Code names the run in which a task has ended.
    const { runId: _, ...origin } = (result["origin"] ?? {}) as JsonObject;
    const told: JsonObject = {
      ...result,
      ...(result["origin"] === undefined ? {} : { origin }),
    };
    return Object.fromEntries(COMPARED.map((field) => [field, told[field]] as const));
  });

/** Fails unless both said and asked the same. */
function assertSame({ ours, theirs }: Both): void {
  assertEquals(differences("printed", [inOrder(ours.printed), inOrder(theirs.printed)]), []);
  assertEquals(ours.asked, theirs.asked);
  assertEquals(ours.code, theirs.code);
}

/** The transcript of the session in the user's config dir. */
async function sessionAtHome({ folder, frames }: Caller): Promise<string> {
  const slug = folder.replaceAll(/[^a-z\d]/giu, "-");
  const name = `${frames().at(-1)?.["session_id"]}.jsonl`;
  return await Deno.readTextFile(`${dirname(folder)}/.claude/projects/${slug}/${name}`);
}

const uuid = (digit: number) => ({ uuid: `${digit}`.repeat(8) + "-1111-4111-8111-111111111111" });

forEachVersion(
  "twenty turns are those of claude -p",
  async (real) => {
    const kept: string[] = [];
    const { ours, theirs } = await both(real, {
      recorded: "conversation/turns",
      args: ["--allowedTools", "Bash"],
      script: async (caller) => {
        const { say, send, heard, asked, folder } = caller;
        /** Lets a turn end that waits for it, once all has been read that was said so far: lines are read in order. */
        const letGo = async (turn: string) => {
          const unknown = { subtype: "nonesuch" };
          await send({ type: "control_request", request_id: turn, request: unknown });
          await heard(`"request_id":"${turn}"`);
          await Deno.writeTextFile(`${folder}/${turn}`, "");
        };
        // One after the other.
        for (let turn = 1; turn <= 3; turn++) {
          await say(`Turn ${turn}. [[say answer ${turn}]]`, uuid(turn));
          await heard(RESULT, turn);
          kept.push(await sessionAtHome(caller));
        }
        // During a turn, and one that has been said before.
        await say(`Four. [[until ${folder}/four]] [[say fourth]]`, uuid(4));
        await asked("Four.");
        await heard(INIT, 4);
        await say("Five. [[say fifth]]", uuid(5));
        await letGo("four");
        await heard(RESULT, 5);
        await say("Six. [[say sixth]]");
        await say("Six. [[say sixth]]", uuid(5));
        await heard(RESULT, 6);
        // Messages that wait at the end of a turn are one turn together.
        await say(`Seven. [[until ${folder}/seven]] [[say seventh]]`);
        await asked("Seven.");
        await say("Eight. [[say eighth]]");
        await say("Nine. [[say ninth]]");
        await say("Ten. [[say tenth]]", { priority: "later" });
        await say("Last. [[say last]]", { priority: "later" });
        await letGo("seven");
        await heard(RESULT, 9);
        // And so on, with what is thought and called: twenty turns in all.
        for (let turn = 10; turn <= 20; turn++) {
          await say(`Turn ${turn}. [[think so]] [[bash echo ${turn}]] [[say answer ${turn}]]`);
          await heard(RESULT, turn);
        }
      },
    });
    assertSame({ ours, theirs });
    assertEquals(
      ours.results.map(({ result }) => result),
      [1, 2, 3].map((turn) => `answer ${turn}`)
        .concat("fourth", "fifth", "sixth", "seventh", "ninth", "last")
        .concat(Array.from({ length: 11 }, (_, at) => `answer ${10 + at}`)),
    );
    assertEquals([ours.code, ours.stderr], [0, ""]);
    // The transcript has the turn when its result is printed.
    for (const turn of [1, 2, 3]) {
      const session = kept[turn - 1] ?? "";
      assertStringIncludes(session, `"uuid":"${uuid(turn).uuid}"`);
      assertStringIncludes(session, `"text":"answer ${turn}"`);
    }
    const costs = ({ results }: Held) => results.map(({ total_cost_usd: cost }) => Number(cost));
    for (const [at, cost] of costs(ours).entries()) {
      assert(Math.abs(cost - (costs(theirs)[at] ?? 0)) < 0.001, `${costs(ours)} ${costs(theirs)}`);
    }
  },
  // Only the interactive Claude Code asks the model for suggestions of prompts.
  { home: { env: { CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "true" } } },
);

forNewestVersion(
  "messages during a tool, interrupts, and a bad line",
  async (real) => {
    const { ours, theirs } = await both(real, {
      recorded: "conversation/during-a-tool",
      args: ["--allowedTools", "Bash"],
      script: async ({ say, send, asked, heard, folder }) => {
        await Deno.writeTextFile(`${folder}/wait.sh`, "until [ -e go ]; do sleep 0.05; done");
        await say("Work. [[bash sh wait.sh]] [[say done]]", uuid(1));
        await heard("tool_use");
        await say("Besides, hello.", uuid(2));
        // Lines are read in order: once this one is answered, the message before it has been read.
        await send({ type: "control_request", request_id: "x", request: { subtype: "nonesuch" } });
        await heard('"request_id":"x"');
        await Deno.writeTextFile(`${folder}/go`, "");
        await heard(RESULT, 1);
        await say("Two. [[hang]]", uuid(3));
        await asked("Two.");
        await heard(INIT, 2);
        await say("Three. [[say third]]");
        await send(INTERRUPT);
        await heard(RESULT, 3);
        await say("Four. [[say fourth]]");
        await heard(RESULT, 4);
        await say("Five. [[hang]]");
        await asked("Five.");
        await heard(INIT, 5);
        await send(INTERRUPT);
        await heard(RESULT, 5);
        await say("Six. [[say sixth]]");
        await heard(RESULT, 6);
        await send("this is no JSON\n");
      },
    });
    const [[worked, ...ourRest], [theirWorked, ...theirRest]] = [ours.results, theirs.results];
    for (const field of ["num_turns", "user_message_uuid", "user_message_uuids"]) {
      assertEquals(worked?.[field], theirWorked?.[field], field);
    }
    assert(real.api.turns.slice(0, 2).some(({ text }) => text.includes("Besides, hello.")));
    // claude -p reports a bad line on stderr only.
    assertEquals(compared(ourRest.slice(0, -1)), compared(theirRest));
    assertEquals(ourRest.map(({ subtype, result }) => result ?? subtype), [
      "error_during_execution",
      "third",
      "fourth",
      "error_during_execution",
      "sixth",
      "bad_input",
    ]);
    assertEquals(ours.lives.slice(0, -1), theirs.lives);
    const last = real.api.turns.at(-1)?.text ?? "";
    assertStringIncludes(last, "Five. [[hang]]", "the model knows what it was stopped at");
    assertStringIncludes(last, "[Request interrupted by user]");
    assertEquals([ours.code, theirs.code], [1, 1]);
    assertMatch(ours.stderr, /^claude-print: Cannot read a line of stdin: /u);
  },
);

/** Texts that other ways into Claude Code change or carry out. */
const AWKWARD = [
  "tab\tand trailing blanks  \t ",
  "ends with a backslash\\",
  "# heading\n\n\n\n/etc/hosts\n@README.md\nexit",
  "\u200bhidden\u2060 e\u0301 👩‍👩‍👧‍👦",
  '<pasted_content id="abcd">\nx',
  "exit",
];

/** A picture of one red pixel, as PNG in base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const imageOf = (data: string) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

/** Messages with images, and the text that the model gets for each image. */
const WITH_IMAGES = [
  {
    content: [
      { type: "text", text: "Compare é" },
      imageOf(PIXEL),
      { type: "text", text: "with `this`: [[say No picture]]\n" },
    ],
    told: "Compare é\\n[Image #1]\\nwith `this`: [[say No picture]]",
  },
  { content: [imageOf(PIXEL)], told: "[Image #2]" },
];

forEachVersion(
  "images and awkward messages reach the API byte for byte",
  async (real) => {
    const words = ["!ls", "/unknown command", "/ hi", " /help"];
    const texts = [...AWKWARD, `long ${"x".repeat(1_048_480)} end`, ...words];
    // The first image is pasted once the warning of that has gone.
    const settings = { hooks: { NoSuchEvent: [] } };
    await Deno.mkdir(`${real.home.project}/.claude`);
    await Deno.writeTextFile(
      `${real.home.project}/.claude/settings.json`,
      JSON.stringify(settings),
    );
    const { code, stdout, stderr } = await hold(real, async ({ say, send, heard }) => {
      const contents = [...WITH_IMAGES.map(({ content }) => content), [imageOf("")], []];
      for (const [at, content] of contents.entries()) {
        await send({ type: "user", message: { role: "user", content } });
        await heard(RESULT, at + 1);
      }
      await say("/logout");
      await heard(RESULT, contents.length + 1);
      // The interrupt comes before the turn begins.
      await say("Stopped at once. [[hang]]");
      await send(INTERRUPT);
      await heard(RESULT, contents.length + 2);
      for (const [at, text] of texts.entries()) {
        await say(text);
        await heard(RESULT, at + 3 + contents.length);
      }
    });
    assertEquals(code, 0);
    const frames = parseFrames(stdout);
    const results = frames.filter(({ type }) => type === "result");
    assertEquals(results.map(({ subtype }) => subtype), [
      ...WITH_IMAGES.map(() => "success"),
      "bad_input",
      "internal_error",
      "success",
      "error_during_execution",
      ...texts.map(() => "success"),
    ]);
    const [first, second] = results;
    assertEquals([first?.num_turns, second?.num_turns, first?.result], [1, 1, "No picture"]);
    const untilThen = frames.slice(0, frames.findIndex((each) => each === second) + 1);
    assertEquals(
      untilThen.map(({ type, subtype }) => subtype ?? type).filter((kind) =>
        kind !== "rate_limit_event"
      ),
      ["init", "assistant", "success", "init", "assistant", "success"],
    );
    for (const [at, { told }] of WITH_IMAGES.entries()) {
      const asked = JSON.stringify(
        (real.api.turns[at]?.body as { readonly messages: unknown }).messages,
      );
      assertEquals(asked.split(`"data":"${PIXEL}"`).length - 1, at + 1);
      assertStringIncludes(asked, told);
    }
    assertStringIncludes(stderr, "an image in it is no base64 data");
    assertStringIncludes(stderr, "it has no content blocks");
    const last = (real.api.turns.at(-1)?.body as { messages: readonly { content: unknown }[] })
      .messages.map(({ content }) => JSON.stringify(content));
    for (const text of texts) {
      assert(last.some((content) => content.includes(JSON.stringify(text).slice(1, -1))), text);
    }
  },
);

forNewestVersion(
  "/clear begins another session",
  async (real) => {
    const { ours, theirs } = await both(real, {
      recorded: "conversation/clear",
      args: ["--replay-user-messages"],
      script: async ({ say, send, heard, frames, folder }) => {
        await say("/new");
        await heard(RESULT, 1);
        await say("One. [[say first]]");
        await heard(RESULT, 2);
        await send({
          type: "user",
          ...uuid(1),
          message: { role: "user", content: "/clear  all " },
        });
        await heard(RESULT, 3);
        await say("Two. [[say second]]");
        await heard(RESULT, 4);
        await Deno.writeTextFile(`${folder}/a.txt`, "not to be read\n");
        await say("Three, see @a.txt. [[say third]]", { isSynthetic: true });
        await heard(RESULT, 5);
        await say("/logout");
        await heard(RESULT, 6);
        const [first, second, after, ...later] = sessionsOf(frames());
        assertEquals([first === second, second === after], [true, false]);
        assertEquals(later, [after, after, after]);
      },
    });
    assertSame({ ours, theirs });
    assertEquals(ours.stderr, "");
    const [, first, cleared, second] = ours.results.map(({ total_cost_usd: cost }) => Number(cost));
    assertEquals([cleared === first, cleared === 0], [false, true]);
    assert(Number(second) > Number(cleared));
  },
);

/** The sessions that results belong to, in their order. */
function sessionsOf(frames: readonly JsonObject[]): readonly unknown[] {
  return frames.filter(({ type }) => type === "result").map(({ session_id: id }) => id);
}

forNewestVersion(
  "messages are answered during background tasks",
  async (real) => {
    const shell = JSON.stringify({
      command: "until [ -e go ]; do sleep 0.05; done",
      run_in_background: true,
    });
    const { ours, theirs } = await both(real, {
      recorded: "conversation/background",
      args: ["--allowedTools", "Bash"],
      script: async ({ say, heard, folder }) => {
        await say(`Wait. [[tool Bash ${shell}]] [[say started]]`);
        await heard(RESULT, 1);
        await say("Meanwhile. [[say meanwhile]]");
        await heard(RESULT, 2);
        await Deno.writeTextFile(`${folder}/go`, "");
        await heard(RESULT, 3);
        // A refused prompt would be sent again before the next prompt.
        await say("Bad. [[error 400 no]]");
      },
    });
    assertEquals(compared(ours.results), compared(theirs.results));
    assertEquals([ours.results.length, ours.code, theirs.code], [4, 1, 1]);
  },
);

/** Kills the child of a program. */
function killClaude(real: RealClaude, pid: number): void {
  const child = processesBelow(pid).find(({ command }) => command[0] === real.binary);
  if (child === undefined) throw new Error("There is no Claude Code to kill");
  Deno.kill(child.pid, "SIGKILL");
}

/** Prompts during which the child is killed; none for a kill between turns. */
const DEATHS = ["", "[[hang x1]] [[say never]]", "[[bash sh wait.sh]] [[say never]]"];

forNewestVersion("a killed child costs only the turn it dies in", async (real) => {
  const { code, stdout, stderr } = await holdWithProgram(
    real,
    async ({ say, heard, asked, pid, folder }) => {
      await Deno.writeTextFile(`${folder}/wait.sh`, "until [ -e go ]; do sleep 0.05; done");
      await say("Begin. [[say begun]]");
      await heard(RESULT, 1);
      let results = 1;
      for (const [at, text] of DEATHS.entries()) {
        if (text !== "") {
          await say(`Death ${at}. ${text}`);
          await asked(`Death ${at}.`);
          if (text.includes("[[bash")) await heard('"type":"tool_use"');
          results++;
        }
        const after = () => say(`After ${at}. [[say after ${at}]]`);
        // A message that waits goes to the next child.
        if (text !== "") await after();
        killClaude(real, pid);
        if (text === "") await after();
        await heard(RESULT, ++results);
      }
      await say("End. [[say the end]]");
    },
    ["--allowedTools", "Bash"],
  );
  const results = parseFrames(stdout).filter(({ type }) => type === "result");
  assertEquals(
    results.map(({ subtype, result }) => subtype === "success" ? result : subtype),
    [
      "begun",
      ...DEATHS.flatMap((text, at) => [
        ...(text === "" ? [] : ["internal_error"]),
        `after ${at}`,
      ]),
      "the end",
    ],
    stderr,
  );
  assertEquals(results.map(({ result_index: at }) => at), results.map((_, at) => at));
  assertEquals(new Set(results.map(({ session_id: id }) => id)).size, 1);
  const costs = results.map(({ total_cost_usd: cost }) => Number(cost));
  assertEquals(costs, costs.toSorted((one, other) => one - other));
  assertEquals([code, stderr.split("Claude Code is gone").length], [0, DEATHS.length + 1]);
  // The last child knows what was said before.
  assertStringIncludes(real.api.turns.at(-1)?.text ?? "", "begun");
});
