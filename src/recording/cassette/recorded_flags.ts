/**
 * Flags that a fork takes over from a recording. They decide which instructions and tools the model gets. None of them
 * gives a tool more permissions, because a recording may come from a stranger.
 */
const KEPT: ReadonlySet<string> = new Set([
  ...["--model", "--fallback-model", "--effort", "--betas"],
  ...["--system-prompt", "--append-system-prompt"],
  ...["--tools", "--disallowedTools", "--disable-slash-commands", "--restricted", "--safe-mode"],
]);
/** Permission modes that allow a tool no more than the default mode. */
const NARROW_MODES: ReadonlySet<string> = new Set(["plan", "dontAsk"]);
/** Flags that select a session. A fork has a session of its own. */
const SESSION_FLAGS: ReadonlySet<string> = new Set([
  ...["--resume", "--continue", "--fork-session", "--resume-session-at", "--resume-drops-turn"],
  "--session-id",
]);
/** Flags with text of the user. */
const PROMPT_FLAGS: ReadonlySet<string> = new Set(["--system-prompt", "--append-system-prompt"]);
/** The flags that read the same text from a file. */
const FILE_FLAGS: Readonly<Record<string, string>> = {
  "--system-prompt": "--system-prompt-file",
  "--append-system-prompt": "--append-system-prompt-file",
};
/** Limits for the number and length of a recording's flags. No real run exceeds them. */
const MOST_FLAGS = 200;
const LONGEST_FLAG = 200_000;

interface RecordedFlag {
  readonly name: string;
  readonly value?: string;
}

/**
 * Returns the flags that `meta.json` lists for a run. Flags that a fork does not take over are listed without their
 * values.
 */
export function flagsToRecord(given: readonly string[]): readonly string[] {
  const flags = given.flatMap((text) => readFlag(text) ?? []);
  const written = flags.map((flag) => isKeptFlag(flag) ? flagText(flag) : flag.name);
  return [...new Set(written)];
}

/**
 * The maximum length of a recorded system prompt, in bytes. A fork passes it as an argument, which Linux limits to 128
 * kB.
 */
const LONGEST_PROMPT = 120_000;

/**
 * Returns the flags of a run with its system prompts as texts, because a fork has neither the files nor the caller that
 * gave them. A prompt of the caller replaces that of a flag.
 *
 * @param options.read returns the text of a file, or undefined if it cannot be read
 */
export function inlineSystemPrompts(
  given: readonly string[],
  { systemPrompt, appendSystemPrompt, read }: {
    readonly systemPrompt?: string | undefined;
    readonly appendSystemPrompt?: string | undefined;
    readonly read: (path: string) => string | undefined;
  },
): readonly string[] {
  const texts = { "--system-prompt": systemPrompt, "--append-system-prompt": appendSystemPrompt };
  const flags = [...given];
  for (const [name, text] of Object.entries(texts)) {
    const file = `${FILE_FLAGS[name]}=`;
    const isOf = (flag: string) => flag.startsWith(`${name}=`) || flag.startsWith(file);
    const own = flags.findLast(isOf);
    const words = text ?? (own?.startsWith(file) ? read(own.slice(file.length)) : undefined);
    if (words === undefined) continue;
    const isLong = new TextEncoder().encode(words).length > LONGEST_PROMPT || words.includes("\0");
    const others = flags.filter((flag) => !isOf(flag));
    // The fork reports that the recording had a prompt that is too long for an argument.
    flags.splice(0, flags.length, ...others, isLong ? file : `${name}=${words}`);
  }
  return flags;
}

/** The flags of a recording, divided for a fork. */
export interface ForkFlags {
  /** The flags that the fork passes on, with their values. */
  readonly taken: readonly string[];
  /** The names of the flags that the fork does not pass on. */
  readonly dropped: readonly string[];
}

/**
 * Decides which recorded flags a fork takes over. The recording may come from a stranger.
 *
 * @param options.given the names of the fork's own flags, which replace recorded ones
 * @param options.blanked the removed parts of the recording; blanked prompts are not taken over
 */
export function flagsForFork(
  recorded: readonly string[],
  { given, blanked }: { readonly given: ReadonlySet<string>; readonly blanked: readonly string[] },
): ForkFlags {
  const flags = recorded.slice(0, MOST_FLAGS).flatMap((text) => readFlag(text) ?? [])
    .filter(({ name }) => !given.has(name) && !given.has(FILE_FLAGS[name] ?? ""));
  const isTaken = (flag: RecordedFlag) =>
    isKeptFlag(flag) && !(PROMPT_FLAGS.has(flag.name) && blanked.includes("prompts"));
  return {
    taken: flags.filter(isTaken).map(flagText),
    dropped: [...new Set(flags.filter((flag) => !isTaken(flag)).map(({ name }) => name))],
  };
}

/** Blanks the user's texts in recorded flags. */
export function blankFlags(
  recorded: readonly string[],
  blank: (text: string) => string,
): readonly string[] {
  return recorded.map((text) => {
    const flag = readFlag(text);
    return flag?.value !== undefined && PROMPT_FLAGS.has(flag.name)
      ? `${flag.name}=${blank(flag.value)}`
      : text;
  });
}

const SWITCHES: ReadonlySet<string> = new Set([
  "--disable-slash-commands",
  "--restricted",
  "--safe-mode",
]);

function isKeptFlag({ name, value }: RecordedFlag): boolean {
  if (name === "--permission-mode") return value !== undefined && NARROW_MODES.has(value);
  return KEPT.has(name) && SWITCHES.has(name) === (value === undefined);
}

function readFlag(text: string): RecordedFlag | undefined {
  if (text.length > LONGEST_FLAG) return undefined;
  const [, name, value] = /^(--[A-Za-z][\w-]{0,60})(?:=([^]*))?$/u.exec(text) ?? [];
  return name === undefined || SESSION_FLAGS.has(name)
    ? undefined
    : { name, ...(value === undefined ? {} : { value }) };
}

function flagText({ name, value }: RecordedFlag): string {
  return value === undefined ? name : `${name}=${value}`;
}
