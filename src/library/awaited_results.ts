/** Messages that wait for the result of the turn that answers them, by their tickets. */
export interface AwaitedResults<Result> {
  /** What becomes of a message that is about to be sent. */
  readonly expect: (ticket: string) => Promise<Result>;
  /** Hands a result to the messages that its turn answers. */
  readonly answer: (tickets: readonly string[], result: Result) => void;
  /** Tells all that still wait why they do so in vain. */
  readonly fail: (error: unknown) => void;
}

/** No messages yet. */
export function awaitedResults<Result>(): AwaitedResults<Result> {
  const waiting = new Map<string, PromiseWithResolvers<Result>>();
  return {
    expect: (ticket) => {
      const result = Promise.withResolvers<Result>();
      waiting.set(ticket, result);
      return result.promise;
    },
    answer: (tickets, result) => {
      for (const ticket of tickets) {
        waiting.get(ticket)?.resolve(result);
        waiting.delete(ticket);
      }
    },
    fail: (error) => {
      for (const result of waiting.values()) result.reject(error);
      waiting.clear();
    },
  };
}
