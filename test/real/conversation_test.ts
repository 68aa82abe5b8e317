import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "./hold_conversation.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const RESULT = '"type":"result"';
const INIT = '"subtype":"init"';
const INTERRUPT = {
  type: "control_request",
  request_id: "r",
  request: { subtype: "interrupt" },
};

/** Fields of a result that say the same of the same conversation; counts of tokens hang on the context's length. */
const COMPARED = [
  "subtype",
  "is_error",
  "result",
  "num_turns",
  "stop_reason",
  "terminal_reason",
  "result_index",
  "queued_turn_count",
  "errors",
  "user_message_uuid",
  "user_message_uuids",
];

/** What a conversation printed, and what the model was asked. */
interface Held {
  readonly code: number;
  readonly stderr: string;
  readonly outline: readonly string[];
  readonly results: readonly JsonObject[];
  readonly asked: readonly unknown[];
}

/** Holds the same conversation with `claude-print` and with `claude -p`. */
async function both(
  real: RealClaude,
  script: (caller: Caller) => Promise<void>,
  args: readonly string[] = [],
): Promise<{ readonly ours: Held; readonly theirs: Held }> {
  const held = async (holding: typeof hold): Promise<Held> => {
    const before = real.api.turns.length;
    const { code, stdout, stderr } = await holding(real, script, args);
    const frames = stdout === "" ? [] : parseFrames(stdout);
    return {
      code,
      stderr,
      outline: outlineOfFrames(frames),
      results: frames.filter(({ type }) => type === "result").map(factsOfResult),
      asked: real.api.turns.slice(before).map(({ body }) => wordsOf(body)),
    };
  };
  return { ours: await held(hold), theirs: await held(holdWithClaude) };
}

/** What a request asks, without what Claude Code adds of its own. */
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
  results.map((result) =>
    Object.fromEntries(COMPARED.map((field) => [field, result[field]] as const))
  );

/** Fails unless both said and asked the same. */
function assertSame({ ours, theirs }: { readonly ours: Held; readonly theirs: Held }): void {
  assertEquals(ours.outline, theirs.outline);
  assertEquals(compared(ours.results), compared(theirs.results));
  assertEquals(ours.asked, theirs.asked);
  assertEquals(ours.code, theirs.code);
}

forEachVersion("turns one after the other are those of claude -p, costs included", async (real) => {
  const { ours, theirs } = await both(real, async ({ say, heard }) => {
    for (let turn = 1; turn <= 5; turn++) {
      await say(`Turn ${turn}. [[say answer ${turn}]]`);
      await heard(RESULT, turn);
    }
  });
  assertSame({ ours, theirs });
  assertEquals([ours.results.length, ours.code, ours.stderr], [5, 0, ""]);
  const costs = ({ results }: Held) => results.map(({ total_cost_usd: cost }) => Number(cost));
  for (const [at, cost] of costs(ours).entries()) {
    assert(Math.abs(cost - (costs(theirs)[at] ?? 0)) < 0.001, `${costs(ours)} ${costs(theirs)}`);
  }
});

forEachVersion(
  "messages sent before, during and after a turn are answered as there",
  async (real) => {
    assertSame(
      await both(real, async ({ say, heard, asked }) => {
        const uuid = (digit: number) => ({
          uuid: `${digit}`.repeat(8) + "-1111-4111-8111-111111111111",
        });
        await say("One. [[wait 700]] [[say first]]", uuid(1));
        await asked("One.");
        await heard(INIT);
        await say("Two. [[say second]]", uuid(2));
        await heard(RESULT, 2);
        await say("Three. [[say third]]");
        await say("Three. [[say third]]", uuid(2));
        await heard(RESULT, 3);
      }),
    );
  },
);

forEachVersion("what waits when a turn ends is the next one, all together", async (real) => {
  const { ours, theirs } = await both(real, async ({ say, asked }) => {
    await say("One. [[wait 700]] [[say first]]");
    await asked("One.");
    await say("Two. [[say second]]");
    await say("Three. [[say third]]");
    await say("Last. [[say last]]", { priority: "later" });
  });
  assertSame({ ours, theirs });
  assertEquals(ours.results.map(({ result }) => result), ["first", "third", "last"]);
});

forEachVersion("a message during a tool becomes a part of the turn", async (real) => {
  await Deno.writeTextFile(`${real.home.project}/wait.sh`, "until [ -e go ]; do sleep 0.05; done");
  const script = async ({ say, heard }: Caller) => {
    await Deno.remove(`${real.home.project}/go`).catch(() => {});
    await say("Work. [[bash sh wait.sh]] [[say done]]");
    await heard("tool_use");
    await say("Besides, hello.");
    // Half a second is far more than either needs to hear it.
    await new Promise((over) => setTimeout(over, 500));
    await Deno.writeTextFile(`${real.home.project}/go`, "");
    await heard(RESULT);
  };
  const { ours, theirs } = await both(real, script, ["--allowedTools", "Bash"]);
  assertEquals([ours.results.length, theirs.results.length], [1, 1]);
  assertEquals(ours.results[0]?.["num_turns"], theirs.results[0]?.["num_turns"]);
  assert(real.api.turns.some(({ text }) => text.includes("Besides, hello.")));
});

forEachVersion("a turn is stopped alone, and the conversation goes on", async (real) => {
  const { ours, theirs } = await both(real, async ({ say, send, asked, heard }) => {
    await say("One. [[hang]]");
    await asked("One.");
    await heard(INIT);
    await say("Two. [[say second]]");
    await send(INTERRUPT);
    await heard(RESULT, 2);
    await say("Three. [[say third]]");
    await heard(RESULT, 3);
  });
  assertEquals(compared(ours.results), compared(theirs.results));
  assertEquals(ours.results[0]?.["subtype"], "error_during_execution");
  assertEquals([ours.code, ours.stderr], [0, ""]);
});

/** Texts that other ways into Claude Code change or carry out. */
const AWKWARD = [
  "tab\tand trailing blanks  \t ",
  "ends with a backslash\\",
  "# heading\n\n\n\n/etc/hosts\n@README.md\nexit",
  "\u200bhidden\u2060 e\u0301 👩‍👩‍👧‍👦",
  '<pasted_content id="abcd">\nx',
  "exit",
];

forEachVersion(
  "later messages reach the API byte for byte, one of 1 MB among them",
  async (real) => {
    const texts = [...AWKWARD, `long ${"x".repeat(998_000)} end`];
    if (real.version === "2.1.330") texts.push("!ls", "/unknown command", "/ hi", " /help");
    const { code, stdout } = await hold(real, async ({ say, heard }) => {
      for (const [at, text] of texts.entries()) {
        await say(text);
        await heard(RESULT, at + 1);
      }
    });
    assertEquals(code, 0);
    const results = parseFrames(stdout).filter(({ type }) => type === "result");
    assertEquals(results.map(({ subtype }) => subtype), texts.map(() => "success"));
    const last = (real.api.turns.at(-1)?.body as { messages: readonly { content: unknown }[] })
      .messages.map(({ content }) => JSON.stringify(content));
    for (const text of texts) {
      assert(last.some((content) => content.includes(JSON.stringify(text).slice(1, -1))), text);
    }
  },
);

forEachVersion("what cannot be sent fails its own turn, by name", async (real) => {
  const { code, stdout, stderr } = await hold(real, async ({ say, send, heard }) => {
    await say("/logout");
    await heard(RESULT, 1);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "" } };
    await send({ type: "user", message: { role: "user", content: [image] } });
    await heard(RESULT, 2);
    await say("Go on. [[say on]]");
    await heard(RESULT, 3);
  });
  const results = parseFrames(stdout).filter(({ type }) => type === "result");
  assertEquals(results.map(({ subtype }) => subtype).slice(1), ["internal_error", "success"]);
  assertEquals([code, results.at(-1)?.["result"]], [0, "on"]);
  assertStringIncludes(stderr, 'passes no "image" blocks on');
});

forNewestVersion(
  "lines that cannot be read end the conversation as they end claude -p",
  async (real) => {
    const lines = ["this is no JSON\n", '{"type":"user"}\n', "null\n", '{"type":"user","mess'];
    for (const line of lines) {
      const { ours, theirs } = await both(real, async ({ say, send, heard }) => {
        await say("One. [[say first]]");
        await heard(RESULT);
        await send(line);
      });
      assertEquals([ours.code, theirs.code], [1, 1], line);
      assertEquals(ours.results.map(({ subtype }) => subtype), ["success", "bad_input"]);
      assertMatch(ours.stderr, /^claude-print: Cannot read a line of stdin: /u);
    }
  },
);

forNewestVersion(
  "an API error is the result of its turn, and the last result decides",
  async (real) => {
    const script = (words: readonly string[]) => async ({ say, heard }: Caller) => {
      for (const [at, text] of words.entries()) {
        await say(text);
        await heard(RESULT, at + 1);
      }
    };
    // What was refused stands before the next prompt, and is asked again.
    const { ours, theirs } = await both(
      real,
      script(["Fine. [[say fine]]", "Bad. [[error 400 no]]"]),
    );
    assertEquals(compared(ours.results), compared(theirs.results));
    assertEquals([ours.code, theirs.code], [1, 1]);
  },
);

forNewestVersion(
  "tasks in the background are waited for, and messages answered meanwhile",
  async (real) => {
    const shell = JSON.stringify({
      command: "until [ -e go ]; do sleep 0.05; done",
      run_in_background: true,
    });
    const script = async ({ say, heard }: Caller) => {
      await Deno.remove(`${real.home.project}/go`).catch(() => {});
      await say(`Wait. [[tool Bash ${shell}]] [[say started]]`);
      await heard(RESULT, 1);
      await say("Meanwhile. [[say meanwhile]]");
      await heard(RESULT, 2);
      await Deno.writeTextFile(`${real.home.project}/go`, "");
    };
    const { ours, theirs } = await both(real, script, ["--allowedTools", "Bash"]);
    assertEquals(compared(ours.results), compared(theirs.results));
    assertEquals([ours.results.length, ours.code], [3, 0]);
  },
);

forNewestVersion("nobody who says nothing gets anything", async (real) => {
  const { code, stdout, stderr } = await hold(real, async () => {});
  assertEquals([code, stdout, stderr], [0, "", ""]);
  assertEquals(real.api.requests.length, 0);
});

/** Kills the Claude Code that a program has started. */
async function killClaude(real: RealClaude, pid: number): Promise<void> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["--ppid", `${pid}`, "-o", "pid="],
  }).output();
  const children = new TextDecoder().decode(stdout).trim().split(/\s+/u).map(Number);
  const binary = Deno.realPathSync(real.binary);
  const [child] = children.filter((each) => exeOf(each) === binary);
  if (child === undefined) throw new Error("There is no Claude Code to kill");
  Deno.kill(child, "SIGKILL");
}

function exeOf(pid: number): string | undefined {
  try {
    return Deno.readLinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** What is done in the third turn, and what its child's death there leaves of it. */
const MOMENTS: Readonly<Record<string, { readonly text: string; readonly lost: boolean }>> = {
  "before it is said": { text: "", lost: false },
  "while the model is asked": { text: "Three. [[hang x1]] [[say third]]", lost: true },
  "between two requests": {
    text: "Three. [[bash true]] [[next]] [[hang x1]] [[say third]]",
    lost: true,
  },
  "while a tool runs": { text: "Three. [[bash sh wait.sh]] [[say third]]", lost: true },
};

for (const [moment, { text, lost }] of Object.entries(MOMENTS)) {
  const register = moment === "while the model is asked" ? forEachVersion : forNewestVersion;
  register(`a child that is killed in turn 3, ${moment}, costs no other turn`, async (real) => {
    await Deno.writeTextFile(
      `${real.home.project}/wait.sh`,
      "until [ -e go ]; do sleep 0.05; done",
    );
    const { code, stdout, stderr } = await hold(real, async ({ say, heard, asked, pid }) => {
      for (const turn of [1, 2]) {
        await say(`Turn ${turn}. [[say answer ${turn}]]`);
        await heard(RESULT, turn);
      }
      if (lost) {
        await say(text);
        await asked("Three.");
        if (text.includes("bash")) await heard("tool_use");
        await say("Four. [[say fourth]]");
      }
      await killClaude(real, pid);
      if (!lost) await say("Four. [[say fourth]]");
      await heard("fourth");
      await heard(RESULT, lost ? 4 : 3);
      await say("Five. [[say fifth]]");
    }, ["--allowedTools", "Bash"]);
    const results = parseFrames(stdout).filter(({ type }) => type === "result");
    assertEquals(
      results.map(({ subtype, result }) => subtype === "success" ? result : subtype),
      ["answer 1", "answer 2", ...(lost ? ["internal_error"] : []), "fourth", "fifth"],
      stderr,
    );
    if (real.version === "2.1.330") {
      assertEquals(results.map(({ result_index: at }) => at), results.map((_, at) => at));
    }
    assertEquals(new Set(results.map(({ session_id: id }) => id)).size, 1);
    const costs = results.map(({ total_cost_usd: cost }) => Number(cost));
    assertEquals(costs, costs.toSorted((one, other) => one - other));
    assertEquals(code, 0);
    assertStringIncludes(stderr, "Claude Code is gone");
    // The one that came after knows what was said before.
    assertStringIncludes(real.api.turns.at(-1)?.text ?? "", "answer 2");
  });
}
