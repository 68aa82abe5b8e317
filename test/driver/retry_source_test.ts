import { assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { followLog } from "../../src/driver/sources/follow_lines.ts";
import { RetrySource } from "../../src/driver/sources/retry_source.ts";

const ERROR_500 = 'API error (attempt 1/11): 500 500 {"type":"error","error":{"type":"api_error"}}';

/** A debug log, a screen to look at, and what a source learns of them. */
class Ground implements Disposable {
  readonly #dir = Deno.makeTempDirSync();
  readonly logPath = `${this.#dir}/debug.log`;
  /** Rows of the screen. */
  rows: readonly string[] = [];
  looks = 0;

  log(level: string, text: string): void {
    const line = `2026-11-22T01:48:04.860Z [${level}] ${text}\n`;
    Deno.writeTextFileSync(this.logPath, line, { append: true });
  }

  read(source: RetrySource, at: number) {
    const look = () => {
      this.looks++;
      return Promise.resolve({ lines: this.rows, cursor: { row: 1, col: 1 } });
    };
    source.faults(at);
    return source.announced({ at, look });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#dir, { recursive: true });
  }
}

Deno.test("RetrySource joins what the log and the screen say of a retry, once", async () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  assertEquals(await ground.read(source, 0), undefined);
  ground.log("ERROR", ERROR_500);
  assertEquals(await ground.read(source, 50), undefined, "the screen does not say it yet");
  ground.rows = ["❯ hello", "✻ API error · Retrying in 1s · attempt 1/10", ""];
  assertEquals(await ground.read(source, 100), {
    attempt: 1,
    maxRetries: 10,
    delayMs: 1000,
    status: 500,
  });
  const { looks } = ground;
  assertEquals(await ground.read(source, 150), undefined);
  assertEquals(ground.looks, looks, "nothing to look for");
});

Deno.test("RetrySource tells of failed requests as the log does", () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  assertEquals(source.faults(0), []);
  ground.log("ERROR", ERROR_500);
  ground.log("ERROR", "API error (attempt 2/11): undefined Connection error.");
  ground.log("WARN", "Stream connection error (ECONNRESET) — retrying streaming (1/3)");
  assertEquals(source.faults(1), [
    { attempt: 1, maxRetries: 10, status: 500 },
    { attempt: 2, maxRetries: 10, status: null },
    { attempt: 1, maxRetries: 3, status: null },
  ]);
  assertEquals(source.faults(2), []);
});

Deno.test("RetrySource waits for the screen to catch up with the next failure", async () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  ground.rows = ["✻ API error · retrying… · attempt 1/10"];
  ground.log("ERROR", "API error (attempt 2/11): 529 529 overloaded_error");
  assertEquals(await ground.read(source, 0), undefined);
  ground.rows = ["✻ API error · retrying in 0s · attempt 1/10"];
  assertEquals(await ground.read(source, 50), undefined);
  ground.rows = ["✻ 529 Overloaded · retrying in 1m 30s · attempt 2/10"];
  assertEquals(await ground.read(source, 100), {
    attempt: 2,
    maxRetries: 10,
    delayMs: 90_000,
    status: 529,
  });
});

Deno.test("RetrySource reads a notice that a narrow window wraps, and a lost connection", async () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  ground.log("ERROR", "API error (attempt 1/4): undefined Connection error.");
  ground.rows = ["✻ Connection refused · retrying in 1s · attempt", "1/3"];
  const expected = { attempt: 1, maxRetries: 3, delayMs: 1000, status: null };
  assertEquals(await ground.read(source, 0), expected);
  ground.log("WARN", "Stream connection error (ECONNRESET) — retrying streaming (1/3)");
  assertEquals(await ground.read(source, 50), expected);
});

Deno.test("RetrySource gives up a failure after which no request follows", async () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  ground.log("ERROR", 'API error (attempt 1/11): 400 400 {"type":"error"}');
  ground.rows = ["● API Error: 400 Bad prompt"];
  for (let at = 0; at <= 3000; at += 50) assertEquals(await ground.read(source, at), undefined);
  const { looks } = ground;
  await ground.read(source, 3050);
  assertEquals(ground.looks, looks);
});

Deno.test("RetrySource leaves alone what was in the log before, and a log that is not there", async () => {
  using ground = new Ground();
  const early = new RetrySource(followLog(ground.logPath));
  assertEquals(await ground.read(early, 0), undefined);
  ground.log("ERROR", ERROR_500);
  ground.rows = ["✻ API error · Retrying in 1s · attempt 1/10"];
  assertEquals(await ground.read(new RetrySource(followLog(ground.logPath)), 0), undefined);
});

Deno.test("RetrySource does not read from a pipe that the caller named for the log", async () => {
  using ground = new Ground();
  makeFifo(ground.logPath);
  assertEquals(await ground.read(new RetrySource(followLog(ground.logPath)), 0), undefined);
});

Deno.test("RetrySource never looks at the screen while nothing fails", async () => {
  using ground = new Ground();
  const source = new RetrySource(followLog(ground.logPath));
  ground.rows = ["● The log says: Retrying in 1s · attempt 1/10"];
  ground.log("DEBUG", "[API REQUEST] /v1/messages source=repl_main_thread");
  ground.log("ERROR", "OAuth refresh failed (expected): connect ECONNREFUSED");
  // A search for the rest that begins anew at each of them would not come to an end.
  ground.log("WARN", "Stream connection error ".repeat(100_000));
  assertEquals(await ground.read(source, 0), undefined);
  assertEquals(ground.looks, 0);
});
