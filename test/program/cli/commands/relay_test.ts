import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { readExchanges } from "../../../../src/recording/relay/exchange_folder.ts";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { type ProgramOutput, startProgram } from "../../../start_program.ts";
import { tempFolder } from "../../../temp_folder.ts";

/** A relay as a program, with a folder of its own. */
async function relay(
  args: readonly string[],
  use: (url: string) => Promise<void>,
  { wrap = [], ...env }: { readonly wrap?: readonly string[]; readonly CI?: string } = {},
): Promise<ProgramOutput> {
  const { promise: url, resolve } = Promise.withResolvers<string>();
  const { child, ended } = startProgram([...wrap, ...CLAUDE_PRINT, "relay", ...args], {
    env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir(), ...env },
    cwd: "/",
    onStdout: (text) => text.endsWith("\n") && resolve(text.trim()),
  });
  const first = await Promise.race([url, ended]);
  if (typeof first !== "string") return first;
  await use(first);
  child.kill("SIGTERM");
  return await ended;
}

/** An API that says what it was asked, and nobody's folder. */
function scene() {
  const folder = Deno.makeTempDirSync();
  const asked: string[] = [];
  const api = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    asked.push(`${request.headers.get("x-api-key")} ${await request.text()}`);
    return Response.json({ said: asked.length });
  });
  return {
    folder,
    asked,
    url: `http://127.0.0.1:${api.addr.port}`,
    async [Symbol.asyncDispose]() {
      await api.shutdown();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const ask = async (url: string, body: string) => {
  const answer = await fetch(`${url}/v1/messages`, {
    method: "POST",
    body,
    headers: { "x-api-key": "key" },
  });
  return [answer.status, await answer.text()];
};

Deno.test("relay records, plays offline and prints statistics", async () => {
  await using there = scene();
  const cache = `${there.folder}/cassette`;
  const recording = ["--cache", cache, "--on-miss", "record", "--upstream", there.url];
  const recorded = await relay([...recording, "--stats"], async (url) => {
    assertMatch(url, /^http:\/\/127\.0\.0\.1:\d+\/[\da-f-]{36}$/u);
    assertEquals(await ask(url, '{"at":"2026-11-25"}'), [200, '{"said":1}']);
    assertEquals(await ask(url, '{"at":"2026-11-26"}'), [200, '{"said":1}']);
  });
  assertEquals([recorded.code, recorded.stderr, there.asked], [0, "", ['key {"at":"2026-11-25"}']]);
  const [, stats = ""] = recorded.stdout.split("\n");
  const { requests, hits, misses, recorded: kept } = JSON.parse(stats);
  assertEquals([requests, hits, misses, kept], [2, 1, 0, 1]);

  const played = await relay(["--cache", cache, "--ignore", "/more"], async (url) => {
    assertEquals(await ask(url, '{"at":"2027-01-01","more":1}'), [200, '{"said":1}']);
  });
  assertEquals([played.code, played.stderr], [0, ""]);

  const missed = await relay([...recording, "--offline", "--match", "exact"], async (url) => {
    assertEquals((await ask(url, '{"at":"2026-11-26"}'))[0], 503);
  });
  assertEquals([missed.code, there.asked.length], [1, 1]);
  assertStringIncludes(
    missed.stderr,
    'at /at, where "2026-11-25" was recorded and "2026-11-26" is asked',
  );
});

Deno.test("relay fails if the API did not answer", async () => {
  await using there = scene();
  const recording = ["--on-miss", "record", "--upstream", "http://127.0.0.1:1", "--stats"];
  const cache = ["--cache", `${there.folder}/cassette`];
  const { code, stdout, stderr } = await relay([...cache, ...recording], async (url) => {
    await assertRejects(() => ask(url, "{}"));
  });
  assertEquals([code, JSON.parse(stdout.split("\n")[1] ?? "").unanswered], [1, 1]);
  assertStringIncludes(stderr, "Cannot reach http://127.0.0.1:1");
});

Deno.test("SIGTERM records a running answer as broken off", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const release = Promise.withResolvers<void>();
  const api = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("data: 1\n\n"));
        await release.promise;
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const upstream = `http://127.0.0.1:${api.addr.port}`;
  const args = ["--cache", folder, "--on-miss", "record", "--upstream", upstream];
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const { code, stderr } = await relay(args, async (url) => {
    const { body } = await fetch(`${url}/v1/messages`, { method: "POST", body: "{}" });
    reader = body?.getReader();
    await reader?.read();
  });
  assertEquals([code, stderr], [0, ""]);
  await assertRejects(async () => await reader?.read());
  const [exchange, ...others] = [...readExchanges(`${folder}/api`)].map(({ exchange }) => exchange);
  const { whole, chunks } = exchange?.response ?? {};
  assertEquals([whole, chunks?.length, others], [false, 1, []]);
  release.resolve();
  await api.shutdown();
});

Deno.test("relay sends no request under CI=true unless allowed", async () => {
  await using there = scene();
  const recording = ["--cache", there.folder, "--on-miss", "record", "--upstream", there.url];
  const refused = await relay(recording, () => Promise.resolve(), { CI: "true" });
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertStringIncludes(refused.stderr, "Cannot record under CI=true: it would ask the API\n  Play");
  const allowed = await relay([...recording, "--allow-upstream"], async (url) => {
    assertEquals(await ask(url, "{}"), [200, '{"said":1}']);
  }, { CI: "true" });
  assertEquals([allowed.code, allowed.stderr], [0, ""]);
});

Deno.test("only relay --no-secret answers without the secret, and warns", async () => {
  await using there = scene();
  Deno.mkdirSync(`${there.folder}/api`);
  const args = ["--cache", there.folder];
  for (const bind of [[], ["--bind", "0.0.0.0"]]) {
    const { stderr } = await relay([...args, ...bind], async (url) => {
      const { port, pathname } = new URL(url);
      assertMatch(pathname, /^\/[\da-f-]{36}$/u);
      const stranger = await fetch(`http://127.0.0.1:${port}/v1/models`);
      assertEquals(stranger.status, 404);
      await stranger.body?.cancel();
      assertEquals((await ask(url, "{}"))[0], 503);
    });
    assert(!stderr.includes("--no-secret"));
  }
  const bare = await relay([...args, "--no-secret"], async (url) => {
    assertMatch(url, /^http:\/\/127\.0\.0\.1:\d+$/u);
    assertEquals((await ask(url, "{}"))[0], 503);
  });
  assertStringIncludes(bare.stderr, "warning: with --no-secret every user of this machine");
  const wide = await relay([...args, "--no-secret", "--bind", "0.0.0.0"], () => Promise.resolve());
  assertEquals([wide.code, wide.stdout], [2, ""]);
  assertStringIncludes(wide.stderr, "Cannot listen on 0.0.0.0 with --no-secret: other machines");
});

Deno.test("relay names errors of port, cassette and flags", async () => {
  await using there = scene();
  const { port } = new URL(there.url);
  const nothing = await relay(["--cache", there.folder], () => Promise.resolve());
  assertEquals([nothing.code, nothing.stdout], [2, ""]);
  assertStringIncludes(
    nothing.stderr,
    `Cannot play ${there.folder}/api: there is no such folder\n  Name `,
  );
  Deno.mkdirSync(`${there.folder}/api`);
  const taken = await relay(["--cache", there.folder, "--port", port], () => Promise.resolve());
  assertEquals(taken.code, 2);
  assertStringIncludes(
    taken.stderr,
    `Cannot listen on 127.0.0.1, port ${port}: the port is taken\n`,
  );
  Deno.writeTextFileSync(`${there.folder}/api/${"0".repeat(16)}-0.json`, "{}");
  const broken = await relay(["--cache", there.folder], () => Promise.resolve());
  assertEquals(broken.code, 2);
  assertStringIncludes(broken.stderr, "Cannot read the exchange ");
  const boom = await relay(["--cache", "/nowhere", "--inject", "boom"], () => Promise.resolve());
  assertEquals([boom.code, boom.stdout], [2, ""]);
  assertStringIncludes(boom.stderr, '--inject does not take "boom"');
});

Deno.test("an unread stderr does not block the relay", async () => {
  using temp = tempFolder({ "api/": "" });
  const { promise: url, resolve } = Promise.withResolvers<string>();
  const [program = "", ...args] = [...CLAUDE_PRINT, "relay", "--cache", temp.path];
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir() },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const reading = child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({ write: (text) => resolve(text.trim()) }),
  );
  // More is told than a pipe holds.
  const query = "x".repeat(4000);
  for (let number = 0; number < 40; number++) {
    const { status, body } = await fetch(`${await url}/v1/${query}${number}`);
    await body?.cancel();
    assertEquals(status, 503);
  }
  child.kill("SIGTERM");
  assertEquals((await child.status).code, 1);
  await reading;
  await child.stderr.cancel();
});

Deno.test("relay recovers from a lack of file descriptors", async () => {
  using temp = tempFolder({ "api/": "" });
  const { code } = await relay(["--cache", temp.path], async (url) => {
    const { hostname, port } = new URL(url);
    // It takes no more of them at some moment.
    const opened = await Promise.allSettled(
      Array.from({ length: 80 }, () => Deno.connect({ hostname, port: Number(port) })),
    );
    for (const each of opened) if (each.status === "fulfilled") each.value.close();
    let status: number | undefined;
    while (status === undefined) {
      const response = await fetch(`${url}/v1/models`).catch(() => undefined);
      await response?.body?.cancel();
      status = response?.status;
    }
    assertEquals(status, 503);
  }, { wrap: ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh"] });
  assertEquals(code, 1);
});
