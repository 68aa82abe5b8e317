import { assertEquals } from "@std/assert";
import { ANTHROPIC_HOSTS, startHttpsProxy } from "../../../../fixtures/api/https_proxy.ts";
import type { LoggedRequest } from "../../../../src/recording/learn/messages_api.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { httpsEnv } from "../../../real/https_env.ts";

const EXACT = ["--stream-text", "--exact-stream"];

/** Headers that differ between two runs or through a relay. */
const OF_ONE_RUN = [
  ...["accept-encoding", "accept-language", "connection", "content-length", "host"],
  "x-client-request-id",
  ...["x-claude-code-prev-tool-durations", "x-claude-code-prompt-id", "x-claude-code-session-id"],
];

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gu;

/** A request without what is of one run, and without the one name that 2.1.330 leaves out. */
function comparable({ path, headers, text }: LoggedRequest) {
  return {
    path,
    headers: Object.fromEntries(
      Object.entries(headers).filter(([name]) => !OF_ONE_RUN.includes(name))
        .map(([name, value]) => [
          name,
          value.replace("mid-conversation-system-clear-at-2026-08-21,", ""),
        ]),
    ),
    text: text.replaceAll(UUID, "ID").replaceAll(/(?:cch=|toolu_|msg_|req_)\w+/gu, "ID"),
  };
}

forNewestVersion("--exact-stream sends the same requests over TLS", async (real) => {
  await using proxy = startHttpsProxy({ hosts: ANTHROPIC_HOSTS, answer: real.api.answer });
  const env = await httpsEnv(real, proxy);
  const prompt = ["--allowedTools", "Bash", "--", "Do it. [[bash echo one]] [[say done]]"];
  const plain = await real.printInProcess(["-p", ...prompt], { env });
  const exact = await real.printInProcess(["-p", ...EXACT, ...prompt], { env });
  assertEquals([exact, exact.stdout], [plain, "done\n"]);
  const requests = real.api.turns.map(comparable);
  assertEquals(requests.length, 4);
  assertEquals(requests.slice(2), requests.slice(0, 2));
});

forNewestVersion("--exact-stream uses the API and proxy of the settings", async (real) => {
  const settings = { env: { ANTHROPIC_BASE_URL: `${real.api.url}/base`, NO_PROXY: "127.0.0.1" } };
  await Deno.writeTextFile(`${real.home.config}/settings.json`, JSON.stringify(settings));
  const env = { ANTHROPIC_BASE_URL: "http://127.0.0.1:1", NO_PROXY: undefined };
  await real.printInProcess(["-p", ...EXACT, "--", "Hi [[say there]]"], {
    env: { ...env, CLAUDE_CODE_MAX_RETRIES: "0" },
  });
  const paths = new Set(real.api.requests.map(({ path }) => path));
  assertEquals([...paths], ["/base/v1/messages?beta=true"]);
});
