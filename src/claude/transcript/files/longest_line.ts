/** The longest line that is read of what others write, in bytes: more than any run writes. */
export const LONGEST_LINE = 64 * 1024 * 1024;
