import { assertEquals } from "@std/assert";
import { pythonSdk } from "../../../../../fixtures/programs/agent_sdk.ts";
import { usablePython } from "../../../../../fixtures/programs/python_packages.ts";
import { missingTool } from "../../../../missing_tool.ts";
import { blocks } from "../../../../docs/blocks.ts";
import { StandIn } from "../../../stand_in.ts";
import { startProgram } from "../../../../start_program.ts";
import { skipIfLacking } from "../../../../skip_if_lacking.ts";
import { serve } from "../../../server/delegation/served.ts";

const python = usablePython();

/** A server on loopback with agentapi's endpoints, and what the clients of the test have to know of it. */
async function scene() {
  const claude = await StandIn.set({ turns: [[{ text: "Answer {turn}: <b>{prompt}</b>" }]] });
  const { env, project: cwd } = claude.home;
  let said = "";
  const args = "--warm 0 --port 0 --agentapi -- --claude-binary".split(" ");
  const server = await serve({
    ...{ args: [...args, claude.binary], env, cwd },
    onStdout: (text) => said = text,
  });
  const [, origin = "", tokenFile = ""] = /^http:\/\/(\S+) \(its token: (.+)\)$/mu.exec(said) ?? [];
  const token = (await Deno.readTextFile(tokenFile)).trim();
  return {
    /** With what whoever moves by a URL has to know. */
    url: `http://any:${token}@${origin}`,
    bare: `http://${origin}`,
    socket: server.httpSocket,
    /** Runs a program to its end. */
    run: (program: readonly string[]) => startProgram(program, { env, cwd }).ended,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      const { code, stderr } = await server.ended;
      await claude[Symbol.asyncDispose]();
      assertEquals({ code, stderr }, { code: 0, stderr: "" });
    },
  };
}

Deno.test(skipIfLacking(missingTool("curl"), {
  name: "curl needs the socket or the token",
  async fn() {
    await using server = await scene();
    const curl = async (...args: string[]) => {
      const { stdout } = await server.run(["curl", "-sS", "-m", "60", ...args]);
      return JSON.parse(stdout);
    };
    const json = ["-H", "Content-Type: application/json", "-d"];
    const message = JSON.stringify({ type: "user", content: "Hello" });
    const untilStable = async () => {
      while ((await curl(`${server.url}/status`)).status !== "stable");
    };
    await untilStable();
    assertEquals((await curl(`${server.url}/message`, ...json, message)).ok, true);
    await untilStable();
    const { messages } = await curl("--unix-socket", server.socket, "http://localhost/messages");
    assertEquals(messages[1].content, "Answer 1: <b>Hello</b>");
    for (const path of ["/", "/messages", "/v1/conversations"]) {
      assertEquals((await curl(`${server.bare}${path}`)).status, 401, path);
    }
    const elsewhere = await curl("-H", "Origin: http://evil.example", `${server.url}/messages`);
    assertEquals(elsewhere.status, 403);
    // On the socket nobody is a browser.
    assertEquals((await curl("--unix-socket", server.socket, "http://localhost/")).status, 404);
  },
}));

/** The program of the page, which takes the path of a Claude Code too, and an httpx of whatever name. */
const HTTPX = [
  "import importlib.util, sys",
  'name = next(n for n in ("httpx", "httpx2") if importlib.util.find_spec(n))',
  'sys.modules["httpx"] = importlib.import_module(name)',
  blocks("python").find((code) => code.includes("httpx"))
    ?.replace('"--model", "haiku"', '"--claude-binary", sys.argv[2]'),
].join("\n");

Deno.test(skipIfLacking(python === undefined ? "python3" : undefined, {
  name: "httpx holds a conversation on the socket",
  async fn() {
    if (python === undefined) return;
    const program = await pythonSdk(python);
    await using claude = await StandIn.set({ turns: [[{ text: "Answer {turn}" }]] });
    await using server = await scene();
    const { stdout, stderr } = await server.run(
      [program, "-c", HTTPX, server.socket, claude.binary],
    );
    assertEquals([stdout, stderr], ["Answer 1\n", ""]);
  },
}));
