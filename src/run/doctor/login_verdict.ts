import { type Login, noLoginError } from "../../sandbox/child/login.ts";
import { type Check, failedCheck } from "./check.ts";
import { durationInWords } from "./in_words.ts";
import type { UserSetup } from "./read_user_setup.ts";

/**
 * Says whether Claude Code can log in, and until when; whether a key or a token is still good only the API knows.
 *
 * @param now milliseconds since the epoch
 */
export function loginVerdict(
  { login, userConfig }: Pick<UserSetup, "login" | "userConfig">,
  now: number,
): Check {
  const name = "login";
  if (login === undefined) return failedCheck(name, noLoginError(userConfig));
  switch (login.kind) {
    case "variable":
      return { name, ok: true, detail: `${login.name} is set`, data: { source: login.name } };
    case "helper":
      return {
        name,
        ok: true,
        detail: "the apiKeyHelper of the settings gives the key",
        data: { source: "apiKeyHelper" },
      };
    case "key":
      return { name, ok: true, detail: "an API key is stored", data: { source: "stored key" } };
    case "stored":
      return storedLoginVerdict(login, now);
    default:
      return login satisfies never;
  }
}

function storedLoginVerdict(login: Extract<Login, { kind: "stored" }>, now: number): Check {
  const name = "login";
  const { subscription, expiresAt, refreshable, refreshableUntil } = login;
  const data = {
    source: "claude /login",
    subscription: subscription ?? null,
    expires_at: time(expiresAt),
    refreshable,
    refreshable_until: time(refreshableUntil),
  };
  const what = subscription === undefined ? "stored" : `${subscription} subscription`;
  if (expiresAt === undefined) return { name, ok: true, detail: what, data };
  if (expiresAt > now) {
    const detail = `${what}, expires in ${durationInWords(expiresAt - now)}`;
    return { name, ok: true, detail, data };
  }
  if (refreshable && (refreshableUntil === undefined || refreshableUntil > now)) {
    const detail = `${what}, expired: Claude Code refreshes it in the next run`;
    return { name, ok: true, detail, data };
  }
  return {
    name,
    ok: false,
    detail: `Cannot log in to Claude: the login expired ${durationInWords(now - expiresAt)} ago`,
    suggestion: "Run: claude /login",
    data,
  };
}

/** ISO 8601, as far as dates go. */
function time(ms: number | undefined): string | null {
  return ms === undefined || Number.isNaN(new Date(ms).getTime())
    ? null
    : new Date(ms).toISOString();
}
