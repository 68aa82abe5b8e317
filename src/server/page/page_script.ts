/**
 * What the page does: it asks for the conversations every second, and for the screen of the one that was chosen twice a
 * second, while somebody looks at it.
 */
export const PAGE_SCRIPT = String.raw`
"use strict";
const byId = (id) => document.getElementById(id);
const LIST_MS = 1000;
const SCREEN_MS = 500;
const named = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
let chosen = named();

/* Not relative: what stands before the host in the address of the page is no part of it. */
const ask = async (path) => {
  const answer = await fetch(new URL(path, location.origin), { cache: "no-store" });
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw new Error("The server answers " + answer.status);
  return answer;
};

const told = (problem) => {
  byId("problem").textContent = problem;
  byId("problem").hidden = problem === "";
};

const forHowLong = (since) => {
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
    const made = document.createElement("td");
    if (at === 3 || at === 4) made.className = "number";
    row.append(made);
  }
  if (at > 0 && cells[at].textContent !== text) cells[at].textContent = text;
  return cells[at];
};

const rowOf = (id) => {
  const there = [...byId("conversations").children].find((row) => row.dataset.id === id);
  if (there) return there;
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
  look();
};

const show = (conversations) => {
  byId("count").textContent = "(" + conversations.length + ")";
  const ids = new Set(conversations.map(({ id }) => id));
  for (const row of [...byId("conversations").children]) {
    if (!ids.has(row.dataset.id)) row.remove();
  }
  for (const one of conversations) {
    const row = rowOf(one.id);
    row.setAttribute("aria-selected", String(one.id === chosen));
    cell(row, 1, stateOf(one));
    cell(row, 2, forHowLong(one.since));
    cell(row, 3, String(one.turns ?? ""));
    cell(row, 4, costOf(one.total_cost_usd));
    cell(row, 5, one.cwd ?? "");
  }
  byId("one").hidden = !ids.has(chosen);
  byId("title").textContent = chosen;
};

const look = async () => {
  if (chosen === "" || document.hidden) return;
  const id = chosen;
  const answer = await ask("/v1/conversations/" + encodeURIComponent(id) + "/screen");
  const text = await answer?.text() ?? "";
  if (id === chosen && byId("screen").textContent !== text) byId("screen").textContent = text;
};

const list = async () => {
  if (document.hidden) return;
  const answer = await ask("/v1/conversations");
  show((await answer.json()).conversations);
};

const again = async (what, ms) => {
  try {
    await what();
    if (what === list) told("");
  } catch (error) {
    told(String(error.message));
  }
  setTimeout(again, ms, what, ms);
};

addEventListener("hashchange", () => choose(named()));
again(list, LIST_MS);
again(look, SCREEN_MS);
`;
