/** The prompt of every run of the bench. */
export const PROMPT = "hi";
