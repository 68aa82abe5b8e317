/**
 * Flags that say what the model is told and what it may use, and of which none lets a tool do more than it could without:
 * a recording may be anybody's.
 */
const TAKEN_OVER: ReadonlySet<string> = new Set([
  ...["--model", "--fallback-model", "--effort", "--betas"],
  ...["--system-prompt", "--append-system-prompt"],
  ...["--tools", "--disallowedTools", "--disable-slash-commands", "--restricted", "--safe-mode"],
]);
/** Modes in which a tool may do no more than in the default one. */
const NARROW_MODES: ReadonlySet<string> = new Set(["plan", "dontAsk"]);
/** Flags that say which session it is: that of a fork is another one. */
const OF_SESSION: ReadonlySet<string> = new Set([
  ...["--resume", "--continue", "--fork-session", "--resume-session-at", "--resume-drops-turn"],
  "--session-id",
]);
/** Flags in which what the user wrote stands. */
const SAID: ReadonlySet<string> = new Set(["--system-prompt", "--append-system-prompt"]);
/** Flags that say the same as another one in another way. */
const INSTEAD: Readonly<Record<string, string>> = {
  "--system-prompt": "--system-prompt-file",
  "--append-system-prompt": "--append-system-prompt-file",
};
/** More, or longer ones, are of no run. */
const MOST_FLAGS = 200;
const LONGEST_FLAG = 200_000;

/** A flag as it is recorded: with its value, or without. */
interface RecordedFlag {
  readonly name: string;
  readonly value?: string;
}

/** What is written down of the flags of a run: of those that a fork does not take over the names alone. */
export function recordedFlags(given: readonly string[]): readonly string[] {
  const flags = given.flatMap((text) => readFlag(text) ?? []);
  const written = flags.map((flag) => isTakenOver(flag) ? spelled(flag) : flag.name);
  return [...new Set(written)];
}

/** Longest system prompt that is written down, in bytes: a fork gives it as an argument, which Linux ends at 128 kB. */
const LONGEST_PROMPT = 120_000;

/**
 * The flags of a run with its system prompts as texts, also where it was given them by a file or by its caller: a fork
 * has neither. What the caller says counts in the place of a flag.
 *
 * @param options.read the text of a file; undefined where it cannot be read
 */
export function withSystemPrompts(
  given: readonly string[],
  { systemPrompt, appendSystemPrompt, read }: {
    readonly systemPrompt?: string | undefined;
    readonly appendSystemPrompt?: string | undefined;
    readonly read: (path: string) => string | undefined;
  },
): readonly string[] {
  const said = { "--system-prompt": systemPrompt, "--append-system-prompt": appendSystemPrompt };
  const flags = [...given];
  for (const [name, text] of Object.entries(said)) {
    const file = `${INSTEAD[name]}=`;
    const isOf = (flag: string) => flag.startsWith(`${name}=`) || flag.startsWith(file);
    const own = flags.findLast(isOf);
    const words = text ?? (own?.startsWith(file) ? read(own.slice(file.length)) : undefined);
    if (words === undefined) continue;
    const isLong = new TextEncoder().encode(words).length > LONGEST_PROMPT || words.includes("\0");
    const others = flags.filter((flag) => !isOf(flag));
    // Of what no argument can be, the fork is told that it was there.
    flags.splice(0, flags.length, ...others, isLong ? file : `${name}=${words}`);
  }
  return flags;
}

/** What a fork makes of the flags that are recorded. */
export interface TakenFlags {
  /** With their values, as they are given to the run. */
  readonly taken: readonly string[];
  /** The names of those that are not taken over. */
  readonly left: readonly string[];
}

/**
 * Decides which recorded flags a fork takes over, whoever wrote them down.
 *
 * @param options.given the names of those that are given to the fork, which count instead
 * @param options.blanked what was taken out of the recording: of blanked prompts nothing is said again
 */
export function flagsToTakeOver(
  recorded: readonly string[],
  { given, blanked }: { readonly given: ReadonlySet<string>; readonly blanked: readonly string[] },
): TakenFlags {
  const flags = recorded.slice(0, MOST_FLAGS).flatMap((text) => readFlag(text) ?? [])
    .filter(({ name }) => !given.has(name) && !given.has(INSTEAD[name] ?? ""));
  const isTaken = (flag: RecordedFlag) =>
    isTakenOver(flag) && !(SAID.has(flag.name) && blanked.includes("prompts"));
  return {
    taken: flags.filter(isTaken).map(spelled),
    left: [...new Set(flags.filter((flag) => !isTaken(flag)).map(({ name }) => name))],
  };
}

/** What becomes of recorded flags where the user's words are blanked. */
export function blankedFlags(
  recorded: readonly string[],
  blank: (text: string) => string,
): readonly string[] {
  return recorded.map((text) => {
    const flag = readFlag(text);
    return flag?.value !== undefined && SAID.has(flag.name)
      ? `${flag.name}=${blank(flag.value)}`
      : text;
  });
}

const SWITCHES: ReadonlySet<string> = new Set([
  "--disable-slash-commands",
  "--restricted",
  "--safe-mode",
]);

function isTakenOver({ name, value }: RecordedFlag): boolean {
  if (name === "--permission-mode") return value !== undefined && NARROW_MODES.has(value);
  return TAKEN_OVER.has(name) && SWITCHES.has(name) === (value === undefined);
}

function readFlag(text: string): RecordedFlag | undefined {
  if (text.length > LONGEST_FLAG) return undefined;
  const [, name, value] = /^(--[A-Za-z][\w-]{0,60})(?:=([^]*))?$/u.exec(text) ?? [];
  return name === undefined || OF_SESSION.has(name)
    ? undefined
    : { name, ...(value === undefined ? {} : { value }) };
}

function spelled({ name, value }: RecordedFlag): string {
  return value === undefined ? name : `${name}=${value}`;
}
