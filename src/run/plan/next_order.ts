import type { RunOrder } from "./run_order.ts";
import { CliError } from "../../cli_error.ts";
import type { ToldBefore } from "../../conversation/output/telling/frames_options.ts";
import { changedArguments } from "../../sandbox/child/changed_arguments.ts";
import type { ChildChanges, Ending } from "../../conversation/control/effect.ts";

/** A child that is gone, as the one after it has to know it. */
export interface GoneChild {
  readonly sessionId: string;
  readonly ending: Ending;
  /** What has been said of the conversation so far. */
  readonly told: ToldBefore;
  /** Whether it, or one before it, has answered in this session. */
  readonly hasAnswered: boolean;
  /** Whether it was started early, and is replaced because it was outdated when there was something to say. */
  readonly wasOutdated: boolean;
}

/** What comes after a child that is gone. */
export interface NextOrder {
  /** What the next child is started with. */
  readonly order: RunOrder;
  /** What is asked for from now on, with what the caller has changed. */
  readonly wanted: RunOrder;
  /** Whether the conversation begins anew, in another session. */
  readonly isAnew: boolean;
  /** What the user is warned of, in one line. */
  readonly warning?: string;
}

/**
 * What the child after one that is gone is started with: it goes on with the session, if that one has left something to
 * go on with.
 *
 * @param wanted what was asked for until now
 * @param options.isKept whether the user has a transcript of a session
 * @throws {CliError} when there is something to go on with that was not to be kept
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
  const hasLeft = gone.hasAnswered || isKept(sessionId);
  if (hasLeft && !wanted.persistSession) {
    throw new CliError("Cannot go on with the conversation: its session is not kept", {
      suggestion: "Leave out --no-session-persistence",
    });
  }
  // What was printed so far names the session.
  const isNamed = changes !== undefined && wanted.resume === undefined &&
    wanted.resumption === undefined;
  const order = hasLeft
    ? resumedOrder(changed, sessionId)
    : isNamed
    ? beginningOrder(changed, sessionId)
    : changed;
  const onStdin = changes?.onStdin === undefined ? {} : { onStdin: changes.onStdin };
  return {
    order: { ...order, before, ...onStdin },
    wanted: changed,
    isAnew: false,
    ...lossOf(gone, hasLeft),
  };
}

/** What is said of a child whose end was not asked for. */
function lossOf(
  { ending, wasOutdated }: GoneChild,
  hasLeft: boolean,
): Pick<NextOrder, "warning"> {
  const isLost = ending.kind === "renewed" && ending.lost === true;
  if (!isLost && (ending.kind === "renewed" || wasOutdated)) return {};
  const what = isLost
    ? "Claude Code has lost a message with a turn that was stopped; it"
    : "Claude Code is gone; what comes next";
  return { warning: `${what} goes to a new one${hasLeft ? " that resumes the session" : ""}` };
}

/** An order with what the caller has asked to be otherwise while its last child lived. */
export function changedOrder(order: RunOrder, changes: ChildChanges): RunOrder {
  const { model, permissionMode, setServers, unreached, switched, flagSettings } = changes;
  // An alias is the name of no model.
  const chosen = changes.chosenModel ?? (model?.startsWith("claude-") ? model : undefined);
  const { forwarded, chosenModel, ...others } = order;
  return {
    ...others,
    ...(setServers === undefined ? {} : { setServers, callerServers: [] }),
    ...(unreached === undefined ? {} : { unreached }),
    switched: { ...order.switched, ...switched },
    flagSettings: { ...order.flagSettings, ...flagSettings },
    ...(changes.readsNoMentions ? { readsNoMentions: true } : {}),
    ...(model === undefined && chosenModel !== undefined ? { chosenModel } : {}),
    ...(permissionMode === undefined
      ? {}
      : { permissionMode, dangerouslySkipPermissions: permissionMode === "bypassPermissions" }),
    ...(chosen === undefined ? {} : { chosenModel: chosen }),
    forwarded: changedArguments(forwarded, changes),
  };
}

/** The same as an order, for a session that is yet to begin. */
function beginningOrder(order: RunOrder, id: string): RunOrder {
  const { resume: _, resumption: __, history: ___, forwarded, ...rest } = order;
  return {
    ...rest,
    sessionId: id,
    forkSession: false,
    forwarded: [...withoutSession(forwarded), `--session-id=${id}`],
  };
}

/** The same as an order, for a session that there is by now. */
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
