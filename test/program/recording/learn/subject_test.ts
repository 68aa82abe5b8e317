import { assert, assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../../src/cli_error.ts";
import { runPrint } from "../../../../src/recording/learn/run_print.ts";
import { writeScript } from "../../../write_script.ts";
import {
  openSubject,
  readProgramText,
  type Subject,
} from "../../../../src/recording/learn/subject.ts";

/** Runs a test with a stand-in for Claude Code, which prints its version or runs a script. */
async function withSubject(
  script: string,
  test: (subject: Subject, stop: AbortController) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const binary = `${folder}/claude`;
  try {
    await writeScript(
      binary,
      `#!/bin/sh\n[ "$1" != --version ] || { echo '9.9.9 (Claude Code)'; exit; }\n${script}\n`,
    );
    const stop = new AbortController();
    await using subject = await openSubject(binary, { signal: stop.signal });
    await test(subject, stop);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The processes that have a text in their environment. */
function processesWith(text: string): readonly string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name).filter((name) => {
    try {
      return /^\d+$/u.test(name) && Deno.readTextFileSync(`/proc/${name}/environ`).includes(text);
    } catch {
      return false;
    }
  });
}

/** Starts a process in a session of its own, reports it, and never ends. */
const ENDLESS = 'setsid sleep 1000 & echo \'{"type":"begun"}\'; exec sleep 1000';

Deno.test("a run returns frames, stderr and the exit code", async () => {
  const script = `echo '{"type":"result"}'; echo 'no frame'; echo oops >&2; exit 3`;
  await withSubject(script, async (subject) => {
    const { frames, stderr, code } = await runPrint(subject, { args: ["Hi"] });
    assertEquals([frames, stderr, code], [[{ type: "result" }], "oops\n", 3]);
  });
});

Deno.test("a run sees a closed environment and a private home", async () => {
  await withSubject(
    'printf \'{"home":"%s","proxy":"%s"}\\n\' "$HOME" "$HTTPS_PROXY"',
    async (subject) => {
      const { frames: [frame] } = await runPrint(subject, { args: ["Hi"] });
      assert(`${frame?.["home"]}`.startsWith(`${subject.folder}/`));
      assertEquals(frame?.["proxy"], "http://127.0.0.1:1");
      assertEquals((await Deno.stat(subject.folder)).mode! & 0o777, 0o700);
    },
  );
});

Deno.test("an abort kills what was started and removes the folder", async () => {
  let folder = "";
  await withSubject(ENDLESS, async (subject, stop) => {
    folder = subject.folder;
    const talk = { start: () => {}, answer: () => stop.abort(new Error("Stopped")) };
    await assertRejects(() => runPrint(subject, { args: ["Hi"], talk }), Error, "Stopped");
    assertEquals(processesWith(folder), []);
  });
  await assertRejects(() => Deno.lstat(folder), Deno.errors.NotFound);
});

Deno.test("an endless run is killed and named in the error", async () => {
  await withSubject(ENDLESS, async (subject) => {
    await assertRejects(
      () => runPrint(subject, { args: ["Hi"], silenceMs: 1 }),
      Error,
      "Hi has printed nothing for 1 ms",
    );
    assertEquals(processesWith(subject.folder), []);
  });
});

Deno.test("an executable without a version is no subject", async () => {
  await assertRejects(() => openSubject("/bin/true"), CliError, "does not say its version");
});

Deno.test("the text of a program is found between machine code", async () => {
  const path = await Deno.makeTempFile();
  try {
    const block = 65_536;
    const bytes = new Uint8Array(3 * block);
    bytes.fill(0x20, block, 2 * block);
    bytes.set(new TextEncoder().encode('x={name:"Bash"}'), block + 100);
    bytes.set(new TextEncoder().encode("hidden"), 100);
    await Deno.writeFile(path, bytes);
    const program = await readProgramText(path);
    assert(program.has('name:"Bash"'));
    assert(!program.has("hidden"));
    assertEquals(program.matches(/name:"(\w+)"/gu).map(([, name]) => name), ["Bash"]);
  } finally {
    await Deno.remove(path);
  }
});
