import type { Login } from "../../src/sandbox/user_config.ts";

/** A stored login that never expires. */
export function storedLogin(subscription?: string): Extract<Login, { readonly kind: "stored" }> {
  return {
    kind: "stored",
    subscription,
    expiresAt: undefined,
    refreshable: true,
    refreshableUntil: undefined,
  };
}
