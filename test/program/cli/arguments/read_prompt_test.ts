import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CliError } from "../../../../src/cli_error.ts";
import { denoPromptIo, readPrompt } from "../../../../src/cli/arguments/read_prompt.ts";
import { tempFolder } from "../../../temp_folder.ts";

/** Io that waits for ever and keeps its warnings to itself. */
const PATIENT: Parameters<typeof denoPromptIo>[0] = { inTime: (wait) => wait, warn: () => {} };

Deno.test("denoPromptIo reads real files and explains errors", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const io = { ...denoPromptIo(PATIENT), stdinIsTerminal: true };
  const text = "é\r\n\uFEFF";
  await Deno.writeTextFile(`${folder}/prompt.md`, text);
  const read = (inputFile: string) => readPrompt({ ignoredArguments: [], inputFile }, io);
  assertEquals(await read(`${folder}/prompt.md`), text);
  for (
    const [name, reason] of [
      ["none", "there is no such file"],
      ["", "it is a directory"],
      ["prompt.md/x", "a part of the path is not a directory"],
    ]
  ) {
    const error = await assertRejects(() => read(`${folder}/${name}`), CliError);
    assertEquals(error.message, `Cannot read --input-file "${folder}/${name}": ${reason}`);
  }
});

Deno.test("a clock rings once or never", async () => {
  const { startTimer } = denoPromptIo(PATIENT);
  let rung = 0;
  const stop = startTimer(1, () => rung += 100);
  stop();
  await new Promise<void>((resolve) => startTimer(2, () => (rung += 1, resolve())));
  assertEquals(rung, 1);
});

/** Runs `readPrompt` on the real stdin of a process of its own, with another patience than 3 s. */
async function readInProcess(
  { patienceMs, feed }: {
    readonly patienceMs: number;
    readonly feed: (stdin: WritableStream<Uint8Array>) => Promise<void>;
  },
) {
  const folder = new URL("../../../../src/", import.meta.url);
  const code = `
    import { denoPromptIo } from "${folder}cli/arguments/read_prompt.ts";
    import { readPrompt } from "${folder}cli/arguments/read_prompt.ts";
    const io = denoPromptIo({ inTime: (wait) => wait, warn: console.error });
    const prompt = await readPrompt({ promptArgument: "hi", ignoredArguments: [] }, {
      ...io,
      stdin: Deno.stdin.readable,
      startTimer: (_, ring) => io.startTimer(${patienceMs}, ring),
    });
    console.log(JSON.stringify(prompt));
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--no-config", `data:text/typescript,${encodeURIComponent(code)}`],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const ended = child.output();
  await feed(child.stdin);
  const { code: exitCode, stdout, stderr } = await ended;
  if (!child.stdin.locked) await child.stdin.close().catch(() => {});
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { exitCode, prompt: text(stdout), warnings: text(stderr) };
}

Deno.test("denoPromptIo reads real stdin to its end", async () => {
  const { exitCode, prompt, warnings } = await readInProcess({
    patienceMs: 60_000,
    feed: async (stdin) => {
      const writer = stdin.getWriter();
      await writer.write(new TextEncoder().encode("a\r\n"));
      await writer.write(new TextEncoder().encode("b\n"));
      await writer.close();
    },
  });
  assertEquals([exitCode, prompt, warnings], [0, '"hi\\na\\r\\nb\\n"\n', ""]);
});

Deno.test("a silent stdin does not keep the program alive", async () => {
  const { exitCode, prompt, warnings } = await readInProcess({
    patienceMs: 20,
    feed: () => Promise.resolve(),
  });
  assertEquals([exitCode, prompt], [0, '"hi"\n']);
  assertStringIncludes(warnings, "Nothing came in on stdin");
});

Deno.test("a file on stdin is read from its position", async () => {
  const code = `
    import { denoPromptIo } from "${new URL(
    "../../../../src/cli/arguments/",
    import.meta.url,
  )}read_prompt.ts";
    const { stdinAtOnce } = denoPromptIo({});
    const bytes = stdinAtOnce?.();
    console.log(JSON.stringify(bytes && new TextDecoder().decode(bytes)) ?? "not at once");
  `;
  const program = `data:text/typescript,${encodeURIComponent(code)}`;
  using temp = tempFolder();
  const folder = temp.path;
  const text = `second\n${"x".repeat(200_000)}`;
  await Deno.writeTextFile(`${folder}/prompt`, `first\n${text}`);
  const readIn = async (redirection: string) => {
    const { stdout } = await new Deno.Command("/bin/sh", {
      args: ["-c", redirection, Deno.execPath(), program],
      cwd: folder,
      stderr: "inherit",
    }).output();
    return new TextDecoder().decode(stdout);
  };
  const deno = '"$0" run -A --no-check --no-config "$1"';
  assertEquals(await readIn(`{ read first; ${deno}; } < prompt`), `${JSON.stringify(text)}\n`);
  assertEquals(await readIn(`${deno} < /dev/null`), '""\n');
  assertEquals(await readIn(`echo piped | ${deno}`), "not at once\n");
  assertEquals(await readIn(`${deno} < .`), "not at once\n");
  assertEquals(await readIn(`${deno} <&-`), '""\n');
});
