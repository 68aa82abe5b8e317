import type { LibcInventory } from "../../ffi/libc.ts";
import type { Check } from "./check.ts";

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
