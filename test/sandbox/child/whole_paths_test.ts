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
  for (
    const odd of [{}, { permissions: ["Edit(/x)"] }, { permissions: { allow: "Edit(/x)" } }, {
      sandbox: 7,
    }, { sandbox: { filesystem: ["x"] } }]
  ) {
    assertEquals(withWholePaths(odd, "/h"), odd);
  }
});

Deno.test("withWholePaths() names from the root what rules say of files beside the settings", () => {
  const rules = [
    ...[
      "Edit(/**)",
      "Read(/x)",
      " Write(/a/../b/) ",
      "Edit(/../../s/**)",
      "Edit(/)",
      "Edit(/a(b))",
    ],
    ...["Edit(//t/**)", "Edit(~/x)", "Edit(x)", "Edit", "Bash(/bin/x)", "Edit(/x", 7],
  ];
  const whole = (permissions: unknown, rulesFrom?: string) =>
    withWholePaths({ permissions }, "/w", rulesFrom === undefined ? {} : { rulesFrom });
  const others = rules.slice(6);
  assertEquals(whole({ allow: rules, ask: ["Edit(/x)"], defaultMode: "plan" }, "/u/.c(l)*"), {
    permissions: {
      allow: [
        ...["Edit(//u/.c\\(l\\)?/**)", "Read(//u/.c\\(l\\)?/x)", " Write(//u/.c\\(l\\)?/b/) "],
        ...["Edit(//s/**)", "Edit(//u/.c\\(l\\)?)", "Edit(//u/.c\\(l\\)?/a(b))", ...others],
      ],
      ask: ["Edit(//u/.c\\(l\\)?/x)"],
      defaultMode: "plan",
    },
  });
  // Where the settings stand on the command line they are nowhere.
  assertEquals(whole({ allow: rules, deny: rules }), {
    permissions: { allow: others, deny: rules },
  });
});
