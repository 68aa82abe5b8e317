/**
 * The shapes of what agentapi 0.11 answers, by its published OpenAPI file: JSON schemas in words of our own.
 *
 * That file closes each of its objects; what is said here beyond it stands in `claude_print`, which is taken out first.
 */

const closed = (
  properties: Readonly<Record<string, unknown>>,
  optional: readonly string[] = [],
) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

const text = { type: "string" };
const whole = { type: "integer" };
const role = { enum: ["agent", "user"] };
const status = { enum: ["running", "stable"] };
const time = {
  type: "string",
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`,
};

/** The bodies of the answers, and the data of the events by their names. */
export const PUBLISHED_SHAPES = {
  status: closed({ agent_type: text, status }),
  messages: closed({
    messages: { type: "array", items: closed({ id: whole, role, content: text, time }) },
  }),
  message: closed({ ok: { type: "boolean" } }),
  message_update: closed({ id: whole, role, message: text, time }),
  status_change: closed({ agent_type: text, status }),
  problem: closed({
    type: text,
    title: text,
    status: whole,
    detail: text,
    instance: text,
    errors: {
      type: "array",
      items: closed({ location: text, message: text, value: {} }, ["location", "message", "value"]),
    },
  }, ["type", "title", "status", "detail", "instance", "errors"]),
} as const;
