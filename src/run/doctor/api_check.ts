import { FIRST_PARTY } from "../plan/upstream_of.ts";
import { type Check, skippedCheck } from "./check.ts";

/** Time the API may take to answer at all, in milliseconds. */
const LIMIT_MS = 5000;

/**
 * Whether the API can be reached: any answer in HTTP will do, and no login goes along.
 *
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` count as they do for Deno's `fetch`.
 *
 * @param options.baseUrl the value of `ANTHROPIC_BASE_URL`
 * @param options.stop ends the wait
 */
export async function apiCheck(options: {
  readonly baseUrl: string | undefined;
  readonly stop: AbortSignal;
}): Promise<Check> {
  const name = "api";
  const address = URL.parse(options.baseUrl || FIRST_PARTY);
  if (address === null || !/^https?:$/u.test(address.protocol)) {
    return {
      name,
      ok: false,
      detail: "Cannot reach the API: ANTHROPIC_BASE_URL is no URL of the web",
      suggestion: `Set it to something like ${FIRST_PARTY}, or remove it`,
      data: {},
    };
  }
  // What else the URL holds may be a secret.
  const url = address.origin;
  address.username = address.password = "";
  const startedAt = performance.now();
  const limit = AbortSignal.timeout(LIMIT_MS);
  try {
    const { status, body } = await fetch(address, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.any([limit, options.stop]),
    });
    await body?.cancel();
    const ms = Math.round(performance.now() - startedAt);
    const detail = `${url} answers (${status}), ${ms} ms`;
    return { name, ok: true, detail, data: { url, status, ms } };
  } catch (error) {
    if (options.stop.aborted) return skippedCheck(name, "interrupted");
    const why = limit.aborted ? `no answer in ${LIMIT_MS / 1000} s` : reason(error);
    return {
      name,
      ok: false,
      detail: `Cannot reach ${url}: ${why}`,
      suggestion: /certificate/iu.test(why)
        ? "Set NODE_EXTRA_CA_CERTS to the certificate of your proxy"
        : "Look at the network, HTTPS_PROXY and ANTHROPIC_BASE_URL; --offline leaves this out",
      data: { url },
    };
  }
}

/** The end of the chain of reasons in what Deno's `fetch` throws, whose beginning repeats the whole URL. */
function reason(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const { message } = (cause instanceof Error ? cause : error) as Error;
  const certificate = /invalid peer certificate: .*/su.exec(message)?.[0];
  return (certificate ?? message.split(": ").at(-1) ?? message).replace(/ \(os error \d+\)$/u, "");
}
