import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { relayVariables, upstreamOf } from "../../../src/run/plan/upstream_of.ts";
import type { Settings } from "../../../src/sandbox/child/read_settings.ts";

const settings = (source: Settings["source"], env: object): Settings => ({
  source,
  values: { env: { ...env } },
});

Deno.test("upstreamOf() is what Claude Code would ask: settings win over the environment, later ones over earlier ones", () => {
  const url = (name: string) => ({ ANTHROPIC_BASE_URL: `https://${name}.example/x` });
  for (
    const [env, all, host, isFirstParty] of [
      [{}, [], "api.anthropic.com", true],
      [{ ANTHROPIC_BASE_URL: "" }, [], "api.anthropic.com", true],
      [{ ANTHROPIC_BASE_URL: "https://api.anthropic.com/" }, [], "api.anthropic.com", true],
      [url("a"), [], "a.example", false],
      [url("a"), [settings("user", url("b"))], "b.example", false],
      [{}, [settings("user", url("b")), settings("project", url("c"))], "c.example", false],
      [url("a"), [settings("user", { ANTHROPIC_BASE_URL: 1 })], "a.example", false],
      [{ CLAUDE_CODE_USE_BEDROCK: "0" }, [], "api.anthropic.com", true],
    ] as const
  ) {
    const upstream = upstreamOf({ env, settings: all, flag: "--exact-stream" });
    assertEquals([upstream.url.host, upstream.isFirstParty], [host, isFirstParty]);
  }
});

Deno.test("upstreamOf() refuses where nothing can be put between Claude Code and what it asks", () => {
  for (
    const [env, all, why] of [
      [{ CLAUDE_CODE_USE_BEDROCK: "1" }, [], "Amazon Bedrock"],
      [{}, [settings("user", { CLAUDE_CODE_USE_VERTEX: "true" })], "Google Vertex AI"],
      [{ ANTHROPIC_UNIX_SOCKET: "/s" }, [], "a Unix socket"],
      [{ CLAUDE_CODE_CLIENT_CERT: "/c" }, [], "with a certificate of its own"],
      [{ ANTHROPIC_BASE_URL: "ftp://x" }, [], "no URL of the web"],
      [{ ANTHROPIC_BASE_URL: "nonsense" }, [], "no URL of the web"],
      [{}, [settings("managed", { ANTHROPIC_BASE_URL: "https://x" })], "managed settings"],
    ] as const
  ) {
    const error = assertThrows(
      () => upstreamOf({ env, settings: all, flag: "--exact-stream" }),
      CliError,
      why,
    );
    assertEquals(error.message.split(":")[0], "Cannot honour --exact-stream");
  }
});

Deno.test("relayVariables() leave loopback out of proxies, and Anthropic's own API what it is", () => {
  const at = (env: Readonly<Record<string, string>>) =>
    relayVariables(
      upstreamOf({ env, settings: [], flag: "--exact-stream" }),
      "http://127.0.0.1:5/s",
    );
  assertEquals(at({ NO_PROXY: "a,b" }), {
    ANTHROPIC_BASE_URL: "http://127.0.0.1:5/s",
    NO_PROXY: "a,b,127.0.0.1",
    no_proxy: "a,b,127.0.0.1",
    _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1",
  });
  assertEquals(at({ ANTHROPIC_BASE_URL: "http://x", no_proxy: "c", NO_PROXY: "a" }), {
    ANTHROPIC_BASE_URL: "http://127.0.0.1:5/s",
    NO_PROXY: "c,127.0.0.1",
    no_proxy: "c,127.0.0.1",
  });
});
