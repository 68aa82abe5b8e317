/** What a bridge's FIFO towards the caller is called after the bridge's place, and the one towards the child. */
export const UP_SUFFIX = ".up";
export const DOWN_SUFFIX = ".down";
