import { createHash } from "node:crypto";
import { PAGE_SCRIPT } from "./page_script.ts";
import type { Route } from "./serve_http.ts";

const STYLE = `
:root { color-scheme: light dark; --bad: #a40019; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff9a9a; } }
* { box-sizing: border-box; }
body { background: Canvas; color: CanvasText; font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem;
  overflow-wrap: anywhere; padding: 1rem; }
h1 { font-size: 1.2rem; margin: 0 0 1rem; }
h2, h3 { font-size: 1rem; margin: 1rem 0 .5rem; }
ul { list-style: none; margin: 0; padding: 0; }
button, input, textarea { font: inherit; }
button { min-height: 2.75rem; padding: 0 1rem; }
input[type="text"], textarea { min-height: 2.75rem; width: 100%; }
#conversations button { background: none; border: 1px solid #8886; border-radius: .4rem; color: inherit; cursor: pointer;
  display: flex; flex-wrap: wrap; gap: 0 1rem; margin-bottom: .5rem; padding: .5rem 1rem; text-align: left; width: 100%; }
#conversations button[aria-pressed="true"] { background: #8883; }
#conversations .message { -webkit-box-orient: vertical; -webkit-line-clamp: 2; display: -webkit-box; flex-basis: 100%;
  opacity: .8; overflow: hidden; }
#last { white-space: pre-wrap; }
#question { border: 2px solid; border-radius: .4rem; margin: 1rem 0; padding: 0 1rem 1rem; }
#question button, #question input[type="text"] { margin: .5rem .5rem 0 0; }
fieldset { border: 0; margin: 0; padding: 0; }
label { display: block; padding: .4rem 0; }
pre { overflow: auto; white-space: pre-wrap; }
#screen { background: #111; color: #eee; font: 13px/1.3 monospace; padding: 1rem; white-space: pre; }
#problem, #refusal, #ending { color: var(--bad); }
[hidden] { display: none !important; }
`;

/**
 * The page at `/`: the conversations, and for one of them the last message, its question, and the screen. Its user can
 * send messages, answer and interrupt.
 *
 * It is one file that loads only from this server. Text of conversations is inserted as text; the trusted types of its
 * content security policy forbid any other way.
 */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>claude-print</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<h1>claude-print <span id="count"></span></h1>
<p id="problem" role="alert" hidden></p>
<p id="none" hidden>There are no conversations. Begin one: claude-print new</p>
<ul id="conversations"></ul>
<main id="one" hidden>
<h2 id="title"></h2>
<p id="ending" hidden></p>
<p id="last" hidden></p>
<form id="question" aria-live="polite" hidden></form>
<p id="refusal" role="alert" hidden></p>
<form id="send">
<textarea id="text" rows="3" placeholder="Message" aria-label="Message"></textarea>
<button>Send</button>
<button id="interrupt" type="button">Interrupt</button>
</form>
<pre id="screen" aria-label="Screen"></pre>
</main>
<noscript>This page needs JavaScript.</noscript>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${cspHash(PAGE_SCRIPT)}`,
    `style-src ${cspHash(STYLE)}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

function cspHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Serves the page. Only servers on TCP have this route, and it requires a token. */
export const PAGE_ROUTE: Route = {
  method: "GET",
  path: "/",
  handle: () => new Response(PAGE, { headers: PAGE_HEADERS }),
};
