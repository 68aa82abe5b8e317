import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { apiCheck } from "../../src/doctor/api_check.ts";

const NEVER = new AbortController().signal;

/** A server on loopback, and what it was asked. */
function serve(answer: () => Response | Promise<Response>) {
  const requests: { method: string; url: string; authorization: string | null }[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ({ method, url, headers }) => {
      requests.push({ method, url, authorization: headers.get("authorization") });
      return answer();
    },
  );
  return {
    requests,
    host: `127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** No server has this port (it is below those that are given out), and no other test can be given it. */
const CLOSED = "127.0.0.1:2";

for (const status of [200, 302, 401, 404, 500]) {
  Deno.test(`apiCheck() takes an answer with status ${status}`, async () => {
    await using server = serve(() =>
      new Response(null, { status, headers: { location: "http://127.0.0.1:1/" } })
    );
    const url = `http://${server.host}`;
    const { ok, detail, data } = await apiCheck({ baseUrl: `${url}/prefix`, stop: NEVER });
    assertEquals(ok, true, detail);
    assertEquals([data["url"], data["status"]], [url, status]);
    assertMatch(detail, new RegExp(`^${url} answers \\(${status}\\), \\d+ ms$`));
    assertEquals(server.requests, [
      { method: "HEAD", url: `${url}/prefix`, authorization: null },
    ]);
  });
}

Deno.test("apiCheck() says why an API cannot be reached, without the secrets of its address", async () => {
  const baseUrl = `http://user:hunter22@${CLOSED}/secret?key=hunter22`;
  const check = await apiCheck({ baseUrl, stop: NEVER });
  assertEquals(check.ok, false);
  assertEquals(check.detail, `Cannot reach http://${CLOSED}: Connection refused`);
  assertStringIncludes(check.suggestion ?? "", "--offline");
  assertEquals(JSON.stringify(check).includes("hunter22"), false);
});

Deno.test("apiCheck() does not take what is no URL of the web, and does not repeat it", async () => {
  for (const baseUrl of ["sk-ant-secret", "ftp://sk-ant-secret/", "sk-ant-secret:443"]) {
    const check = await apiCheck({ baseUrl, stop: NEVER });
    assertEquals(check.ok, false);
    assertStringIncludes(check.detail, "ANTHROPIC_BASE_URL is no URL of the web");
    assertEquals(JSON.stringify(check).includes("sk-ant-secret"), false);
  }
});

Deno.test("apiCheck() ends when the program is asked to stop", async () => {
  const stop = new AbortController();
  const answered = Promise.withResolvers<Response>();
  await using server = serve(() => {
    stop.abort();
    return answered.promise;
  });
  const baseUrl = `http://${server.host}`;
  const { ok, skipped, detail } = await apiCheck({ baseUrl, stop: stop.signal });
  answered.resolve(new Response());
  assertEquals([ok, skipped, detail], [true, true, "interrupted"]);
});
