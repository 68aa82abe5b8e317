/**
 * Keeps the program alive after uncaught errors and rejections, until disposed, because an error in a promise or timer
 * of one conversation must not end the others.
 */
export function catchUncaughtErrors(onUncaught: (error: unknown) => void): Disposable {
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    onUncaught(event.reason);
  };
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    onUncaught(event.error);
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
