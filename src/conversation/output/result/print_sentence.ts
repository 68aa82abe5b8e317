/** A part of a sentence that the interactive Claude Code says in other words than `claude -p`. */
interface Wording {
  readonly interactive: string | RegExp;
  readonly print: string;
}

/**
 * Which is which: the interactive program gives advice for its screen, `claude -p`
 * for its command line.
 */
const WORDINGS: readonly Wording[] = [
  { interactive: /^Please run \/login · (?=API Error: )/u, print: "Failed to authenticate. " },
  {
    interactive: /^Login expired · Please run \/login$/u,
    print: "Failed to authenticate: OAuth session expired and could not be refreshed",
  },
  {
    interactive: "Run /model to pick a different model.",
    print: "Run --model to pick a different model.",
  },
  {
    interactive: "Run /compact, or double press esc to go back and remove attachments.",
    print: "Remove older images or compact the conversation.",
  },
  {
    interactive: "Double press esc to go back and try with a smaller file.",
    print: "Try with a smaller file.",
  },
  {
    interactive: "Double press esc to go back and try again with a smaller image.",
    print: "Try resizing the image or using a different approach.",
  },
  {
    interactive:
      "Double press esc to go back and try again, or use pdftotext to convert to text first.",
    print: "Try reading the file a different way (e.g., extract text with pdftotext).",
  },
  {
    interactive: "Please double press esc to edit your message and try again.",
    print: "Try using a CLI tool to extract or convert the PDF.",
  },
  {
    interactive: "Double press esc to go back and try again with a different file.",
    print: "Try converting it to text first (e.g., pdftotext).",
  },
  {
    interactive:
      "Please double press esc to edit your last message or start a new session for Claude Code " +
      "to assist with a different task.",
    print: "Try rephrasing the request in a new session or change your model.",
  },
  {
    interactive:
      "Double press esc to edit your last message, or try a different model with /model.",
    print: "Try rephrasing the request in a new session or change your model.",
  },
  {
    // What is said between is short, and a text of the API's may be long.
    interactive:
      /\n\nYou can learn more: (?<='s safeguards flagged [^]{0,1000}\n\nYou can learn more: )/u,
    print: "\n\nLearn more: ",
  },
  {
    interactive:
      "Double press esc to go back past the large content, or /clear to start a new conversation.",
    print: "Reduce the input (large tool results or pasted content) or start a new session; this " +
      "conversation cannot continue as is.",
  },
];

/**
 * The sentence with which `claude -p` names an API error, from the one the interactive Claude Code has for it.
 *
 * Only for what Claude Code itself says of an error, never for an answer: that is the model's.
 */
export function printSentence(sentence: string): string {
  return WORDINGS.reduce(
    (text, { interactive, print }) => text.replace(interactive, () => print),
    sentence,
  );
}
