import { assert, assertEquals, assertMatch } from "@std/assert";
import { PAGE, PAGE_HEADERS } from "../../../src/server/http/status_page.ts";
import { StandIn } from "../../program/stand_in.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { socketClient } from "../../program/server/http/socket_client.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { lackOfBrowser, openPage } from "./browser.ts";

const HOSTILE =
  `<img src=x onerror="document.title='owned'"><script>document.title="owned"</script>\u202e`;
/** The same as the page shows it. */
const SHOWN = HOSTILE.replace("\u202e", "<U+202E>");
const TOKEN = "a-word";

const text = (selector: string) =>
  `document.querySelector(${JSON.stringify(selector)})?.textContent`;
const click = (selector: string) => `document.querySelector(${JSON.stringify(selector)}).click()`;
const isHidden = (id: string) => `document.getElementById(${JSON.stringify(id)}).hidden`;
const button = (words: string) =>
  `[...document.querySelectorAll("#question button")].find((each) => each.textContent === "${words}")`;

/** A server of the page whose conversations say what they like. */
function scene() {
  const conversations: Record<string, unknown>[] = [{
    id: HOSTILE,
    state: "waiting",
    waiting: { for: "permission", request_id: "1", cause: HOSTILE, input: { command: HOSTILE } },
    since: new Date().toISOString(),
    model: HOSTILE,
    turns: 3,
    total_cost_usd: 0.25,
    last_message: HOSTILE,
    cwd: HOSTILE,
  }];
  const asked: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (request.headers.get("authorization") !== `Basic ${btoa(`any:${TOKEN}`)}`) {
        return new Response("", {
          status: 401,
          headers: { "www-authenticate": 'Basic realm="claude-print"' },
        });
      }
      const { pathname } = new URL(request.url);
      if (pathname === "/") return new Response(PAGE, { headers: PAGE_HEADERS });
      if (pathname === "/v1/conversations") return Response.json({ conversations });
      if (request.method === "POST") {
        asked.push(`${pathname.split("/").at(-1)} ${await request.text()}`);
        return Response.json({ detail: HOSTILE, suggestion: "Wait" }, { status: 409 });
      }
      return new Response(`screen of\n${decodeURIComponent(pathname)}`);
    },
  );
  return { conversations, asked, server, origin: `127.0.0.1:${server.addr.port}` };
}

Deno.test(skipIfLacking(lackOfBrowser(), {
  name: "the page shows hostile texts as text",
  async fn() {
    const { conversations, asked, server, origin } = scene();
    {
      await using page = await openPage(`http://any:${TOKEN}@${origin}/`);
      await page.until("document.querySelectorAll('#conversations li').length === 1");
      const fields = ["state", "model", "cost", "turns", "cwd", "message"];
      assertEquals(
        await Promise.all(fields.map((name) => page.evaluate(text(`#conversations .${name}`)))),
        ["waiting: permission", SHOWN, "$0.2500", "3 turns", SHOWN, SHOWN],
      );
      await page.evaluate(click("#conversations button"));
      await page.until(`${text("#screen")}.startsWith('screen of')`);
      assertEquals(
        [await page.evaluate(text("#screen")), await page.evaluate(text("#last"))],
        [`screen of\n/v1/conversations/${SHOWN}/screen`, SHOWN],
      );
      const input = JSON.stringify({ command: SHOWN }, null, 2);
      assertEquals(await page.evaluate(text("#question pre")), input);
      assertEquals(
        await page.evaluate(text("#question h3")),
        `The model needs your permission: ${SHOWN}`,
      );
      // A refused answer can be given again.
      await page.until(`!${button("Allow")}.disabled`);
      await page.evaluate(`${button("Allow")}.click()`);
      await page.until(`!${isHidden("refusal")}`);
      assertEquals(await page.evaluate(text("#refusal")), `${SHOWN}. Wait`);
      assertEquals(asked, ['answers {"request_id":"1","behavior":"allow"}']);
      await page.until(`!${button("Allow")}.disabled`);
      // Another question cannot be answered by a click that was meant for this one.
      const { waiting } = conversations[0] as { waiting: object };
      conversations[0] = {
        ...conversations[0],
        waiting: { ...waiting, request_id: "2", cause: "Other" },
      };
      await page.evaluate(`globalThis.wasEnabled = new Promise((done) =>
        new MutationObserver(() => done(!${button("Allow")}.disabled))
          .observe(document.getElementById("question"), { childList: true }))`);
      assertEquals(await page.evaluate("wasEnabled"), false);

      assertEquals(await page.evaluate("document.querySelectorAll('img, main script').length"), 0);
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
      await page.until(isHidden("one"));
      assertEquals(await page.evaluate(isHidden("none")), false);
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
      await page.until("document.querySelectorAll('#conversations li').length === 1");
      await server.shutdown();
      await page.until(`!${isHidden("problem")}`);
      const again = Deno.serve(
        { hostname, port, onListen: () => {} },
        () => Response.json({ conversations: [] }),
      );
      await page.until(isHidden("problem"));
      assertEquals(await page.evaluate("document.querySelectorAll('#conversations li').length"), 0);
      await again.shutdown();
    }
  },
}));

const ASKING = {
  name: "AskUserQuestion",
  input: {
    questions: [{
      question: "Which <b>colour</b>?",
      options: [{ label: "Red" }, { label: "Blue" }],
    }],
  },
  result: "answered",
  asks: true,
};
const EDITING = {
  name: "Edit",
  input: { file_path: "a".repeat(300) },
  result: "edited",
  asks: true,
};
const SLEEPING = { name: "Bash", input: { command: "sleep 600" } };

/** A server with a conversation in it, and a browser's way to its page. */
async function held(turns: Parameters<typeof StandIn.set>[0]) {
  const claude = await StandIn.set(turns);
  const { env, project: cwd } = claude.home;
  let said = "";
  const args = ["--warm", "0", "--port", "0"];
  const server = await serve({ args, env, cwd, onStdout: (text) => said = text });
  const [, origin = "", tokenFile = ""] = /^http:\/\/(\S+) \(its token: (.+)\)$/mu.exec(said) ?? [];
  const token = (await Deno.readTextFile(tokenFile)).trim();
  const client = socketClient(server.httpSocket);
  const profile = { args: ["--claude-binary", claude.binary] };
  const { body: { id } } = await client.ask("POST", "/v1/conversations", { profile });
  return {
    ...{ claude, id, origin, ask: client.ask },
    path: `/v1/conversations/${id}`,
    url: `http://any:${token}@${origin}/`,
    [Symbol.asyncDispose]: async () => {
      client[Symbol.dispose]();
      // Turns that never end are ended, too.
      server.kill("SIGQUIT");
      await server.ended;
      await server[Symbol.asyncDispose]();
      await claude[Symbol.asyncDispose]();
    },
  };
}

/** Lightness of a colour from 0 to 1, as `rgb(…)`. */
const LIGHTNESS = (property: string) =>
  `getComputedStyle(document.body).${property}.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + part / 765, 0)`;

Deno.test(skipIfLacking(lackOfBrowser(), {
  name: "a phone holds a conversation on the page",
  async fn() {
    await using there = await held({
      turns: [
        [{ text: "You said {prompt}" }],
        [
          { text: "I ask.", tools: [ASKING] },
          { tools: [EDITING] },
          { tools: [EDITING] },
          { text: "Done." },
        ],
        [{ tools: [SLEEPING] }],
      ],
    });
    const { claude, id, ask, path } = there;
    await using page = await openPage(`${there.url}#${id}`);
    await page.emulate(360);
    await page.until(`${text("#title")} === "${id}"`);
    const send = (message: string) =>
      page.evaluate(`document.getElementById("text").value = ${JSON.stringify(message)};
        document.getElementById("send").requestSubmit()`);
    const lastMessage = (message: string) =>
      page.until(`${text("#last")} === ${JSON.stringify(message)}`);
    const act = async (words: string) => {
      await page.until(`${button(words)}?.disabled === false`);
      await page.evaluate(`${button(words)}.click()`);
    };
    await send("<b>one</b>");
    await lastMessage("You said <b>one</b>");
    await page.until(`document.getElementById("text").value === ""`);
    assertMatch(`${await page.evaluate(text(".cost"))}`, /^\$0\.00\d\d$/u);
    assertMatch(`${await page.evaluate(text(".model"))}`, /^claude-/u);

    await send("two");
    await page.until(`!${isHidden("question")}`);
    assertEquals(await page.evaluate(text("#question legend")), "Which <b>colour</b>?");
    await act("Answer");
    assertEquals(await page.evaluate(text("#refusal")), "Answer each question first");
    await page.evaluate(click("#question label:nth-of-type(2) input"));
    await act("Answer");
    await page.until(`${text("#question h3")}?.includes("permission")`);
    // Everything is within the phone's width, and is light on dark.
    assertEquals(await page.evaluate("document.documentElement.scrollWidth"), 360);
    assert(Number(await page.evaluate(LIGHTNESS("backgroundColor"))) < 0.2);
    assert(Number(await page.evaluate(LIGHTNESS("color"))) > 0.8);
    const small = `[...document.querySelectorAll("button")].filter((each) =>
      each.offsetParent !== null && each.offsetHeight < 44).length`;
    assertEquals(await page.evaluate(small), 0);
    await act("Allow");
    await page.until(`${button("Deny")}?.disabled === true`);
    await page.until(`${button("Deny")}?.disabled === false`);
    await page.evaluate(`document.querySelector("#question input").value = "not now"`);
    await act("Deny");
    await lastMessage("Done.");
    await page.until(isHidden("question"));
    await send("three");
    await claude.untilNoted("tool");
    await page.until(`!document.getElementById("interrupt").disabled`);
    await page.evaluate(click("#interrupt"));
    await page.until(`${text(".state")} === "idle"`);
    assertEquals(await page.evaluate(text(".turns")), "3 turns");
    await ask("DELETE", path);
    await page.until(isHidden("one"));
  },
}));

Deno.test(skipIfLacking(lackOfBrowser(), {
  name: "a page of another origin reaches no server",
  async fn() {
    await using there = await held({ hang: "stream", turns: [[{ text: "Never said." }]] });
    const { origin, ask, path } = there;
    await ask("POST", `${path}/messages`, { content: "hi" });
    const html = { headers: { "content-type": "text/html" } };
    const evil = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("<!doctype html><title>evil</title>", html),
    );
    {
      // The browser knows the token: it has shown the page.
      await using page = await openPage(there.url);
      await page.until("document.querySelectorAll('#conversations li').length === 1");
      await page.evaluate(`location.href = "http://127.0.0.1:${evil.addr.port}/"`);
      await page.until("document.title === 'evil'");
      const one = `http://${origin}${path}`;
      const tries = [
        [`${one}/interrupt`, `{ method: "POST" }`],
        [`${one}/messages`, `{ method: "POST", body: JSON.stringify({ content: "evil" }) }`],
        [
          `${one}/answers`,
          `{ method: "POST", headers: { "content-type": "application/json" }, body: "{}" }`,
        ],
        [
          `${one}/keys`,
          `{ method: "POST", body: new Blob(["x"], { type: "application/octet-stream" }) }`,
        ],
        [one, `{ method: "DELETE" }`],
        [`http://${origin}/v1/server`, `{ method: "DELETE" }`],
        [`http://${origin}/v1/conversations`, `{}`],
      ];
      for (const [url, init] of tries) {
        for (const mode of ["cors", "no-cors"]) {
          const options = `{ ...${init}, mode: "${mode}", credentials: "include" }`;
          const how =
            `fetch("${url}", ${options}).then(({ type, status }) => type + status, () => "refused")`;
          assert(["refused", "opaque0"].includes(`${await page.evaluate(how)}`), `${mode} ${url}`);
        }
      }
      // A form needs no script to be sent.
      await page.evaluate(`document.body.innerHTML =
        '<form method="post" action="${one}/interrupt"></form><iframe src="http://${origin}/"></iframe>';
        document.forms[0].submit()`);
      await page.until(`location.href.endsWith("/interrupt")`);
      assertMatch(
        `${await page.evaluate("document.body.textContent")}`,
        /Cannot answer a page of the web/u,
      );
    }
    const { body } = await ask("GET", path);
    assertEquals([body.state, body.unanswered], ["working", 1]);
    assertEquals((await ask("GET", "/v1/server")).body.state, "running");
    await evil.shutdown();
  },
}));
