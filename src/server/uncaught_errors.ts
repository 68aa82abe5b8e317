/**
 * Keeps the program alive whatever nobody catches, until it is disposed: what goes wrong in one conversation, in a promise or
 * in a timer of its, is no reason to end all others.
 *
 * @param onMistake takes what was thrown
 */
export function surviveMistakes(onMistake: (error: unknown) => void): Disposable {
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    onMistake(event.reason);
  };
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    onMistake(event.error);
  };
  addEventListener("unhandledrejection", onRejection);
  addEventListener("error", onError);
  return {
    [Symbol.dispose]: () => {
      removeEventListener("unhandledrejection", onRejection);
      removeEventListener("error", onError);
    },
  };
}
