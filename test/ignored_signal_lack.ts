import { signalMasks } from "../ffi/processes/own_signals.ts";
import { SIGNALS } from "../ffi/processes/signals.ts";

/**
 * What a test lacks that sends a signal to a program which does not insist on it: where the tests themselves were started
 * with the signal ignored, as by nohup(1) or by a shell in the background, that program ignores it too.
 */
export function ignoredSignalLack(signal: keyof typeof SIGNALS): string | undefined {
  return signalMasks().ignored.has(SIGNALS[signal]) ? `a ${signal} that is not ignored` : undefined;
}
