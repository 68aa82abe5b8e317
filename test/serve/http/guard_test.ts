import { assertEquals } from "@std/assert";
import { guard } from "../../../src/serve/http/guard.ts";

const TOKEN = "0123456789abcdef";
const AT = "http://127.0.0.1:80";

const basic = (words: string) => ({ authorization: `Basic ${btoa(words)}` });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** What becomes of a request: 200 where nothing is refused. */
function status(
  { url = AT, hostname = "127.0.0.1", isOpen = false, method = "GET", ...headers }: Readonly<
    Record<string, unknown>
  >,
): number {
  const refuse = guard({ token: TOKEN, hostname: `${hostname}` });
  const request = new Request(`${url}/`, {
    method: `${method}`,
    headers: headers as Record<string, string>,
  });
  return refuse(request, { isOpen: isOpen === true })?.status ?? 200;
}

Deno.test("on TCP the token is asked for, and whoever asks for a page of the web has nothing", () => {
  const good = bearer(TOKEN);
  const rows: readonly (readonly [number, Readonly<Record<string, unknown>>])[] = [
    [200, good],
    [200, { authorization: `bearer  ${TOKEN}` }],
    [200, basic(`anybody:${TOKEN}`)],
    [401, {}],
    [401, bearer("")],
    [401, bearer(TOKEN.slice(1))],
    [401, bearer(`${TOKEN}0`)],
    [401, bearer(TOKEN.replace("0", "1"))],
    [401, basic(TOKEN.slice(0, -1))],
    [401, { authorization: "Basic %%%" }],
    [401, { authorization: TOKEN }],
    [200, { isOpen: true }],
    // By another name a page of the web could reach this machine.
    [403, { ...good, url: "http://rebound.example:80" }],
    [403, { isOpen: true, url: "http://rebound.example:80" }],
    [200, { ...good, url: "http://localhost:80" }],
    [200, { ...good, url: "http://192.0.2.1:80", hostname: "0.0.0.0" }],
    [403, { ...good, origin: "http://evil.example" }],
    [403, { ...good, origin: "null" }],
    [403, { ...good, origin: "http://127.0.0.1:81" }],
    [200, { ...good, origin: "http://127.0.0.1" }],
    [403, { ...good, "sec-fetch-site": "cross-site" }],
    [403, {
      ...good,
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      method: "POST",
    }],
    [200, { ...good, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }],
    [200, { ...good, "sec-fetch-site": "same-origin" }],
  ];
  for (const [expected, asked] of rows) {
    assertEquals(status(asked), expected, JSON.stringify(asked));
  }
});
