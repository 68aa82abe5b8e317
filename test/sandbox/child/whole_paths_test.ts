import { assertEquals } from "@std/assert";
import { withWholePaths } from "../../../src/sandbox/child/whole_paths.ts";

Deno.test("withWholePaths() names from the root what the Bash sandbox may reach, and leaves all else as it is", () => {
  const filesystem = {
    allowWrite: ["..", "../../x/**", ".", "a", " ..", "", 1],
    denyRead: ["/b/../c", "//d", "~", "~/e", "~f", " /g"],
    disabled: false,
  };
  const more = { model: "opus", permissions: { additionalDirectories: [".."] } };
  assertEquals(
    withWholePaths({ ...more, sandbox: { enabled: true, filesystem } }, "/home/u/.claude"),
    {
      ...more,
      sandbox: {
        enabled: true,
        filesystem: {
          allowWrite: [
            ...["/home/u", "/home/x/**", "/home/u/.claude", "/home/u/.claude/a", "/home/u"],
            ...["/home/u/.claude", 1],
          ],
          denyRead: ["/b/../c", "//d", "~", "~/e", "/home/u/.claude/~f", "/g"],
          disabled: false,
        },
      },
    },
  );
  for (const odd of [{}, { sandbox: 7 }, { sandbox: { filesystem: ["x"] } }]) {
    assertEquals(withWholePaths(odd, "/h"), odd);
  }
});
