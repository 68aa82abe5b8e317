import type { HttpsProxy } from "../../fixtures/api/https_proxy.ts";
import type { RealClaude } from "./real_claude.ts";

/** The variables by which Claude Code asks Anthropic's own address through a proxy. */
export async function httpsEnv(
  { home }: RealClaude,
  proxy: HttpsProxy,
): Promise<Record<string, string | undefined>> {
  const authorities = `${home.path}/authorities.pem`;
  await Deno.writeTextFile(authorities, proxy.certificate);
  return {
    ANTHROPIC_BASE_URL: undefined,
    HTTPS_PROXY: proxy.url,
    NODE_EXTRA_CA_CERTS: authorities,
    NO_PROXY: undefined,
  };
}
