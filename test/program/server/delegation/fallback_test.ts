import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { StopSignals } from "../../../../src/driver/stop_signals.ts";
import {
  connectToServer,
  delegateRun,
} from "../../../../src/server/delegation/delegation_client.ts";
import { isJsonObject } from "../../../../src/json_object.ts";
import { StandIn, until } from "../../stand_in.ts";
import { runSocket } from "./run_socket.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

/** What a server does: how far it gets in what it says, and what it does then. */
interface Plan {
  /** What it says, each once the client has said a message of the type before it. */
  readonly says: readonly (readonly [after: string, message: unknown])[];
  /** Whether it goes once it has said all of that; else it stays and says nothing. */
  readonly goes: boolean;
}

/** A socket on which somebody speaks as a server might. */
async function fakeServer({ says, goes }: Plan) {
  /** The types of what the client has said. */
  const heard: string[] = [];
  const left = [...says];
  const socket = await runSocket(async (client, { poller, isOver }) => {
    while (!isOver() && !client.isClosed && (left.length > 0 || !goes)) {
      for (const said of client.receive(await poller.wait(client.interests, -1))) {
        const type = isJsonObject(said) ? `${said["type"]}` : "";
        heard.push(type);
        while (left[0]?.[0] === type) client.send(left.shift()?.[1]);
      }
    }
  });
  return { ...socket, heard };
}

const TAKEN = ["run", { type: "taken" }] as const;
const READY = ["streams", { type: "ready" }] as const;

/** Each moment until the client has given the run away, and what it says then of why it is carried out here. */
const EARLY: Readonly<Record<string, Plan & { readonly why: string }>> = {
  "goes before it has heard anything": { says: [], goes: true, why: "the server is gone" },
  "is of another version": {
    says: [["hello", { type: "refused", reason: "the server is of another version" }]],
    goes: false,
    why: "the server is of another version",
  },
  "goes once it has taken the run": { says: [TAKEN], goes: true, why: "the server is gone" },
  "says what nobody understands": {
    says: [["run", { type: "later" }]],
    goes: false,
    why: "the server says what this program does not understand",
  },
  "says that it is over before it has begun": {
    says: [TAKEN, ["streams", { type: "exit", code: 0 }]],
    goes: false,
    why: "the server has not begun",
  },
  "says nothing": { says: [], goes: false, why: "the server does not answer" },
};

for (const [what, plan] of Object.entries(EARLY)) {
  Deno.test(`a server that ${what} falls back to a run here`, async () => {
    await using claude = await StandIn.set(ECHO);
    await using server = await fakeServer(plan);
    const { code, stdout, stderr } = await claude.print(["--trace"], {
      stdin: "hello",
      env: server.env,
      warns: true,
    });
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    assertStringIncludes(stderr, `without a server: ${plan.why}\n`);
    assertEquals((await claude.journal("start")).length, 1);
    assertEquals(server.heard.includes("go"), false);
  });
}

Deno.test("a server that dies mid-run yields one error result", async () => {
  await using claude = await StandIn.set(ECHO);
  for (const says of [[TAKEN, READY], [TAKEN, READY, ["go", { type: "later" }]]] as const) {
    await using server = await fakeServer({ says: [...says], goes: says.length === 2 });
    const { code, result, stderr } = await claude.print(["hello", "--output-format", "json"], {
      env: server.env,
    });
    assertEquals([code, result["subtype"], result["is_error"]], [2, "internal_error", true]);
    assertMatch(
      stderr,
      /^claude-print: Cannot tell how the run ended: the server (?:is gone|says)/u,
    );
  }
  assertEquals(await claude.journal("start"), []);
});

Deno.test("a signal ends the program without its server", async () => {
  await using claude = await StandIn.set(ECHO);
  await using server = await fakeServer({
    says: [TAKEN, READY, ["signal", { type: "exit", code: 143 }]],
    goes: false,
  });
  const run = claude.start(["hello"], { env: server.env, killed: true });
  await until(() => server.heard.includes("go"), "the run is the server's");
  run.kill("SIGTERM");
  assertEquals((await run.ended).code, 143);
  assertEquals(server.heard.filter((type) => type === "signal").length, 1);
});

Deno.test("an internal error ends the wait, not the program", async () => {
  await using server = await fakeServer({ says: [TAKEN, READY], goes: false });
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  const connection = connectToServer({ folder, runSocket: `${folder}/run.sock` });
  if (typeof connection === "string") throw new Error(connection);
  const handed = delegateRun({ argv: [], env: {}, cwd: "/", prompt: "hello" }, {
    server: connection,
    signals: new StopSignals({ listen: false }),
  });
  await until(() => server.heard.includes("go"), "the run is the server's");
  queueMicrotask(() => {
    throw new Error("a mistake");
  });
  await assertRejects(() => handed, Error, "a mistake");
});
