import type { VersionProfile } from "../../claude/versions/profile.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { ProgramText, Subject } from "./subject.ts";
import { runPrint } from "./run_print.ts";

/** Schemas of keys in the program. Most matches are no settings. */
const IN_PROGRAM =
  /[,{]"?([$a-z][\w$]{1,50})"?:(?=(?:\(\)=>)?[\w$]{1,4}(?:\.describe\(|\([^;]{0,100}?\)\.(?:optional|nullish|nullable|catch|describe|default)\())/gu;

/** Hooks have error messages of their own. Hundreds of other names with several underscores are in the program. */
const NO_KEY = /^(?:hooks|__proto__|constructor)$|_.*_/u;

/** A value of each JSON type. Almost every key accepts one type; the messages about the others name it. */
const PROBES: readonly (readonly [string, unknown])[] = [
  ["number", 7],
  ["string", "measured"],
  ["object", {}],
  ["null", null],
  ["boolean", true],
  ["array", []],
];
/** Settings files that one process reads, each with another value. */
const DOCUMENTS = 3;

/** Levels of settings that are measured. Four reach the elements of `sandbox.network.allowedDomains`. */
const LEVELS = 4;
/** Levels with keys that accept several types. Other levels need only the values of one process. */
const WIDE_LEVELS = 2;

/** The key that replaces any key of a record. */
const ANY = "measured";

/** Messages about a key, by the JSON type of its value. */
type Faults = ReadonlyMap<string, string>;

/**
 * Measures which values settings accept. Asks Claude Code over the control protocol for its errors about settings
 * files in which every key has a wrong value.
 *
 * The result maps messages to paths. A message lacks the wrong value's type, and lists further accepted types:
 * `"Expected boolean"`, `"Expected boolean (also null)"`. In a path, `.*` is any key, `[]` any element, and `!` marks
 * a required key.
 */
export async function learnSettings(subject: Subject): Promise<Pick<VersionProfile, "settings">> {
  const keys = settingNames(subject.program);
  const found = new Map<string, string>();
  const required = new Set<string>();
  let containers: readonly string[] = [""];
  for (let level = 0; level < LEVELS && containers.length > 0; level++) {
    const faults = new Map<string, Map<string, string>>();
    const tried = level < WIDE_LEVELS ? PROBES : PROBES.slice(0, DOCUMENTS);
    for (let first = 0; first < tried.length; first += DOCUMENTS) {
      const probes = tried.slice(first, first + DOCUMENTS);
      const documents = probes.map(([, value]) => documentOf(containers, { found, keys, value }));
      for (const { document, path: named, message } of await askForFaults(subject, documents)) {
        const path = canonicalPath(named, found);
        const kind = probes[document]?.[0] ?? "";
        if (containers.includes(parentSetting(path))) {
          const known = faults.get(path) ?? new Map();
          faults.set(path, known.set(kind, message.replace(/, but received .*$/u, "")));
        } else if (kind === "object") required.add(path);
      }
    }
    for (const [path, messages] of faults) {
      const expectation = expectationOf(messages, tried);
      const isKnown = level < WIDE_LEVELS || !expectation.startsWith("Invalid input");
      if (isKnown) found.set(path, expectation);
    }
    containers = [...faults.keys()].filter((path) => expectsContainer(found.get(path) ?? ""));
  }
  const byExpectation = Map.groupBy(
    [...found].toSorted(([one], [other]) => one < other ? -1 : 1),
    ([, expectation]) => expectation,
  );
  const settings = [...byExpectation].map(([expectation, entries]) =>
    [
      expectation,
      entries.map(([path]) => required.has(path) ? `${path}!` : path).join(" "),
    ] as const
  ).toSorted(([one], [other]) => one < other ? -1 : 1);
  return { settings: Object.fromEntries(settings) };
}

/** Words that may be keys of settings. */
export function settingNames(program: ProgramText): readonly string[] {
  const names = program.matches(IN_PROGRAM).flatMap(([, name]) => name ?? []);
  return [...new Set(names)].filter((name) => !NO_KEY.test(name)).toSorted();
}

function expectsContainer(expectation: string): boolean {
  return /^Expected (?:object|record|array)\b|\(also .*\bobject\b/u.test(expectation);
}

/** A settings file in which every possible key of some containers has one value. */
function documentOf(
  containers: readonly string[],
  { found, keys, value }: {
    readonly found: ReadonlyMap<string, string>;
    readonly keys: readonly string[];
    readonly value: unknown;
  },
): JsonObject {
  const document: Record<string, unknown> = {};
  for (const container of containers) {
    const expectation = found.get(container) ?? "";
    const filled = expectation.startsWith("Expected array") ? [value] : Object.fromEntries(
      (expectation.startsWith("Expected record") ? [ANY] : keys).map((key) => [key, value]),
    );
    if (container === "") return filled as JsonObject;
    setAt(document, container.replaceAll("[]", ".0").replaceAll("*", ANY).split("."), filled);
  }
  return document;
}

function setAt(into: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  const [key = "", ...rest] = keys;
  if (rest.length === 0) {
    into[key] = value;
    return;
  }
  const next = rest[0] === "0" ? [] : {};
  setAt((into[key] ??= next) as Record<string, unknown>, rest, value);
}

/** A path of Claude Code's message with `.*` and `[]` for keys of records and elements of arrays. */
function canonicalPath(path: string, found: ReadonlyMap<string, string>): string {
  return path.split(".").reduce((before, key) => {
    const expectation = found.get(before) ?? "";
    if (expectation.startsWith("Expected array")) return `${before}[]`;
    if (expectation.startsWith("Expected record")) return `${before}.*`;
    return before === "" ? key : `${before}.${key}`;
  }, "");
}

function parentSetting(path: string): string {
  return path.endsWith("[]")
    ? path.slice(0, -2)
    : path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Returns Claude Code's errors about three settings files: of the user, the project, and the project's local one. */
async function askForFaults(subject: Subject, documents: readonly JsonObject[]) {
  const [user = {}, project = {}, local = {}] = documents.map((document) =>
    JSON.stringify(document)
  );
  let errors: unknown;
  await runPrint(subject, {
    args: ["--input-format", "stream-json", "--no-session-persistence"],
    configFiles: { "settings.json": `${user}` },
    files: { ".claude/settings.json": `${project}`, ".claude/settings.local.json": `${local}` },
    talk: {
      start: ({ send }) => {
        const request = { subtype: "get_settings" };
        send({ type: "control_request", request_id: "settings", request });
      },
      answer: ({ type, response }, { close }) => {
        if (type !== "control_response") return;
        const answer = isJsonObject(response) ? response["response"] : undefined;
        errors = isJsonObject(answer) ? answer["errors"] : undefined;
        close();
      },
    },
  });
  if (!Array.isArray(errors)) {
    throw new Error("claude -p does not tell what is wrong with settings");
  }
  return errors.filter(isJsonObject).map(({ file, path, message }) => ({
    document: !`${file}`.includes("/project/.claude/")
      ? 0
      : `${file}`.endsWith(".local.json")
      ? 2
      : 1,
    path: `${path}`,
    message: `${message}`,
  }));
}

/** The message about a key, with the types that caused no message. */
function expectationOf(messages: Faults, tried: typeof PROBES): string {
  const all = [...messages.values()];
  const message = all.find((each) => each === "Expected number") ?? messages.get("number") ??
    all[0] ?? "";
  const natural = /^Expected (\w+)$/u.exec(message)?.[1]?.replace("record", "object");
  const also = tried.map(([kind]) => kind).filter((kind) =>
    !messages.has(kind) && kind !== natural
  );
  return also.length === 0 ? message : `${message} (also ${also.join(" ")})`;
}
