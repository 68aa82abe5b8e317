import { CliError } from "../../cli_error.ts";
import type { ChildChanges, Ending } from "../../conversation/control/effect.ts";
import type { EarlierOutput } from "../../conversation/output/output_options.ts";
import { definedFields } from "../../defined_fields.ts";
import { applyArgumentChanges } from "../../sandbox/child/changed_arguments.ts";
import type { RunOrder } from "./run_order.ts";

/** The facts about the ended child that the next child needs. */
export interface GoneChild {
  readonly sessionId: string;
  readonly ending: Ending;
  /** The output and the cost of the conversation so far. */
  readonly told: EarlierOutput;
  /** Whether this child, or an earlier one, has answered in the session. */
  readonly hasAnswered: boolean;
  /**
   * Whether the ended child waited for a first message, and is replaced because the files that it had read at its start
   * have changed.
   */
  readonly wasOutdated: boolean;
}

/** The order of the next child. */
export interface NextOrder {
  readonly order: RunOrder;
  /** The caller's order with all changes so far, from which further orders are made. */
  readonly wanted: RunOrder;
  /** Whether the conversation begins again in another session. */
  readonly isAnew: boolean;
  /** One line for the user. */
  readonly warning?: string;
}

/**
 * The order of the child after one that has ended. It resumes the session if there is one.
 *
 * @param wanted the caller's order so far
 * @param options.isKept whether the user has a transcript of a session
 * @throws {CliError} when the session would have to be resumed, but is not kept
 */
export function nextOrder(
  wanted: RunOrder,
  { gone, isKept }: { readonly gone: GoneChild; readonly isKept: (sessionId: string) => boolean },
): NextOrder {
  const { sessionId, ending, told: before } = gone;
  const changes = ending.kind === "renewed" ? ending.changes : undefined;
  const changed = changes === undefined ? wanted : changedOrder(wanted, changes);
  if (changes?.begun !== undefined) {
    const begun = beginningOrder(changed, changes.begun);
    const order = isKept(changes.begun) ? resumedOrder(begun, changes.begun) : begun;
    return { order: { ...order, before }, wanted: begun, isAnew: true };
  }
  const canResume = gone.hasAnswered || isKept(sessionId);
  if (canResume && !wanted.persistSession) {
    throw new CliError("Cannot go on with the conversation: its session is not kept", {
      suggestion: "Leave out --no-session-persistence",
    });
  }
  // Frames of the conversation have named this session, so the next child has to use it.
  const isNamed = changes !== undefined && wanted.resume === undefined &&
    wanted.resumption === undefined;
  const order = canResume
    ? resumedOrder(changed, sessionId)
    : isNamed
    ? beginningOrder(changed, sessionId)
    : changed;
  return {
    order: { ...order, before, ...definedFields({ onStdin: changes?.onStdin }) },
    wanted: changed,
    isAnew: false,
    ...definedFields({ warning: lossWarning(gone, canResume) }),
  };
}

/** The warning about a child that ended without a request. */
function lossWarning(
  { ending, wasOutdated }: GoneChild,
  isResumed: boolean,
): string | undefined {
  const isLost = ending.kind === "renewed" && ending.lost === true;
  if (!isLost && (ending.kind === "renewed" || wasOutdated)) return undefined;
  const loss = isLost
    ? "Claude Code has lost a message with a turn that was stopped; it"
    : "Claude Code is gone; what comes next";
  return `${loss} goes to a new one${isResumed ? " that resumes the session" : ""}`;
}

/** An order with the changes that the caller made while the last child was alive. */
export function changedOrder(order: RunOrder, changes: ChildChanges): RunOrder {
  const { model, permissionMode, setServers, unreached, switched, flagSettings } = changes;
  const { chosenModel: oldModel, forwarded, ...others } = order;
  // An alias such as "opus" is not the model's full name.
  const newModel = changes.chosenModel ?? (model?.startsWith("claude-") ? model : undefined);
  return {
    ...others,
    switched: { ...order.switched, ...switched },
    flagSettings: { ...order.flagSettings, ...flagSettings },
    forwarded: applyArgumentChanges(forwarded, changes),
    ...definedFields({
      setServers,
      callerServers: setServers && [],
      unreached,
      readsNoMentions: changes.readsNoMentions,
      chosenModel: newModel ?? (model === undefined ? oldModel : undefined),
      permissionMode,
      dangerouslySkipPermissions: permissionMode === undefined
        ? undefined
        : permissionMode === "bypassPermissions",
    }),
  };
}

/** An order for a session that does not exist yet. */
function beginningOrder(order: RunOrder, id: string): RunOrder {
  const { resume: _, resumption: __, history: ___, forwarded, ...rest } = order;
  return {
    ...rest,
    sessionId: id,
    forkSession: false,
    forwarded: [...withoutSession(forwarded), `--session-id=${id}`],
  };
}

/** An order that resumes a session. */
export function resumedOrder(order: RunOrder, id: string): RunOrder {
  const { sessionId: _, resumption: __, history: ___, forwarded, ...rest } = order;
  return {
    ...rest,
    resume: id,
    forkSession: false,
    forwarded: [...withoutSession(forwarded), `--resume=${id}`],
  };
}

function withoutSession(forwarded: readonly string[]): readonly string[] {
  return forwarded.filter((argument) =>
    !/^--(?:session-id|resume|fork-session|continue)(?:=|$)/u.test(argument)
  );
}
