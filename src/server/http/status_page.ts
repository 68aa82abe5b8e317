import { createHash } from "node:crypto";
import type { Route } from "./serve_http.ts";

/** Fetches the conversations every second and the chosen one's screen twice a second, while the page is visible. */
const PAGE_SCRIPT = String.raw`
"use strict";
const byId = (id) => document.getElementById(id);
const LIST_MS = 1000;
const SCREEN_MS = 500;
const idInAddress = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
let chosen = idInAddress();

/* An absolute URL: the address of the page may have a user name, with which fetch refuses a relative one. */
const get = async (path) => {
  const answer = await fetch(new URL(path, location.origin), { cache: "no-store" });
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw new Error("The server answers " + answer.status);
  return answer;
};

const showProblem = (problem) => {
  byId("problem").textContent = problem;
  byId("problem").hidden = problem === "";
};

const elapsedTime = (since) => {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  return Math.floor(seconds / 3600) + " h";
};

const costOf = (cost) => typeof cost === "number" ? "$" + cost.toFixed(4) : "";

const stateOf = ({ state, waiting }) => waiting ? state + ": " + waiting.cause : state;

const cell = (row, at, text) => {
  const cells = row.children;
  if (cells.length <= at) {
    const added = document.createElement("td");
    if (at === 3 || at === 4) added.className = "number";
    row.append(added);
  }
  if (at > 0 && cells[at].textContent !== text) cells[at].textContent = text;
  return cells[at];
};

const rowOf = (id) => {
  const existing = [...byId("conversations").children].find((row) => row.dataset.id === id);
  if (existing) return existing;
  const row = document.createElement("tr");
  row.dataset.id = id;
  row.tabIndex = -1;
  const button = document.createElement("button");
  button.textContent = id;
  cell(row, 0, "").append(button);
  row.addEventListener("click", () => choose(id));
  byId("conversations").append(row);
  return row;
};

const choose = (id) => {
  chosen = id;
  history.replaceState(null, "", "#" + encodeURIComponent(id));
  byId("screen").textContent = "";
  for (const row of byId("conversations").children) {
    row.setAttribute("aria-selected", String(row.dataset.id === id));
  }
  updateScreen();
};

const showList = (conversations) => {
  byId("count").textContent = "(" + conversations.length + ")";
  const ids = new Set(conversations.map(({ id }) => id));
  for (const row of [...byId("conversations").children]) {
    if (!ids.has(row.dataset.id)) row.remove();
  }
  for (const conversation of conversations) {
    const row = rowOf(conversation.id);
    row.setAttribute("aria-selected", String(conversation.id === chosen));
    cell(row, 1, stateOf(conversation));
    cell(row, 2, elapsedTime(conversation.since));
    cell(row, 3, String(conversation.turns ?? ""));
    cell(row, 4, costOf(conversation.total_cost_usd));
    cell(row, 5, conversation.cwd ?? "");
  }
  byId("one").hidden = !ids.has(chosen);
  byId("title").textContent = chosen;
};

const updateScreen = async () => {
  if (chosen === "" || document.hidden) return;
  const id = chosen;
  const answer = await get("/v1/conversations/" + encodeURIComponent(id) + "/screen");
  const text = await answer?.text() ?? "";
  if (id === chosen && byId("screen").textContent !== text) byId("screen").textContent = text;
};

const updateList = async () => {
  if (document.hidden) return;
  const answer = await get("/v1/conversations");
  showList((await answer.json()).conversations);
};

const repeat = async (action, ms) => {
  try {
    await action();
    if (action === updateList) showProblem("");
  } catch (error) {
    showProblem(String(error.message));
  }
  setTimeout(repeat, ms, action, ms);
};

addEventListener("hashchange", () => choose(idInAddress()));
repeat(updateList, LIST_MS);
repeat(updateScreen, SCREEN_MS);
`;

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
 * The page at `/`: the conversations, their state and cost, and the screen of one of them.
 *
 * It is one file that loads only from this server. Text of conversations is inserted as text; the trusted types of its
 * content security policy forbid anything else.
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

/** Serves the page. Only servers on TCP have this route, where a token is required. */
export const PAGE_ROUTE: Route = {
  method: "GET",
  path: "/",
  handle: () => new Response(PAGE, { headers: PAGE_HEADERS }),
};
