/** What this program does about a dialog. */
export type DialogAnswer =
  /** Moves the caret to the one choice that reads like this, and then presses Enter. */
  | { readonly kind: "choose"; readonly choice: RegExp }
  /** Presses a key that means the same wherever the caret stands. */
  | { readonly kind: "press"; readonly key: string }
  /** Chooses "No" and gives these words as the reason: then the turn goes on, which Escape would stop (2.1.330). */
  | { readonly kind: "decline"; readonly words: string }
  /** Gives no answer: the run ends and says what the user can do. */
  | { readonly kind: "none"; readonly remedy: string };

/** A screen that waits for a choice, and what this program does about it. */
export interface Dialog {
  readonly name: string;
  /**
   * Whether it comes at the start, when the child has no status yet, or when it has one. What an assistant or a prompt
   * says is on the screen only then, and a dialog of that time is answered with Enter only where `alone` is set.
   */
  readonly when: "start" | "later";
  /** Pieces of its text, white space removed, that must all stand between the rule above it and the screen's end. */
  readonly words: readonly string[];
  /** Choices that must all be in the list that the caret stands in. */
  readonly offers: readonly RegExp[];
  /** What the screen ends with, white space removed, where the dialog has no list. */
  readonly end?: string;
  readonly answer: DialogAnswer;
  /**
   * Set where the answer takes Enter: it is given only while a single call is open, and otherwise Escape is pressed. The
   * dialog of another call may appear between the look and the key, and Enter could allow that call.
   */
  readonly alone?: true;
  /** How long it must have stood before it is answered, in milliseconds; absent for not at all. */
  readonly patienceMs?: number;
  /**
   * Set where the answer trusts the project, and so brings to life what Claude Code leaves out without that, as
   * `claude -p` does: what the user can do where the project has something of that kind, and no answer is given.
   */
  readonly trusting?: { readonly remedy: string };
}

/** The key that leaves a dialog without choosing anything. */
export const ESCAPE = "\x1b";

/**
 * Time that our PermissionRequest hook has to take a question off the screen again: Claude Code asks the hook and
 * the user at once (2.1.330), and the hook's denial lets the turn go on where a key stops it.
 */
const HOOK_MS = 10_000;

/** Time that another call of the same answer has to become known before Enter is pressed. */
const ALONE_MS = 1000;

const EXIT = /^No, exit$/u;

/**
 * The dialogs this program knows.
 *
 * The run's settings and hooks keep all of them away or answer them; they are here in case that fails. The words are
 * those next to the choices, because a dialog that is higher than the screen loses its title. Choices are written out to
 * their end: of "Yes" and "Yes, and don't ask again" only one may ever be meant. Why an answer is safe, or why there is
 * none, stands above it.
 *
 * No choice is taken for being preselected, because that changes between versions: of a workspace's trust some preselect
 * "Yes" and some "No, exit".
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
    // `claude -p` skips a broken settings file too.
    answer: { kind: "choose", choice: /^Continue without these settings$/u },
  },
  {
    name: "settings warning",
    when: "start",
    words: ["therestofthefileisineffect"],
    offers: [/^Fix with Claude$/u, /^Continue$/u],
    // `claude -p` goes on after a settings warning too.
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
    // Auto mode stays on, and what it cannot check is asked by the dialog below; Escape stops the turn.
    answer: { kind: "press", key: "\r" },
    alone: true,
    patienceMs: ALONE_MS,
  },
  {
    // The words of versions before 2.1.330.
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
    // Narrow screens break what follows, between the marks of a frame.
    words: ["Automodec", "Doyouwantto"],
    offers: [/^Yes$/u, /^No\b/u],
    // `claude -p` denies it without asking its caller. No hook is asked about it (2.1.330).
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
    // What nobody allowed is denied, as by `claude -p`, and Escape cannot allow anything.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "plan approval",
    when: "later",
    words: ["Wouldyouliketoproceed?"],
    offers: [/^Yes, manually approve edits$/u],
    // Nobody is there to approve a plan, and Escape keeps it from being carried out.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "plan approval",
    when: "later",
    words: ["Exitplanmode?"],
    offers: [/^Yes\b/u, /^No$/u],
    // Nobody is there to approve a plan, and Escape leaves plan mode on.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "question",
    when: "later",
    words: ["Chataboutthis", "Esctocancel"],
    offers: [/^(?:\[.\] )?Type something\b/u],
    // Nobody is there to answer the assistant, and Escape declines.
    answer: { kind: "press", key: ESCAPE },
    patienceMs: HOOK_MS,
  },
  {
    name: "MCP server approval",
    when: "start",
    words: ["MCPserversmayexecutecodeoraccesssystemresources"],
    offers: [/^Use this MCP server$/u],
    // Every answer is written into the project's .claude/settings.local.json and holds for good.
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
    // Every answer is written into the project's .claude/settings.local.json and holds for good.
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
    // The questions that follow end in a login, which needs a person.
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
    // A configuration of default values asks everything that this run's configuration answers.
    answer: { kind: "none", remedy: "Look whether the disk of TMPDIR is full, and try again" },
  },
  {
    name: "rate limit",
    when: "later",
    words: ["Whatdoyouwanttodo?"],
    offers: [/^Stop and wait for limit to reset$/u],
    // The turn has failed, and there is nothing left to choose.
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
