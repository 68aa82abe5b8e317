/** What the model is told of a call that a hook of the caller's has put off, and by which the call is known later. */
export const DEFERRED =
  "This call was deferred and has not been carried out: whoever goes on with the session decides on it";
