import { hookEventsOf } from "../versions/tables.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * Events whose hooks can forbid something. If Claude Code cannot load such a hook, it ignores all settings of that file
 * or flag.
 */
const GUARDING_EVENTS = ["PreToolUse", "PermissionRequest", "PreSkillShellCommand"];
const GUARD_CONSEQUENCE =
  " — a PreToolUse/PermissionRequest hook that cannot be loaded may be what guards " +
  "the permissions declared beside it, so nothing it sits in is applied until the entry is fixed or removed.";

/** A fault in settings, in Claude Code's words. */
interface Fault {
  /** The keys that lead to it, joined by dots: `hooks.PreToolUse.0.hooks.1`. */
  readonly path: string;
  readonly message: string;
}

/** A fault of a hook. Claude Code reports a faulty guarding hook twice: as a hook, and as its settings schema does. */
interface HookFault extends Fault {
  /** Ends the message if Claude Code ignores this hook alone. */
  readonly ignoredSuffix: string;
  /** Ends the message in both cases. */
  readonly hint?: string;
  readonly schemaFaults: readonly Fault[];
}

/** The types of hooks. `fields` lists `name:type`; the first `needs` fields are required. */
const HOOK_TYPES: Readonly<Record<string, { readonly needs: number; readonly fields: string }>> = {
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
const HOOK_TYPE_NAMES = Object.keys(HOOK_TYPES);

/** Returns the faults of guarding hooks, which keep a version of Claude Code from loading their settings. */
export function guardingHookFaults(hooks: unknown, version: string): readonly Fault[] {
  const known = hookEventsOf(version);
  const faults = hookFaults(
    hooks,
    (event) => GUARDING_EVENTS.includes(event) && known.includes(event),
  );
  return [
    ...faults.map(({ path, message, hint = "" }) => ({
      path,
      message: `${message}${GUARD_CONSEQUENCE}${hint}`,
    })),
    ...faults.flatMap(({ schemaFaults }) => schemaFaults),
  ];
}

/** Returns the faults of hooks that a version ignores, while it loads the rest of their settings. */
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
    return hookFaults({ [event]: hooks[event] }, (each) => !GUARDING_EVENTS.includes(each))
      .map(({ path, message, ignoredSuffix, hint = "" }) => ({
        path,
        message: `${message}${ignoredSuffix}${hint}`,
      }));
  });
}

function hookFaults(hooks: unknown, isIncluded: (event: string) => boolean): readonly HookFault[] {
  if (!isJsonObject(hooks)) return [];
  return Object.entries(hooks).filter(([event]) => isIncluded(event)).flatMap(
    ([event, matchers]) => {
      const path = `hooks.${event}`;
      if (Array.isArray(matchers)) {
        return matchers.flatMap((matcher, place) => matcherFaults(`${path}.${place}`, matcher));
      }
      const message = `Hook event "${event}" must be an array of matchers; received ${
        typeOf(matchers)
      }`;
      const ignoredSuffix = ". This entry was ignored.";
      return [{
        path,
        message,
        ignoredSuffix,
        schemaFaults: [schemaFault(path, "array", matchers)],
      }];
    },
  );
}

function matcherFaults(path: string, matcher: unknown): readonly HookFault[] {
  const fault = (message: string, ofSchema: Fault) => [
    { path, message, ignoredSuffix: "; matcher ignored.", schemaFaults: [ofSchema] },
  ];
  if (!isJsonObject(matcher)) {
    const message = `Hook matcher must be an object; received ${describeReceived(matcher)}`;
    return fault(message, schemaFault(path, "object", matcher));
  }
  const { hooks, matcher: pattern } = matcher;
  if (!Array.isArray(hooks)) {
    const message = `Hook matcher "hooks" must be an array of hook entries; received ${
      describeReceived(hooks)
    }`;
    return fault(message, schemaFault(`${path}.hooks`, "array", hooks));
  }
  if (pattern !== undefined && typeof pattern !== "string") {
    const message = `Invalid hook matcher (matcher: ${invalidInput("string", pattern)})`;
    return fault(message, schemaFault(`${path}.matcher`, "string", pattern));
  }
  return hooks.flatMap((hook, place) => entryFaults(`${path}.hooks.${place}`, hook));
}

function entryFaults(path: string, hook: unknown): readonly HookFault[] {
  const ignoredSuffix = "; entry ignored.";
  if (!isJsonObject(hook)) {
    const message = `Hook entry must be an object; received ${describeReceived(hook)}`;
    return [{
      path,
      message,
      ignoredSuffix,
      schemaFaults: [schemaFault(path, "object", hook)],
    }];
  }
  const type = hook["type"];
  if (typeof type !== "string" || !HOOK_TYPE_NAMES.includes(type)) {
    const message = type === undefined
      ? 'Hook entry has no "type"'
      : typeof type === "string"
      ? `Unknown hook type "${type}"`
      : `Hook entry "type" must be a string; received ${describeReceived(type)}`;
    const choices = HOOK_TYPE_NAMES.map((name) => `'${name}'`).join(" | ");
    const schemaFaults = [{
      path: `${path}.type`,
      message: `Invalid discriminator value. Expected ${choices}`,
    }];
    const hint = ` Valid types: ${HOOK_TYPE_NAMES.join(", ")}`;
    return [{
      path: `${path}.type`,
      message,
      ignoredSuffix,
      hint,
      schemaFaults,
    }];
  }
  const wrong = wrongFields(type, hook);
  if (wrong.length === 0) return [];
  const all = wrong.map(({ name, message }) => `${name}: ${message}`).join("; ");
  return [{
    path,
    message: `Invalid ${type} hook (${all})`,
    ignoredSuffix,
    schemaFaults: wrong.map(({ name, schemaMessage }) => ({
      path: `${path}.${name}`,
      message: schemaMessage,
    })),
  }];
}

/** Returns the fields of a hook that are missing or have a wrong value, each with both messages. */
function wrongFields(type: string, hook: JsonObject) {
  const { needs = 0, fields = "" } = HOOK_TYPES[type] ?? {};
  return fields.split(" ").flatMap((field, place) => {
    const [name = "", kind = ""] = field.split(":");
    const value = hook[name];
    if (value === undefined && place >= needs) return [];
    const fault = (message: string, schemaMessage = message) => [{ name, message, schemaMessage }];
    if (kind === "shell") {
      return value === "bash" || value === "powershell" ? [] : fault(
        'Invalid option: expected one of "bash"|"powershell"',
        'Invalid value. Expected one of: "bash", "powershell"',
      );
    }
    const wanted = kind === "url" ? "string" : kind;
    const isOfType = wanted === "record" ? isJsonObject(value) : typeOf(value) === wanted;
    if (!isOfType) {
      return fault(invalidInput(wanted, value), schemaFault("", wanted, value).message);
    }
    if (kind === "url" && !URL.canParse(`${value}`)) return fault("Invalid URL");
    return typeof value === "number" && value <= 0
      ? fault(
        "Too small: expected number to be >0",
        "Number must be greater than or equal to 0",
      )
      : [];
  });
}

function invalidInput(wanted: string, value: unknown): string {
  return `Invalid input: expected ${wanted}, received ${typeOf(value)}`;
}

/** Returns the fault that the settings schema reports for a value of a wrong type. */
function schemaFault(path: string, wanted: string, value: unknown): Fault {
  return { path, message: `Expected ${wanted}, but received ${typeOf(value)}` };
}

function describeReceived(value: unknown): string {
  const type = typeOf(value);
  if (type === "null" || type === "undefined") return type;
  return `${/^[ao]/u.test(type) ? "an" : "a"} ${type}`;
}

/** Returns the type of a JSON value in Claude Code's words: `null` and `array` are types of their own. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
