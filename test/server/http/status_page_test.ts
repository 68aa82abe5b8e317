import { assert, assertEquals, assertMatch } from "@std/assert";
import { PAGE, PAGE_HEADERS } from "../../../src/server/http/status_page.ts";

Deno.test("the page loads nothing from elsewhere", () => {
  assertEquals([...PAGE.matchAll(/\b(?:src|href)=["'][^"']*/gu)].map(([all]) => all), [
    'href="data:,',
  ]);
  assertMatch(PAGE_HEADERS["content-security-policy"] ?? "", /^default-src 'none'; /u);
  assert(!/unsafe|\*/u.test(PAGE_HEADERS["content-security-policy"] ?? ""));
});
