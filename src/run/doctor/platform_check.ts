import type { LibcInventory } from "../../../ffi/libc.ts";
import { type Platform, platformProblem } from "../../../ffi/platform.ts";
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

/** Whether the C library has every function that the program calls. */
export function libcCheck({ functions, missing }: LibcInventory): Check {
  const name = "libc";
  const data = { functions, missing };
  return missing.length === 0
    ? { name, ok: true, detail: `all ${functions} functions are there`, data }
    : {
      name,
      ok: false,
      detail: `${missing.length} of ${functions} functions are missing: ${missing.join(", ")}`,
      suggestion: "Use a system with an unmodified glibc, such as Debian 12",
      data,
    };
}
