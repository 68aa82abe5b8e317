import { LibcError } from "./errno.ts";
import { LibcUnavailableError } from "./platform.ts";
import { readProcFile } from "./proc.ts";

/** Signals that do not reach this program, by their numbers. */
export interface SignalMasks {
  /** SIGPIPE, which Deno ignores, and what whoever started the program had it ignore, as nohup(1) does with SIGHUP. */
  readonly ignored: ReadonlySet<number>;
  /** What whoever started the program had blocked, and still is. */
  readonly blocked: ReadonlySet<number>;
}

/** Reads the masks of this program (proc(5)); they are empty where nothing can be known. */
export function signalMasks(): SignalMasks {
  let status = "";
  try {
    status = new TextDecoder().decode(readProcFile("/proc/self/status"));
  } catch (error) {
    if (!(error instanceof LibcError || error instanceof LibcUnavailableError)) throw error;
  }
  return { ignored: mask(status, "SigIgn"), blocked: mask(status, "SigBlk") };
}

function mask(status: string, name: string): ReadonlySet<number> {
  const bits = BigInt(`0x${new RegExp(`^${name}:\\s*(\\w+)$`, "mu").exec(status)?.[1] ?? "0"}`);
  const numbers = Array.from({ length: 64 }, (_, bit) => bit + 1);
  return new Set(numbers.filter((number) => (bits >> BigInt(number - 1) & 1n) === 1n));
}
