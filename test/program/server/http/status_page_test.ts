import { assert, assertEquals, assertMatch } from "@std/assert";
import { PAGE, PAGE_HEADERS } from "../../../../src/server/http/status_page.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { lackOfBrowser, openPage } from "./browser.ts";

const HOSTILE =
  `<img src=x onerror="document.title='owned'"><script>document.title="owned"</script>`;
const TOKEN = "a-word";

/** A server of the page whose conversations say what they like. */
function scene() {
  const conversations: Record<string, unknown>[] = [{
    id: HOSTILE,
    state: "waiting",
    waiting: { for: "permission", cause: HOSTILE },
    since: new Date().toISOString(),
    turns: 3,
    total_cost_usd: 0.25,
    cwd: HOSTILE,
  }];
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    if (request.headers.get("authorization") !== `Basic ${btoa(`any:${TOKEN}`)}`) {
      return new Response("", {
        status: 401,
        headers: { "www-authenticate": 'Basic realm="claude-print"' },
      });
    }
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    if (pathname === "/") return new Response(PAGE, { headers: PAGE_HEADERS });
    if (pathname === "/v1/conversations") return Response.json({ conversations });
    return new Response(`screen of\n${decodeURIComponent(pathname)}`);
  });
  return { conversations, asked, server, origin: `127.0.0.1:${server.addr.port}` };
}

Deno.test("the page loads nothing from elsewhere", () => {
  assertEquals([...PAGE.matchAll(/\b(?:src|href)=["'][^"']*/gu)].map(([all]) => all), [
    'href="data:,',
  ]);
  assertMatch(PAGE_HEADERS["content-security-policy"] ?? "", /^default-src 'none'; /u);
  assert(!/unsafe|\*/u.test(PAGE_HEADERS["content-security-policy"] ?? ""));
});

Deno.test(skipIfLacking(lackOfBrowser(), {
  name: "the page shows conversations and a screen as text",
  async fn() {
    const { conversations, server, origin } = scene();
    {
      await using page = await openPage(`http://any:${TOKEN}@${origin}/`);
      await page.until("document.querySelectorAll('tbody tr').length === 1");
      assertEquals(
        await page.evaluate(
          "[...document.querySelectorAll('tbody td')].map((td) => td.textContent).toSpliced(2, 1)",
        ),
        [HOSTILE, `waiting: ${HOSTILE}`, "3", "$0.2500", HOSTILE],
      );
      await page.evaluate("document.querySelector('tbody button').click()");
      await page.until("document.getElementById('screen').textContent.startsWith('screen of')");
      assertEquals(
        await page.evaluate("document.getElementById('screen').textContent"),
        `screen of\n/v1/conversations/${HOSTILE}/screen`,
      );
      assertEquals(await page.evaluate("document.querySelectorAll('img, td script').length"), 0);
      assertEquals(await page.evaluate("document.title"), "claude-print");
      const tries = [
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
      ];
      for (const attempt of tries) {
        const how =
          `(() => { try { ${attempt}; return "done" } catch (error) { return error.name } })()`;
        assert(await page.evaluate(how) !== "done", attempt);
      }
      // Neither is a form sent nor anything asked of another server.
      const foreign =
        `fetch("http://localhost:${server.addr.port}/").then(() => "done", () => "refused")`;
      assertEquals(await page.evaluate(foreign), "refused");
      conversations.length = 0;
      await page.until("document.querySelectorAll('tbody tr').length === 0");
      assertEquals(await page.evaluate("document.getElementById('one').hidden"), true);
    }
    await server.shutdown();
  },
}));

Deno.test(skipIfLacking(lackOfBrowser(), {
  name: "the page reports a lost server and recovers",
  async fn() {
    const { conversations, server, origin } = scene();
    conversations[0] = { id: "one", state: "idle" };
    const hostname = "127.0.0.1";
    const { port } = server.addr;
    {
      await using page = await openPage(`http://any:${TOKEN}@${origin}/#%zz`);
      await page.until("document.querySelectorAll('tbody tr').length === 1");
      await server.shutdown();
      await page.until("document.getElementById('problem').hidden === false");
      const again = Deno.serve(
        { hostname, port, onListen: () => {} },
        () => Response.json({ conversations: [] }),
      );
      await page.until("document.getElementById('problem').hidden === true");
      assertEquals(await page.evaluate("document.querySelectorAll('tbody tr').length"), 0);
      await again.shutdown();
    }
  },
}));
