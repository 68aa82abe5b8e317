import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { readUserSetup } from "../../src/doctor/read_user_setup.ts";

Deno.test("readUserSetup() finds login and API where a run would", async () => {
  await using home = await makeThrowawayHome({ apiUrl: "http://127.0.0.1:1", expiresAt: 5 });
  const setup = await readUserSetup({ env: home.env, cwd: home.project });
  assertEquals(setup.userConfig.dir, home.config);
  assertEquals(setup.login?.kind, "stored");
  assertEquals(setup.baseUrl, "http://127.0.0.1:1");
});

Deno.test("readUserSetup() prefers the variables of the settings", async () => {
  await using home = await makeThrowawayHome({ apiUrl: "http://127.0.0.1:1" });
  const settings = {
    env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:2", ANTHROPIC_AUTH_TOKEN: "token" },
  };
  await Deno.writeTextFile(`${home.config}/settings.json`, JSON.stringify(settings));
  const { baseUrl, login } = await readUserSetup({ env: home.env, cwd: home.project });
  assertEquals(baseUrl, "http://127.0.0.1:2");
  assertEquals(login, { kind: "variable", name: "ANTHROPIC_AUTH_TOKEN" });
});

Deno.test("readUserSetup() without anything finds nothing", async () => {
  await using home = await makeThrowawayHome({ loggedIn: false });
  const { login, baseUrl } = await readUserSetup({ env: home.env, cwd: home.project });
  assertEquals([login, baseUrl], [undefined, undefined]);
});
