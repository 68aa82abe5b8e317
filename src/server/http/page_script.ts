import { invisibleCharacters } from "../../recording/redaction/visible_text.ts";

/**
 * The script of the page at `/`. It fetches the conversations every second and the chosen one's screen twice a second,
 * while the page is visible.
 *
 * Texts of conversations are hostile. They become text nodes, and their invisible characters are named, so that none
 * can hide a part of a question. A button answers the question that was shown with it, and only some time after the
 * question was shown, because another question may appear just before a click.
 */
export const PAGE_SCRIPT: string = String.raw`
"use strict";
const LIST_MS = 1000;
const SCREEN_MS = 500;
const GUARD_MS = 700;
/* Claude Code reports a dialog around each question, too. */
const DIALOG_MS = 3000;
const INVISIBLE = new RegExp(${JSON.stringify(invisibleCharacters().source)}, "gu");

const byId = (id) => document.getElementById(id);
const idInAddress = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
let chosen = idInAddress();
let conversations = [];

const visible = (text) => String(text).replace(INVISIBLE, (character) =>
  character === "\n" || character === "\t" || character === "\u00a0"
    ? character
    : "<U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const listOf = (value) => Array.isArray(value) ? value : [];

const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

const showIn = (id, text) => {
  setText(byId(id), text);
  byId(id).hidden = text === "";
};

/* An absolute URL: the address of the page may have a user name, with which fetch refuses a relative one. */
const request = (path, options) =>
  fetch(new URL(path, location.origin), { cache: "no-store", ...options });

const get = async (path) => {
  const answer = await request(path);
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw new Error("The server answers " + answer.status);
  return answer;
};

const pathOf = (id) => "/v1/conversations/" + encodeURIComponent(id);

/* Returns whether the server has accepted it. */
const post = async (path, body) => {
  showIn("refusal", "");
  try {
    const answer = await request(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!answer.ok) {
      const { detail, suggestion = "" } = await answer.json();
      throw new Error(detail + ". " + suggestion);
    }
    updateList().catch(() => {});
    return true;
  } catch (error) {
    showIn("refusal", visible(error.message));
    return false;
  }
};

const elapsedTime = (since) => {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  return Math.floor(seconds / 3600) + " h";
};

const FIELDS = {
  state: ({ state, waiting }) => waiting ? state + ": " + waiting.for : state,
  since: ({ since }) => elapsedTime(since),
  model: ({ model }) => model ?? "",
  cost: ({ total_cost_usd: cost }) => typeof cost === "number" ? "$" + cost.toFixed(4) : "",
  turns: ({ turns }) => turns === 1 ? "1 turn" : (turns ?? 0) + " turns",
  cwd: ({ cwd }) => cwd ?? "",
  message: ({ last_message: message }) => message ?? "",
};

const rowOf = (id) => {
  const existing = [...byId("conversations").children].find((row) => row.dataset.id === id);
  if (existing) return existing;
  const button = element("button", { type: "button" }, element("b", { textContent: visible(id.slice(0, 8)) }));
  for (const name of Object.keys(FIELDS)) button.append(element("span", { className: name }));
  button.addEventListener("click", () => choose(id));
  const row = element("li", {}, button);
  row.dataset.id = id;
  byId("conversations").append(row);
  return row;
};

const choose = (id) => {
  chosen = id;
  history.replaceState(null, "", "#" + encodeURIComponent(id));
  showIn("refusal", "");
  byId("screen").textContent = "";
  showList();
  updateScreen().catch(() => {});
};

const showList = () => {
  byId("count").textContent = "(" + conversations.length + ")";
  byId("none").hidden = conversations.length > 0;
  const ids = new Set(conversations.map(({ id }) => id));
  for (const row of [...byId("conversations").children]) {
    if (!ids.has(row.dataset.id)) row.remove();
  }
  for (const conversation of conversations) {
    const row = rowOf(conversation.id);
    row.firstChild.setAttribute("aria-pressed", String(conversation.id === chosen));
    for (const [name, format] of Object.entries(FIELDS)) {
      setText(row.querySelector("." + name), visible(format(conversation)));
    }
  }
  showOne(conversations.find(({ id }) => id === chosen));
};

const showOne = (conversation) => {
  byId("one").hidden = conversation === undefined;
  if (conversation === undefined) return;
  const { id, state, last_message: message, problem, taken_over: isTakenOver } = conversation;
  const hasEnded = state === "ended" || state === "failed";
  setText(byId("title"), visible(id));
  showIn("last", visible(message ?? ""));
  showIn("ending", hasEnded ? visible(problem?.detail ?? "The conversation has ended") : "");
  byId("send").hidden = hasEnded;
  byId("interrupt").disabled = state !== "working" && state !== "waiting";
  showQuestion(conversation);
};

const showQuestion = ({ id, since, waiting }) => {
  const isNewDialog = waiting?.for === "dialog" && Date.now() - Date.parse(since) < DIALOG_MS;
  const shown = waiting === undefined || isNewDialog ? undefined : waiting;
  const key = shown === undefined ? "" : JSON.stringify([id, shown.request_id ?? shown.cause]);
  const form = byId("question");
  if (form.dataset.key === key) return;
  form.dataset.key = key;
  form.hidden = key === "";
  form.replaceChildren(...shown === undefined ? [] : questionParts(id, shown));
  enableAnswers(false);
  setTimeout(() => form.dataset.key === key && enableAnswers(true), GUARD_MS);
};

const enableAnswers = (isEnabled) => {
  for (const button of byId("question").querySelectorAll("button")) button.disabled = !isEnabled;
};

const questionParts = (id, waiting) => {
  const answer = async (body) => {
    enableAnswers(false);
    const isRefused = !await post(pathOf(id) + "/answers", { request_id: waiting.request_id, ...body });
    if (isRefused) enableAnswers(true);
  };
  const button = (textContent, act) => {
    const made = element("button", { type: "button", textContent });
    made.addEventListener("click", act);
    return made;
  };
  const heading = (text) => element("h3", { textContent: visible(text) });
  if (waiting.for === "dialog") {
    return [
      heading("Claude Code shows a dialog: " + waiting.cause),
      element("p", {
        textContent: "Answer it in its terminal: claude-print attach " + visible(id) + " --take-over",
      }),
    ];
  }
  if (waiting.for === "question") {
    const questions = listOf(waiting.input?.questions).map(questionPart);
    return [
      heading("The model asks"),
      ...questions.map(({ part }) => part),
      button("Answer", () => {
        const answers = questions.map(({ question, read }) => [question, read()]);
        if (answers.some(([, text]) => text === "")) showIn("refusal", "Answer each question first");
        else answer({ answers: Object.fromEntries(answers) });
      }),
    ];
  }
  const why = element("input", { type: "text", placeholder: "Why not (optional)", ariaLabel: "Why not" });
  return [
    heading("The model needs your permission: " + waiting.cause),
    element("pre", { textContent: visible(JSON.stringify(waiting.input, null, 2) ?? "") }),
    button("Allow", () => answer({ behavior: "allow" })),
    button("Deny", () =>
      answer({ behavior: "deny", ...why.value === "" ? {} : { message: why.value } })),
    why,
  ];
};

/* A question of the model, and what reads its answer: the chosen options, or a text instead. */
const questionPart = ({ question, multiSelect = false, ...more }, index) => {
  const options = listOf(more.options);
  const text = element("input", { type: "text", placeholder: "Another answer", ariaLabel: "Another answer" });
  const inputs = options.map(() =>
    element("input", { type: multiSelect ? "checkbox" : "radio", name: "question" + index })
  );
  const labels = options.map(({ label, description = "" }, at) =>
    element("label", {}, inputs[at], " " + visible(label + (description === "" ? "" : ": " + description)))
  );
  return {
    question,
    part: element("fieldset", {}, element("legend", { textContent: visible(question) }), ...labels, text),
    read: () =>
      text.value !== ""
        ? text.value
        : options.filter((_, at) => inputs[at].checked).map(({ label }) => label).join(", "),
  };
};

const updateScreen = async () => {
  if (chosen === "" || document.hidden) return;
  const id = chosen;
  const answer = await request(pathOf(id) + "/screen");
  const text = answer.ok ? visible(await answer.text()) : "";
  if (id === chosen) setText(byId("screen"), text);
};

const updateList = async () => {
  if (document.hidden) return;
  ({ conversations } = await (await get("/v1/conversations")).json());
  showList();
};

const repeat = async (action, ms) => {
  try {
    await action();
    if (action === updateList) showIn("problem", "");
  } catch (error) {
    showIn("problem", visible(error.message));
  }
  setTimeout(repeat, ms, action, ms);
};

byId("send").addEventListener("submit", async (event) => {
  event.preventDefault();
  const content = byId("text").value;
  const id = chosen;
  if (content.trim() !== "" && await post(pathOf(id) + "/messages", { content })) byId("text").value = "";
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("send").requestSubmit();
});
byId("interrupt").addEventListener("click", () => post(pathOf(chosen) + "/interrupt"));
byId("question").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => choose(idInAddress()));
repeat(updateList, LIST_MS);
repeat(updateScreen, SCREEN_MS);
`;
