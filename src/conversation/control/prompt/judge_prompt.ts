import { claudeCommands, type CommandKind, heeds, REVIEWS } from "./claude_commands.ts";
import { QUIT_WORDS, type SlashWord, slashWord } from "./prompt_text.ts";
import { firstAlteredCharacter } from "./first_altered_character.ts";

/** The facts that `judgePrompt` needs. */
export interface PromptFacts {
  /** The version of Claude Code. */
  readonly version: string;
  /**
   * Finds a skill or custom command of the user, the project or a plugin. Only the model may use a `model-only` one; a
   * subagent carries out a `forked` one, by default in the background.
   */
  readonly custom: (name: string) => "invocable" | "forked" | "model-only" | undefined;
  /** Whether `/` and the prompt's first word are a path that exists. */
  readonly isPath: boolean;
  /** Whether `--disable-slash-commands` is given. */
  readonly disabled: boolean;
  /** Whether there are plugins. Names of their commands have a colon. */
  readonly plugins: boolean;
  /** Whether there are MCP servers. Their prompts are commands. */
  readonly mcpServers: boolean;
  /** Whether the prompt may be delivered by the rendezvous socket. */
  readonly rendezvous: boolean;
  /** Whether it is a message of a conversation. */
  readonly conversation: boolean;
  /** Whether the session is kept, so that another child can resume it. */
  readonly keepsSession: boolean;
  /** Whether a hook of the settings reacts to a change of the model. */
  readonly watchesModels: boolean;
}

/** How a prompt is handled. */
export type Judgement =
  /**
   * The child gets the prompt. `expands`: a command makes the text for the model. `verbatim`: only delivery by the
   * socket keeps the text unchanged. `forks`: a subagent carries it out, and the interactive Claude Code does not wait
   * for it.
   */
  | {
    readonly kind: "send";
    readonly expands: boolean;
    readonly verbatim?: true;
    readonly forks?: true;
  }
  /** `claude -p` has a fixed answer, so no child is needed. */
  | { readonly kind: "answer"; readonly text: string }
  /**
   * The headless helper carries the prompt out without the model. `clears`: another session follows. `notes`: it is
   * recorded in the session, which continues with the change. `alone`: the answer is valid only if it does not describe
   * the process itself.
   */
  | {
    readonly kind: "ask";
    readonly clears?: true;
    readonly notes?: true;
    readonly alone?: true;
  }
  | { readonly kind: "refuse"; readonly message: string; readonly suggestion: string };

const TEXT: Judgement = { kind: "send", expands: false };
const VERBATIM: Judgement = { kind: "send", expands: false, verbatim: true };
const COMMAND: Judgement = { kind: "send", expands: true };
const FORKED: Judgement = { kind: "send", expands: true, forks: true };
/**
 * Decides whether a prompt is a text for the model or a slash command, before a child gets it.
 *
 * The interactive Claude Code has commands that `claude -p` does not have: `/logout` deletes the login, `/export`
 * writes files. So only known commands are passed on: those that become a prompt in both programs, or do the same in
 * both and appear in the transcript. They are in the table, or belong to the user, the project or a plugin.
 *
 * `claude -p` treats an unknown command as text, and also the words that quit the interactive program. Such prompts are
 * delivered by the socket if it takes them as text, and refused otherwise. A file of the project cannot replace a
 * command of the table, because Claude Code may not load the file.
 */
export function judgePrompt(prompt: string, facts: PromptFacts): Judgement {
  const trimmed = prompt.trim();
  if (QUIT_WORDS.includes(trimmed)) {
    return facts.rendezvous ? VERBATIM : refuseQuitWord(trimmed);
  }
  const word = slashWord(prompt);
  const judged = word === undefined
    ? TEXT
    : word.indented
    ? judgeIndented(word, facts)
    : judgeWord(word, facts);
  if (judged.kind !== "send") return judged;
  if (judged === TEXT && facts.rendezvous && isAlteredOnStdin(prompt)) return VERBATIM;
  if (judged === VERBATIM || firstAlteredCharacter(prompt) === undefined) return judged;
  if (QUIT_WORDS.includes(withoutHidden(prompt))) return refuseAltered(prompt, "quit");
  const rest = withoutHiddenStart(prompt);
  // Claude Code leaves such a prompt in the input box, so that a person can check it.
  return rest === "" || /^[/!]/u.test(rest) ? refuseAltered(prompt, "not send the rest") : judged;
}

/** Whether the child would receive another text on its fd 0: without some characters, or with tags of its own. */
function isAlteredOnStdin(prompt: string): boolean {
  return prompt.includes("<pasted_content") || firstAlteredCharacter(prompt) !== undefined;
}

/**
 * Judges a prompt with white space before the slash: `claude -p` treats it as text, and the interactive program skips
 * the white space.
 */
function judgeIndented(word: SlashWord, facts: PromptFacts): Judgement {
  if (facts.disabled) return TEXT;
  if (facts.rendezvous) return VERBATIM;
  const { name } = word;
  const { kinds, complete } = claudeCommands(facts.version);
  const kind = kinds.get(name) ?? "absent";
  const mayBeOthers = (facts.plugins && name.includes(":")) ||
    ((facts.plugins || facts.mcpServers) && name.startsWith("mcp__"));
  const mayBeCommand = name !== "" &&
    (kind !== "absent" || customOf(word, facts) !== undefined ||
      looksLikeCommand(name) && (!complete || mayBeOthers));
  return mayBeCommand
    ? refuse(name, {
      reason:
        "the interactive Claude Code skips the white space before it and takes it for a command",
    })
    : TEXT;
}

function judgeWord(word: SlashWord, facts: PromptFacts): Judgement {
  const { name, rest } = word;
  if (name === "") {
    return facts.rendezvous ? VERBATIM : refuse("", {
      reason: "the interactive Claude Code takes it for a command without a name",
    });
  }
  if (facts.disabled) return judgeDisabled(word, facts);
  const { kinds, complete } = claudeCommands(facts.version);
  const kind = kinds.get(name) ?? "absent";
  const custom = customOf(word, facts);
  const namesMcp = /^\(MCP\)(?:\s|$)/u.test(rest);
  if (kind !== "absent" && namesMcp) return refuseUncertain(name);
  const heed = rest === "" ? undefined : heeds(name, rest);
  // If the file is not loaded, the child does the same as `claude -p`.
  const isOurs = custom === undefined || (custom === "invocable" && kind === "told");
  const isTold = complete && isOurs &&
    (heed === "pursues" || (kind === "told" && (heed !== "notes" || custom !== undefined)));
  if (kind === "prompt" || isTold) return judgeArguments(word);
  if (kind !== "absent") {
    return custom === undefined ? judgeOwn(word, { ...facts, kind, complete }) : refuse(name, {
      reason:
        "a custom command or skill has the name of one of Claude Code's own, which would be " +
        "carried out if Claude Code did not load the file",
      suggestion: "Give it another name",
    });
  }
  if (custom === "model-only") {
    if (complete) return COMMAND;
    return refuse(name, {
      reason: "this skill can only be invoked by Claude",
      suggestion: `Ask Claude to use the "${name}" skill`,
    });
  }
  if (custom === "invocable") return COMMAND;
  if (custom === "forked") return FORKED;
  if (namesMcp) {
    return facts.mcpServers || facts.plugins
      ? refuse(name, {
        reason: "Claude Code may take it for text before it knows the prompts of its MCP servers",
        suggestion: "Name the prompt as /mcp__server__prompt",
      })
      : TEXT;
  }
  if (name.startsWith("mcp__") && (facts.mcpServers || facts.plugins)) {
    return COMMAND;
  }
  if (name.includes(":") && facts.plugins) return COMMAND;
  if (!looksLikeCommand(name)) return TEXT;
  if (!complete) return refuseUncertain(name);
  if (facts.isPath) return TEXT;
  return facts.rendezvous ? VERBATIM : refuse(name, { reason: "there is no such command" });
}

/** Judges a command of Claude Code's own that makes no prompt. */
function judgeOwn(
  { name, rest }: SlashWord,
  facts: PromptFacts & {
    readonly kind: Exclude<CommandKind, "prompt" | "absent">;
    readonly complete: boolean;
  },
): Judgement {
  const elsewhere = "Run it with claude -p, or in claude itself";
  switch (facts.kind) {
    case "unavailable":
      if (facts.complete && !facts.isPath) return { kind: "answer", text: unavailable(name) };
      // A path is text in `claude -p`, and a command in the interactive program.
      return facts.complete && facts.rendezvous ? VERBATIM : refuse(name, {
        reason: "the interactive Claude Code carries it out by itself",
      });
    case "asked":
    case "alone":
    case "clears":
      // The helper is the same program as `claude -p`, so an unknown version of the command is the same in both.
      if (rest !== "" && facts.kind !== "clears") {
        const heed = heeds(name, rest);
        if (heed === "notes") return judgeNoted(name, facts);
        if (heed === "pursues") return refuseUncertain(name);
        if (heed === "more") return refuse(name, OF_THE_USER);
      }
      return {
        kind: "ask",
        ...(facts.kind === "clears" ? { clears: true } : {}),
        ...(facts.kind === "alone" && facts.conversation ? { alone: true } : {}),
      };
    case "noted":
      return judgeNoted(name, facts);
    case "own":
    case "told":
      // With a title, the command is recorded. Without one, its effect was not measured.
      return rest !== "" && heeds(name, rest) === "notes"
        ? judgeNoted(name, facts)
        : refuse(name, { reason: ITS_OWN, suggestion: elsewhere });
    case "personal":
      return refuse(name, {
        reason: "it reads the transcripts of all your sessions, of which a run sees its own alone",
        suggestion: elsewhere,
      });
    case "gated":
      return facts.complete && facts.rendezvous ? VERBATIM : refuseUncertain(name);
  }
}

const ITS_OWN = "Claude Code carries it out by itself, and makes no prompt of it";

/** The refusal of a command with an argument. */
const OF_THE_USER: Parameters<typeof refuse>[1] = {
  reason: "what follows it is written into the user's settings, which are never changed here",
  suggestion: "Say it for this run with --settings, or run it with claude -p",
};

/** Judges a command that changes the session. A child that resumes the session applies the change. */
function judgeNoted(
  name: string,
  { conversation, keepsSession, watchesModels }: PromptFacts,
): Judgement {
  if (name === "model" && watchesModels) {
    return refuse(name, {
      reason: "a hook for PreModelSwitch or PostModelSwitch is set, which would not be called",
      suggestion: "Start another run with --model, or run it with claude -p",
    });
  }
  return conversation && !keepsSession
    ? refuse(name, {
      reason: "it takes a new Claude Code that resumes the session, which is not kept",
      suggestion: "Leave out --no-session-persistence",
    })
    : { kind: "ask", notes: true };
}

/** Judges a command if commands are disabled: `claude -p` answers that it is not available. */
function judgeDisabled(word: SlashWord, facts: PromptFacts): Judgement {
  const { name } = word;
  if (!looksLikeCommand(name) || facts.isPath) return TEXT;
  const { kinds, complete } = claudeCommands(facts.version);
  const kind = kinds.get(name) ?? "absent";
  if (complete && facts.rendezvous && kind !== "gated") {
    if (kind !== "absent") return { kind: "answer", text: unavailable(name) };
    if (customOf(word, facts) === undefined) return VERBATIM;
  }
  return complete && kind === "unavailable"
    ? { kind: "answer", text: unavailable(name) }
    : refuse(name, {
      reason: "--disable-slash-commands leaves no commands",
      suggestion: "Leave the flag out, or begin the prompt with another word",
    });
}

/** Judges a command whose argument may change its meaning. */
function judgeArguments({ name, rest }: SlashWord): Judgement {
  const [first = ""] = rest.split(/\s/u, 1);
  if (first.toLowerCase() === "ultra" && REVIEWS.includes(name)) {
    return refuse(`${name} ${first}`, {
      reason: "the interactive Claude Code starts a review in the cloud",
      suggestion: `Leave out "${first}"`,
    });
  }
  const asksForHelp = rest === "--help" || rest === "-h";
  return asksForHelp
    ? refuse(`${name} ${rest}`, {
      reason: "the interactive Claude Code shows its own help",
      suggestion: `Leave out "${rest}"`,
    })
    : REVIEWS.includes(name)
    ? FORKED
    : COMMAND;
}

/**
 * The custom command at the beginning of a prompt. Its name may have two words: `/folder name` for `folder:name`.
 * Claude Code looks for its own commands first, so this works only if all of them are known.
 */
function customOf({ name, rest }: SlashWord, { custom, version }: PromptFacts) {
  const [first = ""] = rest.split(/\s/u, 1);
  const isOneWord = first === "" || !claudeCommands(version).complete;
  return custom(name) ?? (isOneWord ? undefined : custom(`${name}:${first}`));
}

/** Whether Claude Code treats a word as a command's name even if there is no such command. */
function looksLikeCommand(name: string): boolean {
  return /^[a-zA-Z0-9_][a-zA-Z0-9:_-]*$/u.test(name);
}

/** The maximum length of a word that is looked for among hidden characters. */
const LONGEST_HIDDEN = 200;

/** A short prompt without surrounding white space, and without the characters that Claude Code removes. */
function withoutHidden(prompt: string): string {
  return [...prompt.slice(0, LONGEST_HIDDEN)]
    .filter((character) => firstAlteredCharacter(character) === undefined).join("").trim();
}

/** The text without the white space and the characters that Claude Code removes at its beginning. */
function withoutHiddenStart(prompt: string): string {
  let offset = 0;
  for (const character of prompt) {
    if (!/\s/u.test(character) && firstAlteredCharacter(character) === undefined) break;
    offset += character.length;
  }
  return prompt.slice(offset);
}

/** The answer of `claude -p` to a command that it does not have. */
function unavailable(name: string): string {
  return `/${name} isn't available in this environment.`;
}

function refuseUncertain(name: string): Judgement {
  return refuse(name, { reason: "the interactive Claude Code may have a command of that name" });
}

function refuseQuitWord(word: string): Judgement {
  return {
    kind: "refuse",
    message: `Cannot send the prompt "${word}": the interactive Claude Code quits on this word`,
    suggestion: `Say it in a sentence, such as: Answer to the word "${word}"`,
  };
}

function refuseAltered(prompt: string, deed: string): Judgement {
  const character = firstAlteredCharacter(prompt)?.name ?? "a character";
  return {
    kind: "refuse",
    message:
      `Cannot send the prompt as it is: Claude Code would take ${character} out of it and ${deed}`,
    suggestion: "Remove such characters from the prompt",
  };
}

/** The maximum number of characters of a word in a message. */
const LONGEST_NAME = 60;

function refuse(
  command: string,
  { reason, suggestion = "To say it to the model, begin the prompt with another word" }: {
    readonly reason: string;
    readonly suggestion?: string;
  },
): Judgement {
  const name = command.length > LONGEST_NAME ? `${command.slice(0, LONGEST_NAME)}…` : command;
  return { kind: "refuse", message: `Cannot send "/${name}": ${reason}`, suggestion };
}
