import { assertEquals, assertStringIncludes } from "@std/assert";
import { loginVerdict } from "../../src/doctor/login_verdict.ts";
import type { Login } from "../../src/sandbox/child/login.ts";

const NOW = Date.UTC(2026, 10, 22);
const HOUR = 3_600_000;

const verdict = (login: Login | undefined) =>
  loginVerdict({
    login,
    userConfig: { dir: "/config", claudeJson: "/config/.claude.json", loginDir: "/login" },
  }, NOW);

function stored(login: Partial<Extract<Login, { kind: "stored" }>>): Login {
  return {
    kind: "stored",
    subscription: "max",
    expiresAt: NOW + 3 * HOUR,
    refreshable: true,
    refreshableUntil: undefined,
    ...login,
  };
}

Deno.test("loginVerdict() says when a stored login expires", () => {
  const { ok, detail, data } = verdict(stored({}));
  assertEquals([ok, detail], [true, "max subscription, expires in 3 h"]);
  assertEquals(data, {
    source: "claude /login",
    subscription: "max",
    expires_at: "2026-11-22T03:00:00.000Z",
    refreshable: true,
    refreshable_until: null,
  });
});

Deno.test("loginVerdict() takes an expired login that Claude Code refreshes", () => {
  for (const refreshableUntil of [undefined, NOW + 1]) {
    const { ok, detail } = verdict(stored({ expiresAt: NOW - 1, refreshableUntil }));
    assertEquals(ok, true);
    assertEquals(detail, "max subscription, expired: Claude Code refreshes it in the next run");
  }
});

Deno.test("loginVerdict() does not take an expired login that cannot be refreshed", () => {
  for (const login of [{ refreshable: false }, { refreshableUntil: NOW - HOUR }]) {
    const { ok, detail, suggestion } = verdict(stored({ ...login, expiresAt: NOW - 50 * HOUR }));
    assertEquals(ok, false);
    assertEquals(detail, "Cannot log in to Claude: the login expired 2 days ago");
    assertEquals(suggestion, "Run: claude /login");
  }
});

Deno.test("loginVerdict() takes a stored login that does not say when it expires", () => {
  const { ok, detail, data } = verdict(stored({ subscription: undefined, expiresAt: undefined }));
  assertEquals([ok, detail, data["expires_at"]], [true, "stored", null]);
});

Deno.test("loginVerdict() takes a login without a date on any calendar", () => {
  const { ok, data } = verdict(stored({ expiresAt: Number.MAX_VALUE }));
  assertEquals([ok, data["expires_at"]], [true, null]);
});

Deno.test("loginVerdict() names where another login comes from", () => {
  const sources: readonly (readonly [Login, string])[] = [
    [{ kind: "variable", name: "ANTHROPIC_API_KEY" }, "ANTHROPIC_API_KEY"],
    [{ kind: "helper" }, "apiKeyHelper"],
    [{ kind: "key" }, "stored key"],
  ];
  for (const [login, source] of sources) {
    const { ok, data } = verdict(login);
    assertEquals([ok, data], [true, { source }]);
  }
});

Deno.test("loginVerdict() without a login says how to log in, as a run would", () => {
  const { ok, detail, suggestion } = verdict(undefined);
  assertEquals([ok, detail], [false, "Cannot log in to Claude: there is no login in /login"]);
  assertStringIncludes(suggestion ?? "", "claude /login");
});
