import { aimock } from "../../fixtures/programs/aimock.ts";
import { pythonMitmproxy } from "../../fixtures/programs/mitmproxy.ts";
import { usablePython } from "../../fixtures/programs/python_packages.ts";
import { type RunningServer, serverOf } from "./server_of.ts";

/** What is asked of a server that plays what was recorded, and what it answers. */
export interface PlayedExchange {
  readonly path: string;
  readonly request: string;
  /** The only message in it. */
  readonly message: string;
  readonly head: Readonly<Record<string, string>>;
  readonly answer: string;
  /** The text that is in the answer, and how many characters of it come at a time. */
  readonly text: string;
  readonly piece: number;
}

/** Another program that plays what was recorded; or why there is none. */
export interface Rival {
  readonly name: string;
  readonly server: RunningServer | string;
}

/** Where a rival may write, and what it is started with. */
interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts the other programs that play what was recorded, as far as they can be had here. */
export async function startRivals(
  exchange: PlayedExchange,
  place: Place,
): Promise<readonly Rival[]> {
  const had = async (name: string, start: () => Promise<RunningServer>): Promise<Rival> => {
    try {
      return { name, server: await start() };
    } catch (error) {
      return { name, server: (error as Error).message };
    }
  };
  return [
    await had("mitmdump", () => startMitmdump(exchange, place)),
    await had("aimock", () => startAimock(exchange, place)),
  ];
}

/** Writes an exchange as mitmproxy records it. */
const WRITE_FLOW = `
import json, sys
from mitmproxy import connection, http, io
told = json.loads(sys.argv[1])
client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 1), timestamp_start=0)
flow = http.HTTPFlow(client, connection.Server(address=("127.0.0.1", 1)))
head = {"content-type": "text/plain;charset=UTF-8"}
flow.request = http.Request.make("POST", "http://127.0.0.1:1" + told["path"], told["request"], head)
flow.response = http.Response.make(200, told["answer"], told["head"])
with open(told["file"], "wb") as file:
    io.FlowWriter(file).add(flow)
`;

async function startMitmdump(
  { path, request, head, answer }: PlayedExchange,
  { folder, env }: Place,
): Promise<RunningServer> {
  const found = usablePython();
  if (found === undefined) throw new Error("python3 with venv, 3.10 or later");
  const python = await pythonMitmproxy(found);
  const file = `${folder}/flows`;
  const { success, stderr } = await new Deno.Command(python, {
    args: ["-c", WRITE_FLOW, JSON.stringify({ path, request, head, answer, file })],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim().split("\n").at(-1));
  return await serverOf([
    ...[python, "-c", "from mitmproxy.tools.main import mitmdump; mitmdump()"],
    ...["--mode", "reverse:http://127.0.0.1:1", "--listen-host", "127.0.0.1", "--listen-port", "0"],
    ...["--server-replay", file, "--set", "server_replay_reuse=true"],
    ...["--set", "server_replay_extra=404", "--set", "connection_strategy=lazy"],
    ...["--set", "flow_detail=0", "--set", `confdir=${folder}/mitmproxy`],
  ], { ...env, PYTHONUNBUFFERED: "1" });
}

async function startAimock(
  { message, text, piece }: PlayedExchange,
  { folder, env }: Place,
): Promise<RunningServer> {
  const program = await aimock();
  const fixtures = `${folder}/aimock`;
  await Deno.mkdir(fixtures);
  const fixture = { match: { userMessage: message }, response: { content: text } };
  await Deno.writeTextFile(`${fixtures}/one.json`, JSON.stringify({ fixtures: [fixture] }));
  return await serverOf(
    ["node", program, "-p", "0", "-f", fixtures, "-c", `${piece}`, "--log-level", "info"],
    env,
  );
}
