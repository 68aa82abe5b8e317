import { hookEventsOf } from "../versions/tables.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Hooks that may forbid something: Claude Code leaves all settings out where it cannot load one of them. */
const GUARDS = ["PreToolUse", "PermissionRequest", "PreSkillShellCommand"];
const GUARDED = " — a PreToolUse/PermissionRequest hook that cannot be loaded may be what guards " +
  "the permissions declared beside it, so nothing it sits in is applied until the entry is fixed or removed.";

/** What is wrong with a hook, in Claude Code's words. */
interface Fault {
  /** Where it stands: keys with dots between them. */
  readonly path: string;
  readonly message: string;
}

/** The same as it is told of a guard: in words of its own, and in those of the schema. */
interface HookFault extends Fault {
  /** What is told where nothing but the hook is left out. */
  readonly ignored: string;
  /** What is told of either. */
  readonly hint?: string;
  readonly bySchema: readonly Fault[];
}

/** The types of hooks, and what their fields hold: the first so many have to be there. */
const TYPES: Readonly<Record<string, { readonly needs: number; readonly fields: string }>> = {
  command: {
    needs: 1,
    fields: "command:string args:array if:string shell:shell timeout:number " +
      "statusMessage:string once:boolean async:boolean",
  },
  prompt: { needs: 1, fields: "prompt:string if:string timeout:number model:string" },
  agent: { needs: 1, fields: "prompt:string if:string timeout:number model:string" },
  http: { needs: 1, fields: "url:url if:string timeout:number headers:record" },
  mcp_tool: { needs: 2, fields: "server:string tool:string timeout:number" },
};
const TYPE_NAMES = Object.keys(TYPES);

/** What keeps a version of Claude Code from loading the settings in which hooks stand. */
export function guardFaults(hooks: unknown, version: string): readonly Fault[] {
  const known = hookEventsOf(version);
  const faults = faultsIn(hooks, (event) => GUARDS.includes(event) && known.includes(event));
  return [
    ...faults.map(({ path, message, hint = "" }) => ({
      path,
      message: `${message}${GUARDED}${hint}`,
    })),
    ...faults.flatMap(({ bySchema }) => bySchema),
  ];
}

/** What of hooks a version leaves out, while all else of their settings counts. */
export function skippedHooks(hooks: unknown, version: string): readonly Fault[] {
  if (hooks === undefined) return [];
  if (!isJsonObject(hooks)) {
    const message = `"hooks" must be an object mapping event names to matcher arrays; received ${
      typeOf(hooks)
    }. This field was ignored.`;
    return [{ path: "hooks", message }];
  }
  const valid = hookEventsOf(version);
  return Object.keys(hooks).flatMap((event) => {
    const path = `hooks.${event}`;
    if (!valid.includes(event)) {
      const message = `Unknown hook event "${event}" was ignored. Valid events: ${
        valid.join(", ")
      }`;
      return [{ path, message }];
    }
    return faultsIn({ [event]: hooks[event] }, (each) => !GUARDS.includes(each))
      .map(({ path, message, ignored, hint = "" }) => ({
        path,
        message: `${message}${ignored}${hint}`,
      }));
  });
}

function faultsIn(hooks: unknown, isMeant: (event: string) => boolean): readonly HookFault[] {
  if (!isJsonObject(hooks)) return [];
  return Object.entries(hooks).filter(([event]) => isMeant(event)).flatMap(([event, matchers]) => {
    const path = `hooks.${event}`;
    if (Array.isArray(matchers)) {
      return matchers.flatMap((matcher, place) => matcherFaults(`${path}.${place}`, matcher));
    }
    const message = `Hook event "${event}" must be an array of matchers; received ${
      typeOf(matchers)
    }`;
    const ignored = ". This entry was ignored.";
    return [{ path, message, ignored, bySchema: [expected(path, "array", matchers)] }];
  });
}

function matcherFaults(path: string, matcher: unknown): readonly HookFault[] {
  const fault = (message: string, bySchema: Fault) => [
    { path, message, ignored: "; matcher ignored.", bySchema: [bySchema] },
  ];
  if (!isJsonObject(matcher)) {
    const message = `Hook matcher must be an object; received ${received(matcher)}`;
    return fault(message, expected(path, "object", matcher));
  }
  const { hooks, matcher: pattern } = matcher;
  if (!Array.isArray(hooks)) {
    const what = `Hook matcher "hooks" must be an array of hook entries; received ${
      received(hooks)
    }`;
    return fault(what, expected(`${path}.hooks`, "array", hooks));
  }
  if (pattern !== undefined && typeof pattern !== "string") {
    const message = `Invalid hook matcher (matcher: ${invalid("string", pattern)})`;
    return fault(message, expected(`${path}.matcher`, "string", pattern));
  }
  return hooks.flatMap((hook, place) => entryFaults(`${path}.hooks.${place}`, hook));
}

function entryFaults(path: string, hook: unknown): readonly HookFault[] {
  const ignored = "; entry ignored.";
  if (!isJsonObject(hook)) {
    const message = `Hook entry must be an object; received ${received(hook)}`;
    return [{ path, message, ignored, bySchema: [expected(path, "object", hook)] }];
  }
  const type = hook["type"];
  if (typeof type !== "string" || !TYPE_NAMES.includes(type)) {
    const message = type === undefined
      ? 'Hook entry has no "type"'
      : typeof type === "string"
      ? `Unknown hook type "${type}"`
      : `Hook entry "type" must be a string; received ${received(type)}`;
    const choices = TYPE_NAMES.map((name) => `'${name}'`).join(" | ");
    const bySchema = [{
      path: `${path}.type`,
      message: `Invalid discriminator value. Expected ${choices}`,
    }];
    const hint = ` Valid types: ${TYPE_NAMES.join(", ")}`;
    return [{ path: `${path}.type`, message, ignored, hint, bySchema }];
  }
  const wrong = wrongFields(type, hook);
  if (wrong.length === 0) return [];
  const all = wrong.map(({ name, message }) => `${name}: ${message}`).join("; ");
  return [{
    path,
    message: `Invalid ${type} hook (${all})`,
    ignored,
    bySchema: wrong.map(({ name, bySchema }) => ({ path: `${path}.${name}`, message: bySchema })),
  }];
}

function wrongFields(type: string, hook: JsonObject) {
  const { needs = 0, fields = "" } = TYPES[type] ?? {};
  return fields.split(" ").flatMap((field, place) => {
    const [name = "", kind = ""] = field.split(":");
    const value = hook[name];
    if (value === undefined && place >= needs) return [];
    const told = (message: string, bySchema = message) => [{ name, message, bySchema }];
    if (kind === "shell") {
      return value === "bash" || value === "powershell" ? [] : told(
        'Invalid option: expected one of "bash"|"powershell"',
        'Invalid value. Expected one of: "bash", "powershell"',
      );
    }
    const wanted = kind === "url" ? "string" : kind;
    const isOfType = wanted === "record" ? isJsonObject(value) : typeOf(value) === wanted;
    if (!isOfType) {
      return told(invalid(wanted, value), expected("", wanted, value).message);
    }
    if (kind === "url" && !URL.canParse(`${value}`)) return told("Invalid URL");
    return typeof value === "number" && value <= 0
      ? told(
        "Too small: expected number to be >0",
        "Number must be greater than or equal to 0",
      )
      : [];
  });
}

function invalid(wanted: string, value: unknown): string {
  return `Invalid input: expected ${wanted}, received ${typeOf(value)}`;
}

/** What the schema says of a value of another type. */
function expected(path: string, wanted: string, value: unknown): Fault {
  return { path, message: `Expected ${wanted}, but received ${typeOf(value)}` };
}

function received(value: unknown): string {
  const type = typeOf(value);
  if (type === "null" || type === "undefined") return type;
  return `${/^[ao]/u.test(type) ? "an" : "a"} ${type}`;
}

/** What a value of JSON is, in Claude Code's word for it. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
