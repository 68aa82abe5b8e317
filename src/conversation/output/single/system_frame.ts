import type { SystemFrame } from "../../../claude/wire/system_frames.ts";

/** A `system` frame of a session, with an id of its own unless `fields` name one; what is undefined is left out. */
export function systemFrame(
  subtype: SystemFrame["subtype"],
  fields: Readonly<Record<string, unknown>>,
  context: { readonly sessionId: string; readonly newUuid: () => string },
): SystemFrame {
  const { uuid, ...more } = fields;
  return {
    type: "system",
    subtype,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
    uuid: uuid ?? context.newUuid(),
    session_id: context.sessionId,
    // Their fields are Claude Code's own, which are passed on as they come.
  } as SystemFrame;
}
