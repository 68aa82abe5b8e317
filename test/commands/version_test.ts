import { assertEquals, assertRejects } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { installMockClaude } from "../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { versionText } from "../../src/commands/version.ts";
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

Deno.test("versionText() begins with the line of Claude Code", async () => {
  await withClaude({ version: "2.1.197" }, async (claudeBinary) => {
    assertEquals(
      await versionText({ short: false, claudeBinary }),
      `2.1.197 (Claude Code)\nclaude-print ${deno.version}\n`,
    );
    assertEquals(await versionText({ short: true, claudeBinary }), "2.1.197 (Claude Code)\n");
  });
});

Deno.test("versionText() accepts no other program as Claude Code", async () => {
  await withClaude({ versionText: "2.1.197 (Something Else)" }, async (claudeBinary) => {
    assertEquals(
      await versionText({ short: false, claudeBinary }),
      `claude-print ${deno.version}\n`,
    );
    await assertRejects(
      () => versionText({ short: true, claudeBinary }),
      CliError,
      `Cannot use "${claudeBinary}": it is not Claude Code`,
    );
  });
});

Deno.test("versionText() in short fails without any Claude Code", async () => {
  await assertRejects(
    () => versionText({ short: true, claudeBinary: NOWHERE }),
    CliError,
    `Cannot start claude: "${NOWHERE}" does not exist`,
  );
});
