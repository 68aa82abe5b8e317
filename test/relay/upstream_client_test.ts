import { assertEquals, assertRejects } from "@std/assert";
import { startHttpsProxy } from "../../fixtures/api/https_proxy.ts";
import { proxyFor, upstreamClient } from "../../src/relay/upstream_client.ts";

Deno.test("proxyFor() heeds the variables as Claude Code does", () => {
  const api = new URL("https://api.example.com/x");
  const P = "http://proxy:1";
  for (
    const [env, proxy] of [
      [{}, undefined],
      [{ HTTPS_PROXY: P }, P],
      [{ HTTP_PROXY: P }, P],
      [{ HTTPS_PROXY: "http://other:1", https_proxy: P }, P],
      [{ HTTPS_PROXY: "" }, undefined],
      [{ HTTPS_PROXY: P, NO_PROXY: "*" }, undefined],
      [{ HTTPS_PROXY: P, NO_PROXY: "a.b, api.example.com" }, undefined],
      [{ HTTPS_PROXY: P, NO_PROXY: ".example.com" }, undefined],
      [{ HTTPS_PROXY: P, NO_PROXY: "EXAMPLE.com:443" }, undefined],
      [{ HTTPS_PROXY: P, NO_PROXY: "example.com:8443" }, P],
      [{ HTTPS_PROXY: P, NO_PROXY: "ample.com" }, P],
      [{ HTTPS_PROXY: P, NO_PROXY: "*", no_proxy: "localhost" }, P],
    ] as const
  ) {
    assertEquals(proxyFor(api, env), proxy, JSON.stringify(env));
  }
});

Deno.test("an upstream is reached through the proxy, and only if its certificate is known", async () => {
  const hosts = ["api.example"];
  await using proxy = startHttpsProxy({ hosts, answer: () => new Response("there") });
  const upstream = new URL("https://api.example");
  const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: "/ca.pem" };
  const read = (path: string) => path === "/ca.pem" ? proxy.certificate : undefined;
  using known = upstreamClient(upstream, { env, read });
  assertEquals(await (await fetch(upstream, { client: known })).text(), "there");
  using unknown = upstreamClient(upstream, { env, read: () => undefined });
  await assertRejects(() => fetch(upstream, { client: unknown }), TypeError);
  assertEquals(proxy.tunnels, ["api.example:443", "api.example:443"]);
});

Deno.test("a proxy is told who asks, if its address says so", async () => {
  const heads: (string | null)[] = [];
  await using proxy = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      heads.push(headers.get("proxy-authorization"));
      return new Response("there");
    },
  );
  const env = { HTTP_PROXY: `http://me:p%40ss@127.0.0.1:${proxy.addr.port}` };
  const upstream = new URL("http://api.example");
  using client = upstreamClient(upstream, { env, read: () => undefined });
  assertEquals(await (await fetch(upstream, { client })).text(), "there");
  assertEquals(heads, [`Basic ${btoa("me:p@ss")}`]);
});
