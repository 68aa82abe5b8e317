import type { RunOrder } from "./plan/run_order.ts";

/** The same as an order, for a session that there is by now. */
export function resumedOrder(order: RunOrder, id: string): RunOrder {
  const { sessionId: _, resumption: __, ...rest } = order;
  const forwarded = order.forwarded.filter((argument) =>
    !/^--(?:session-id|resume|fork-session|continue)(?:=|$)/u.test(argument)
  );
  return { ...rest, resume: id, forkSession: false, forwarded: [...forwarded, `--resume=${id}`] };
}
