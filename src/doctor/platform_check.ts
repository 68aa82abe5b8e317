import { type Platform, platformProblem } from "../../ffi/platform.ts";
import { type Check, failedCheck } from "./check.ts";

/** Whether the program can run on this platform at all. */
export function platformCheck(platform: Platform): Check {
  const { os, arch, glibc } = platform;
  const data = { os, arch, glibc: glibc ?? null };
  const problem = platformProblem(platform);
  return problem === undefined
    ? { name: "platform", ok: true, detail: `${arch} Linux, glibc ${glibc ?? "unknown"}`, data }
    : { ...failedCheck("platform", problem), data };
}
