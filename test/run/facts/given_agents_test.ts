import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { agentsElsewhere, readAgents } from "../../../src/run/facts/given_agents.ts";
import { makeThrowawayHome } from "../../../fixtures/throwaway_home.ts";

Deno.test("agentsElsewhere() is what counts of --agents, where it is no JSON object and not nothing", () => {
  const of = (...forwarded: readonly string[]) => agentsElsewhere({ forwarded });
  assertEquals(of("--agent=a"), undefined);
  assertEquals(of("--agents=a.json"), "a.json");
  assertEquals(of("--agents={}", "--agents= a.json"), " a.json");
  for (const others of ["", "{", ' {"a":1}']) {
    assertEquals(of("--agents=a.json", `--agents=${others}`), undefined);
  }
});

Deno.test("readAgents() gives what a file holds, to the letter and without what stands around it", async () => {
  await using dir = await makeThrowawayHome();
  const agents = '{"a": {"description": "é", "__proto__": 1e999}, "a": {}}';
  await Deno.writeTextFile(`${dir.path}/a.json`, `\ufeff\n ${agents}\n\n`);
  assertEquals(readAgents("a.json", { cwd: dir.path }), agents);
  assertEquals(readAgents(`${dir.path}/a.json`, { cwd: "/" }), agents);
});

Deno.test("readAgents() refuses other JSON and every file that holds no object", async () => {
  await using dir = await makeThrowawayHome();
  const cwd = dir.path;
  const refusal = (given: string) => assertThrows(() => readAgents(given, { cwd }), CliError);
  for (const json of ["[]", '"a"', "1", "null"]) {
    assertEquals(refusal(json).message, "Cannot honour --agents: it is not a JSON object");
  }
  const missing = `${cwd}/none is not there, and what is not JSON is the path of a file`;
  assertEquals(refusal("none").message, `Cannot honour --agents: ${missing}`);
  const deep = `{"a":${"[".repeat(100)}${"]".repeat(100)}}`.replaceAll("[", "[".repeat(90));
  for (const [index, text] of ["", "{", '{"a":1}x', "[]", deep].entries()) {
    await Deno.writeTextFile(`${cwd}/f${index}`, text);
    assertEquals(
      refusal(`f${index}`).message,
      `Cannot honour --agents: ${cwd}/f${index} holds no JSON object`,
    );
  }
  await new Deno.Command("mkfifo", { args: [`${cwd}/fifo`] }).output();
  await Deno.truncate(`${cwd}/f0`, 16 * 1024 * 1024 + 1);
  const unfit = {
    fifo: "it is no regular file",
    ".": "it is no regular file",
    f0: "it is larger",
  };
  for (const [name, why] of Object.entries(unfit)) {
    const begin = `Cannot honour --agents: ${cwd}/${name} cannot be read: ${why}`;
    assertEquals(refusal(name).message.slice(0, begin.length), begin);
  }
});
