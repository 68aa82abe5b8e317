import { createHash } from "node:crypto";
import { PAGE_SCRIPT } from "./page_script.ts";

const STYLE = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.2rem; margin: 0 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8886; }
th { font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr { cursor: pointer; }
tbody tr[aria-selected="true"], tbody tr:hover { background: #8883; }
button { font: inherit; background: none; border: 0; padding: 0; color: LinkText; cursor: pointer; }
#screen { background: #111; color: #eee; padding: 1rem; overflow: auto; font: 13px/1.3 monospace; }
#problem { color: #c33; }
[hidden] { display: none; }
`;

/**
 * The page at `/`: the conversations, their state, their cost and the screen of one of them.
 *
 * It is one file that asks for nothing but what this server answers. Whatever a conversation says is put into it as
 * text, and a browser that knows trusted types does not even let its script do otherwise.
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
<table>
<thead><tr><th>Conversation</th><th>State</th><th>For</th><th class="number">Turns</th><th class="number">Cost</th><th>Folder</th></tr></thead>
<tbody id="conversations"></tbody>
</table>
<section id="one" hidden>
<h2 id="title"></h2>
<pre id="screen" aria-label="Screen"></pre>
</section>
<noscript>This page needs JavaScript.</noscript>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;

/** What the page is sent with: what it may load, run, and be put into. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${hashOf(PAGE_SCRIPT)}`,
    `style-src ${hashOf(STYLE)}`,
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

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
