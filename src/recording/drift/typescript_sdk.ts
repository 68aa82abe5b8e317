import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Drift } from "./findings.ts";
import { type KnownClaude, shapeKey } from "./known_shapes.ts";
import { kindOf } from "./pieces.ts";

/** What the Agent SDK for TypeScript calls all that Claude Code prints, and its own part of that. */
const ROOTS = ["StdoutMessage", "SDKMessage"];
/** What Claude Code asks, as a part of that. */
const QUESTIONS = "SDKControlRequestInner";
/** What this program adds to frames, which no SDK knows of. */
const OWN_FIELDS = ["claude_version", "claude_limits"];
const OWN_FRAMES = [
  // Claude Code prints it too, for programs of its own: their SDKs pass it over.
  "command_lifecycle",
  "system/shell_output_delta",
  ...[
    "assistant_error",
    "bad_input",
    "delivery_timeout",
    "drain_timeout",
    "exit_timeout",
    "idle_timeout",
    "internal_error",
    "interrupted",
    "refused",
    "start_timeout",
    "timeout",
  ].map((subtype) => `result/${subtype}`),
];

/**
 * How frames are held against declarations; nothing where these do not say what Claude Code prints.
 *
 * Not all that Claude Code prints is declared: of fields that are not, those are told that this program does not know
 * either.
 */
export function createDeclarationCheck(
  declarations: Declarations,
  known: KnownClaude,
): ((frame: JsonObject) => readonly Drift[]) | undefined {
  const all = ROOTS.map(declarations.objects).find((objects) => objects.length > 0);
  if (all === undefined) return undefined;
  const questions = declarations.objects(QUESTIONS);
  const events = new Set(declarations.list("HOOK_EVENTS"));
  return (frame) => {
    const kind = kindOf(frame);
    if (OWN_FRAMES.includes(kind)) return [];
    const where = `frame ${kind}`;
    const ever = known.shapes.get(shapeKey({ sort: "frame", name: kind }))?.ever ?? new Set();
    const found = compareWithDeclared(frame, { objects: all, where, what: kind, ever });
    const { request } = frame;
    const asked = known.shapes.get(shapeKey({ sort: "part", name: `request of ${kind}` }))?.ever ??
      new Set();
    if (frame.type !== "control_request" || !isJsonObject(request)) {
      const event = frame.hook_event;
      const isNew = typeof event === "string" && events.size > 0 && !events.has(event);
      return isNew ? [...found, { check: "hook event new", where, what: event }] : found;
    }
    return questions.length === 0 ? found : [
      ...found,
      ...compareWithDeclared(request, { objects: questions, where, what: kind, ever: asked }),
    ];
  };
}

/** What of an object is not declared. */
function compareWithDeclared(
  value: JsonObject,
  { objects, where, what, ever }: {
    readonly objects: readonly DeclaredObject[];
    readonly where: string;
    readonly what: string;
    /** Fields that are known though they are not declared. */
    readonly ever: ReadonlySet<unknown>;
  },
): readonly Drift[] {
  const same = objects.filter((object) =>
    ["type", "subtype"].every((name) => allows(object, name, value[name]))
  );
  if (same.length === 0) return [{ check: "type unknown", where: "frame", what }];
  const known = new Set(same.flatMap(({ fields }) => [...fields.keys()]));
  const isOpen = same.some(({ open }) => open);
  const added = isOpen
    ? []
    : Object.keys(value).filter((name) =>
      !known.has(name) && !ever.has(name) && !OWN_FIELDS.includes(name)
    );
  const missing =
    same.map(({ fields }) =>
      [...fields].flatMap(([name, { optional }]) =>
        optional || Object.hasOwn(value, name) ? [] : [name]
      )
    ).toSorted((one, other) => one.length - other.length)[0] ?? [];
  return [
    ...added.map((field) => ({ check: "field new", where, what: field }) as const),
    ...missing.map((field) => ({ check: "field gone", where, what: field }) as const),
  ];
}

/** Whether an object may have that value: only texts that are declared one by one are held against it. */
function allows({ fields }: DeclaredObject, name: string, value: unknown): boolean {
  const literals = literalsIn(fields.get(name)?.type ?? "");
  return literals.length === 0 || (typeof value === "string" && literals.includes(value));
}

/** An object as declarations describe it. */
interface DeclaredObject {
  /** Its fields, and whether each may be missing. */
  readonly fields: ReadonlyMap<string, { readonly optional: boolean; readonly type: string }>;
  /** Whether it may have other fields: a part of it is declared elsewhere. */
  readonly open: boolean;
}

/** What a file of TypeScript's declarations says of types that are objects, or one of several. */
interface Declarations {
  /** The objects that a type may be; none for a type that is not declared there. */
  readonly objects: (name: string) => readonly DeclaredObject[];
  /** The texts in a constant list. */
  readonly list: (name: string) => readonly string[];
}

/** How often types may be named in one another, and how many objects one may be. */
const DEEPEST = 12;
const MOST_OBJECTS = 2000;

/**
 * Reads declarations of TypeScript as far as objects go: names, unions, intersections, and literal objects with their
 * fields. Whatever else a type is, its fields are not known.
 */
export function readDeclarations(text: string): Declarations {
  const source = withoutComments(text);
  const bodies = new Map<string, string>();
  for (const found of source.matchAll(/\bdeclare type (\w+) = /gu)) {
    const [whole, name = ""] = found;
    bodies.set(name, partUntil(source, found.index + whole.length, ";"));
  }
  for (const found of source.matchAll(/\bdeclare interface (\w+)\s*(?=\{)/gu)) {
    const [whole, name = ""] = found;
    bodies.set(name, `{${partUntil(source, found.index + whole.length + 1, "}")}}`);
  }
  const objects = (type: string, depth = 0): readonly DeclaredObject[] => {
    const trimmed = type.trim();
    if (depth > DEEPEST) return [];
    const members = splitAt(trimmed, "|");
    if (members.length > 1) {
      return members.flatMap((member) => objects(member, depth + 1)).slice(0, MOST_OBJECTS);
    }
    const parts = splitAt(trimmed, "&");
    if (parts.length > 1) {
      return parts.map((part) => objects(part, depth + 1)).reduce<readonly DeclaredObject[]>(
        (all, more) => all.flatMap((one) => joined(one, more)).slice(0, MOST_OBJECTS),
        [{ fields: new Map(), open: false }],
      );
    }
    if (trimmed.startsWith("{") && trimmed.endsWith("}")) {
      return [{ fields: fieldsIn(trimmed.slice(1, -1)), open: false }];
    }
    const body = bodies.get(/^(?:\w+\.)?(\w+)$/u.exec(trimmed)?.[1] ?? "");
    return body === undefined ? [] : objects(body, depth + 1);
  };
  return {
    objects: (name) => objects(name),
    list: (name) => {
      const found = new RegExp(`\\bdeclare const ${name}: readonly \\[([^\\]]*)\\]`, "u").exec(
        source,
      );
      return literalsIn(found?.[1] ?? "", ",");
    },
  };
}

/** The texts that a type may be, as in `'a' | 'b'`. */
export function literalsIn(type: string, separator = "|"): readonly string[] {
  return splitAt(type, separator).flatMap((part) =>
    /^(?:'([^'\\]*)'|"([^"\\]*)")$/u.exec(part.trim())?.slice(1).filter((text) =>
      text !== undefined
    ) ?? []
  );
}

/** An object that is each of the others as well; what is not known of it leaves it open. */
function joined(
  one: DeclaredObject,
  others: readonly DeclaredObject[],
): readonly DeclaredObject[] {
  if (others.length === 0) return [{ ...one, open: true }];
  return others.map((other) => ({
    fields: new Map([...one.fields, ...other.fields]),
    open: one.open || other.open,
  }));
}

function fieldsIn(body: string): DeclaredObject["fields"] {
  const fields = new Map<string, { readonly optional: boolean; readonly type: string }>();
  for (const member of splitAt(body, ";")) {
    const found = /^(?:readonly\s+)?(?:(\w+)|'([^'\\]+)'|"([^"\\]+)")(\?)?:\s*/u.exec(
      member.trim(),
    );
    if (found === null) continue;
    const [whole, name = found[2] ?? found[3] ?? "", , , optional] = found;
    fields.set(name, { optional: optional !== undefined, type: member.trim().slice(whole.length) });
  }
  return fields;
}

/** The parts of a text between separators that stand in no brackets and no text. */
function splitAt(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  while (from <= text.length) {
    const part = partUntil(text, from, separator);
    if (part.trim() !== "") parts.push(part);
    from += part.length + 1;
  }
  return parts;
}

/** What stands before the first such character outside of brackets and texts, or all that follows. */
function partUntil(text: string, from: number, end: string): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string;
    if (character === end && depth === 0) return text.slice(from, at);
    if (character === "'" || character === '"' || character === "`") {
      at = endOfText(text, at);
    } else if ("{[(<".includes(character)) {
      depth++;
    } else if ("}])".includes(character) || (character === ">" && text[at - 1] !== "=")) {
      depth--;
    }
  }
  return text.slice(from);
}

/** Where a text ends that begins there. */
function endOfText(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === quote) return at;
  }
  return text.length;
}

function withoutComments(text: string): string {
  let kept = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "'" || character === '"' || character === "`") {
      at = endOfText(text, at);
    } else if (character === "/" && (text[at + 1] === "*" || text[at + 1] === "/")) {
      kept += text.slice(from, at);
      const end = text[at + 1] === "*" ? "*/" : "\n";
      const found = text.indexOf(end, at + 2);
      at = (found < 0 ? text.length : found + end.length) - 1;
      from = at + 1;
    }
  }
  return kept + text.slice(from);
}
