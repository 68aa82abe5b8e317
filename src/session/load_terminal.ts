import type { Terminal } from "@xterm/headless";

/** Loads a headless xterm, which is large, and which most runs never need. */
export async function loadTerminal(): Promise<typeof Terminal> {
  // By its path: the name that the package has for bundlers leads to a file it does not hold.
  const module = await import("@xterm/headless/lib-headless/xterm-headless.mjs");
  return module.Terminal;
}
