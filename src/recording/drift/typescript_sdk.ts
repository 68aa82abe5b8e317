import { OWN_FIELDS } from "../../claude/wire/result_frame.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Drift } from "./findings.ts";
import { type KnownClaude, shapeKey } from "./known_shapes.ts";
import { frameName } from "./pieces.ts";

/** The type of everything that Claude Code prints, and the part of it that older SDKs declare. */
const ROOTS = ["StdoutMessage", "SDKMessage"];
/** The type of requests that Claude Code sends to the caller. */
const QUESTIONS = "SDKControlRequestInner";
const OWN_FRAMES = [
  // Claude Code prints it for programs of its own, and the SDKs skip it.
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
 * Creates a check of frames against the declarations of an SDK; undefined if these do not say what Claude Code
 * prints.
 *
 * SDKs do not declare every field. An undeclared field is only reported if it is in no recording either.
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
    const kind = frameName(frame);
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

/** Reports what is not declared in an object. */
function compareWithDeclared(
  value: JsonObject,
  { objects, where, what, ever }: {
    readonly objects: readonly DeclaredObject[];
    readonly where: string;
    readonly what: string;
    /** Known fields, declared or not. */
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

/** True if a field may have a value. Only types that are literal texts are compared. */
function allows({ fields }: DeclaredObject, name: string, value: unknown): boolean {
  const literals = literalsIn(fields.get(name)?.type ?? "");
  return literals.length === 0 || (typeof value === "string" && literals.includes(value));
}

/** An object type. */
interface DeclaredObject {
  /** Its fields by name. */
  readonly fields: ReadonlyMap<string, { readonly optional: boolean; readonly type: string }>;
  /** True if it may have more fields, because a part of its type is declared in another file. */
  readonly open: boolean;
}

/** The object types in a file of declarations. */
interface Declarations {
  /** Returns the alternatives of a type; none if it is not declared. */
  readonly objects: (name: string) => readonly DeclaredObject[];
  /** Returns the texts in a constant list. */
  readonly list: (name: string) => readonly string[];
}

/** How deep type names are resolved, and how many alternatives a type may have. */
const DEEPEST = 12;
const MOST_OBJECTS = 2000;

/**
 * Parses TypeScript declarations as far as object types need it: names, unions, intersections and object literals.
 * The fields of any other type are unknown.
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

/** Returns the texts of a literal type, such as `'a' | 'b'`. */
export function literalsIn(type: string, separator = "|"): readonly string[] {
  return splitAt(type, separator).flatMap((part) =>
    /^(?:'([^'\\]*)'|"([^"\\]*)")$/u.exec(part.trim())?.slice(1).filter((text) =>
      text !== undefined
    ) ?? []
  );
}

/** Intersects an object with the alternatives of another type. If that type is unknown, the object is open. */
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

/** Splits a text at separators outside brackets and strings. */
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

/** Returns the text up to a character outside brackets and strings, or all of it. */
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

/** Returns where the string ends that begins at a position. */
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
