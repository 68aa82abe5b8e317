/**
 * Runs a command of claude-print together with a server that has a warm child, and stops the server. One program, so that a
 * wrapper holds for the server too.
 *
 * usage: warm_run FOLDER WAITS COMMAND…. FOLDER is the server's folder. WAITS is "ready" if the command starts when the child
 * can take a prompt, else "started". `FOLDER/waited` then has the number of runs with a warm child, and `FOLDER/stderr` the
 * server's stderr.
 *
 * @module
 */
import { poolCounts } from "../../program/server/delegation/pool_counts.ts";
import { until } from "../../program/stand_in.ts";

const [folder = "", waits, ...command] = Deno.args;
const runtime = { XDG_RUNTIME_DIR: folder };
const env = { ...Deno.env.toObject(), ...runtime };
// Deno takes a socket for a proxy, which this would go past.
Deno.env.delete("NO_PROXY");
const named = command.indexOf("--claude-binary");
const [program = "", ...args] = command.slice(0, named);
const profile = { args: command.slice(named, named + 2), cwd: Deno.cwd(), json: true };
await Deno.writeTextFile(`${folder}/profiles`, `${JSON.stringify(profile)}\n`);

const server = new Deno.Command(program, {
  args: [...args, "serve", "--warm", "1", "--max", "1", "--profiles", `${folder}/profiles`],
  env,
  stdin: "null",
  stdout: "piped",
  stderr: "piped",
}).spawn();
const said = new Response(server.stderr).text();
const reader = server.stdout.getReader();
const { done: isGone } = await reader.read();
if (!isGone && waits === "ready") {
  await until(async () => (await poolCounts(runtime)).ready === 1, "a child waits");
}
const run = new Deno.Command(program, { args: [...args, ...command.slice(named)], env });
const { code } = await run.spawn().status;
if (!isGone) {
  await Deno.writeTextFile(`${folder}/waited`, `${(await poolCounts(runtime)).waited}`);
  server.kill("SIGTERM");
}
await server.status;
await reader.cancel();
await Deno.writeTextFile(`${folder}/stderr`, await said);
Deno.exitCode = code;
