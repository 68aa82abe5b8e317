/** A path at which nothing can be, whoever may write where: it is below a file (ENOTDIR). */
export const NOWHERE = `${import.meta.filename}/nowhere`;

/** A path at which nothing can be made either, and whose folder there is (ENOENT): one in `/proc`. */
export const MISSING = "/proc/nowhere";
