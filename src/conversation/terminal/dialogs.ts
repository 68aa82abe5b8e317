/** The response of this program to a dialog. */
export type DialogAnswer =
  /** Moves the caret to the only choice whose text matches, and then presses Enter. */
  | { readonly kind: "choose"; readonly choice: RegExp }
  /** Presses a key that has the same meaning at every position of the caret. */
  | { readonly kind: "press"; readonly key: string }
  /** Chooses "No" and enters this text as the reason. Then the turn continues, while Escape would stop it (2.1.330). */
  | { readonly kind: "decline"; readonly words: string }
  /** Gives no answer: the run ends, and the error names a remedy. */
  | { readonly kind: "none"; readonly remedy: string };

/** A screen that waits for a choice, and the response of this program. */
export interface Dialog {
  readonly name: string;
  /**
   * Whether it appears at the start, when the child has no status, or later. The text of an assistant or a prompt is
   * only on later screens, so a later dialog is answered with Enter only if `alone` is set.
   */
  readonly when: "start" | "later";
  /** Pieces of its text, without white space. All must be between the rule above it and the screen's end. */
  readonly words: readonly string[];
  /** Choices that must all be in the list with the caret. */
  readonly offers: readonly RegExp[];
  /** The end of the screen, without white space, if the dialog has no list. */
  readonly end?: string;
  readonly answer: DialogAnswer;
  /**
   * Set if the answer includes Enter. The answer is given only while a single call is open; otherwise Escape is
   * pressed. The dialog of another call may appear between the look and the key, and Enter could allow that call.
   */
  readonly alone?: true;
  /** How long the dialog must have been visible before it is answered, in milliseconds; absent for no wait. */
  readonly patienceMs?: number;
  /**
   * Set if the answer trusts the project. Without trust, Claude Code leaves some of the project's settings out, and
   * `claude -p` does so, too. If the project has such settings, no answer is given, and the error names this remedy.
   */
  readonly trusting?: { readonly remedy: string };
}

/** The key that leaves a dialog without choosing anything. */
export const ESCAPE = "\x1b";

/**
 * The time that our PermissionRequest hook has to remove a question from the screen, in milliseconds. Claude Code asks
 * the hook and the user together (2.1.330). The hook's denial lets the turn continue, while a key stops it.
 */
const HOOK_MS = 10_000;

/** The time in which another call of the same answer must become known before Enter is pressed, in milliseconds. */
const ALONE_MS = 1000;

const EXIT = /^No, exit$/u;

/**
 * The dialogs that this program knows.
 *
 * The run's settings and hooks prevent or answer all of them; the table is used if that fails. The words are those next
 * to the choices, because a dialog that is higher than the screen loses its title. Choices are matched to their end,
 * because the match must distinguish "Yes" from "Yes, and don't ask again". The reason why an answer is safe, or why
 * there is none, is above the answer.
 *
 * The answers do not rely on the preselected choice, because it changes between versions: for the trust of a workspace,
 * some preselect "Yes" and some "No, exit".
 */
export const DIALOGS: readonly Dialog[] = [
  {
    name: "workspace trust",
    when: "start",
    words: ["Securityguide"],
    offers: [/^Yes, I trust this folder$/u, EXIT],
    // `claude -p` works in the folder without asking, and without trusting it.
    answer: { kind: "choose", choice: /^Yes, I trust this folder$/u },
    trusting: {
      remedy:
        "Run claude in this folder once and trust it if you do, or see to it that what starts claude hands " +
        "CLAUDE_CODE_SANDBOXED on",
    },
  },
  {
    name: "added directory",
    when: "start",
    words: ["Securityguide"],
    offers: [/^Yes, add it$/u, EXIT],
    // The caller named the directory with --add-dir, and the answer holds for this session only.
    answer: { kind: "choose", choice: /^Yes, add it$/u },
  },
  {
    name: "bypass permissions",
    when: "start",
    words: ["BypassPermissionsmode"],
    offers: [/^Yes, I accept$/u, EXIT],
    // The caller asked for the mode, and `claude -p` takes it without asking.
    answer: { kind: "choose", choice: /^Yes, I accept$/u },
  },
  {
    name: "API key",
    when: "start",
    words: ["DoyouwanttousethisAPIkey?"],
    offers: [/^Yes$/u, /^No \(recommended\)$/u],
    // The caller put the key into the environment, and `claude -p` uses it without asking.
    answer: { kind: "choose", choice: /^Yes$/u },
  },
  {
    name: "external includes",
    when: "start",
    words: ["OnlyuseClaudeCodewithfilesyoutrust", "externalimports"],
    offers: [/^Yes, allow external imports$/u, /^No, disable external imports$/u],
    // `claude -p` leaves them out.
    answer: { kind: "choose", choice: /^No, disable external imports$/u },
  },
  {
    name: "settings error",
    when: "start",
    words: ["Fileswitherrorsareskippedentirely"],
    offers: [/^Fix with Claude$/u, /^Continue without these settings$/u],
    // `claude -p` also skips a broken settings file.
    answer: { kind: "choose", choice: /^Continue without these settings$/u },
  },
  {
    name: "settings warning",
    when: "start",
    words: ["therestofthefileisineffect"],
    offers: [/^Fix with Claude$/u, /^Continue$/u],
    // `claude -p` also continues after a settings warning.
    answer: { kind: "choose", choice: /^Continue$/u },
  },
  {
    name: "auto mode without its check",
    when: "later",
    words: [
      "Automodecan'tcheckactionsinthissession",
      "Entertostayinautomode\u00b7shift+Tabtoleave",
    ],
    offers: [],
    end: "Esctocancel",
    // Auto mode stays on, and the dialog below asks about calls that it cannot check. Escape stops the turn.
    answer: { kind: "press", key: "\r" },
    alone: true,
    patienceMs: ALONE_MS,
  },
  {
    // The texts of versions before 2.1.330.
    name: "auto mode without its check",
    when: "later",
    words: ["We'rechangingautomodetonolongerchargeforclassifierrequests", "Entertocontinue"],
    offers: [],
    end: "Esctocancel",
    answer: { kind: "press", key: "\r" },
    alone: true,
    patienceMs: ALONE_MS,
  },
  {
    name: "unchecked action",
    when: "later",
    // A narrow screen breaks the following words with marks of a frame between them.
    words: ["Automodec", "Doyouwantto"],
    offers: [/^Yes$/u, /^No\b/u],
    // `claude -p` denies the call without asking its caller. Claude Code asks no hook about it (2.1.330).
    answer: {
      kind: "decline",
      words:
        "Nobody can be asked to approve this action here: the safety check of auto mode gave no result for it, so " +
        "it was not run. This is not a judgment that it is unsafe. Finish what you can without it, then tell the user " +
        "what is blocked and that they can switch to another permission mode.",
    },
    alone: true,
    patienceMs: ALONE_MS,
  },
  {
    name: "permission",
    when: "later",
    words: ["Doyouwantto"],
    offers: [/^Yes$/u, /^No(?:, and tell Claude what to do differently \(esc\))?$/u],
    // A call that nobody allowed is denied, as in `claude -p`, and Escape cannot allow anything.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "plan approval",
    when: "later",
    words: ["Wouldyouliketoproceed?"],
    offers: [/^Yes, manually approve edits$/u],
    // Nobody can approve a plan here, and Escape prevents it from being carried out.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "plan approval",
    when: "later",
    words: ["Exitplanmode?"],
    offers: [/^Yes\b/u, /^No$/u],
    // Nobody can approve a plan here, and Escape keeps plan mode on.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "question",
    when: "later",
    words: ["Chataboutthis", "Esctocancel"],
    offers: [/^(?:\[.\] )?Type something\b/u],
    // Nobody can answer the assistant here, and Escape declines.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "MCP server approval",
    when: "start",
    words: ["MCPserversmayexecutecodeoraccesssystemresources"],
    offers: [/^Use this MCP server$/u],
    // Claude Code writes every answer to the project's .claude/settings.local.json, where it stays valid.
    answer: {
      kind: "none",
      remedy: "Approve or reject the project's MCP servers once in claude itself",
    },
  },
  {
    name: "MCP server approval",
    when: "start",
    words: ["MCPserversmayexecutecodeoraccesssystemresources", "Spacetoselect"],
    offers: [/^\[.\] /u],
    // Claude Code writes every answer to the project's .claude/settings.local.json, where it stays valid.
    answer: {
      kind: "none",
      remedy: "Approve or reject the project's MCP servers once in claude itself",
    },
  },
  {
    name: "first start",
    when: "start",
    words: ["Choosethetextstyle"],
    offers: [/^Dark mode\b/u, /^Light mode\b/u],
    // The next questions end in a login, which needs a person.
    answer: { kind: "none", remedy: "Go through the first start of Claude Code once: run claude" },
  },
  {
    name: "login",
    when: "start",
    words: ["Selectloginmethod:"],
    offers: [/^Claude account\b/u],
    // A login needs a browser and a person.
    answer: { kind: "none", remedy: "Log in once with: claude /login" },
  },
  {
    name: "configuration error",
    when: "start",
    words: [".claude.json"],
    offers: [/^Exit and fix manually$/u, /^Reset (?:with|to) default configuration$/u],
    // A default configuration asks every question that this run's configuration answers.
    answer: { kind: "none", remedy: "Look whether the disk of TMPDIR is full, and try again" },
  },
  {
    name: "rate limit",
    when: "later",
    words: ["Whatdoyouwanttodo?"],
    offers: [/^Stop and wait for limit to reset$/u],
    // The turn has failed, and no choice is left.
    answer: { kind: "none", remedy: "Try again when the limit has been reset" },
  },
  {
    name: "model switch",
    when: "later",
    words: ["Switchmodel?"],
    offers: [/^Yes, switch to /u, /^No, go back$/u],
    // `claude -p` switches no model in the middle of a conversation.
    answer: { kind: "none", remedy: "Choose the model with --model" },
  },
];
