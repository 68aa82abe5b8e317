import { assertEquals, assertRejects } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { installMockClaude } from "../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { versionLine } from "../../src/commands/version.ts";
import { CliError } from "../../src/cli_error.ts";
import { NOWHERE } from "../nowhere.ts";

/** Calls `test` with the path of a stand-in. */
async function withClaude(
  scenario: Partial<Scenario>,
  test: (claudeBinary: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(await installMockClaude(folder, { scenario }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("versionLine() names both versions, or in short Claude Code's as it does itself", async () => {
  await withClaude({ version: "2.1.197" }, async (claudeBinary) => {
    assertEquals(
      await versionLine({ short: false, claudeBinary }),
      `claude-print ${deno.version} (wrapping claude 2.1.197)`,
    );
    assertEquals(await versionLine({ short: true, claudeBinary }), "2.1.197 (Claude Code)");
  });
});

Deno.test("versionLine() does not take something else for Claude Code", async () => {
  await withClaude({ versionText: "2.1.197 (Something Else)" }, async (claudeBinary) => {
    assertEquals(
      await versionLine({ short: false, claudeBinary }),
      `claude-print ${deno.version} (wrapping claude not found)`,
    );
    await assertRejects(
      () => versionLine({ short: true, claudeBinary }),
      CliError,
      `Cannot use "${claudeBinary}": it is not Claude Code`,
    );
  });
});

Deno.test("versionLine() in short fails without any Claude Code", async () => {
  await assertRejects(
    () => versionLine({ short: true, claudeBinary: NOWHERE }),
    CliError,
    `Cannot start claude: "${NOWHERE}" does not exist`,
  );
});
