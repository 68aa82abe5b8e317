import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Found } from "../finding.ts";
import { type KnownClaude, shapeKey } from "../known.ts";
import { kindOf } from "../piece.ts";
import { type Declarations, type DeclaredObject, literalsIn } from "./declarations.ts";

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
export function declaredCheck(
  declarations: Declarations,
  known: KnownClaude,
): ((frame: JsonObject) => readonly Found[]) | undefined {
  const all = ROOTS.map(declarations.objects).find((objects) => objects.length > 0);
  if (all === undefined) return undefined;
  const questions = declarations.objects(QUESTIONS);
  const events = new Set(declarations.list("HOOK_EVENTS"));
  return (frame) => {
    const kind = kindOf(frame);
    if (OWN_FRAMES.includes(kind)) return [];
    const where = `frame ${kind}`;
    const ever = known.shapes.get(shapeKey({ sort: "frame", name: kind }))?.ever ?? new Set();
    const found = heldAgainst(frame, { objects: all, where, what: kind, ever });
    const { request } = frame;
    const asked = known.shapes.get(shapeKey({ sort: "part", name: `request of ${kind}` }))?.ever ??
      new Set();
    if (frame.type !== "control_request" || !isJsonObject(request)) {
      const event = frame.hook_event;
      const isNew = typeof event === "string" && events.size > 0 && !events.has(event);
      return isNew ? [...found, { check: "hook event new", where, what: event }] : found;
    }
    return questions.length === 0
      ? found
      : [...found, ...heldAgainst(request, { objects: questions, where, what: kind, ever: asked })];
  };
}

/** What of an object is not declared. */
function heldAgainst(
  value: JsonObject,
  { objects, where, what, ever }: {
    readonly objects: readonly DeclaredObject[];
    readonly where: string;
    readonly what: string;
    /** Fields that are known though they are not declared. */
    readonly ever: ReadonlySet<unknown>;
  },
): readonly Found[] {
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
