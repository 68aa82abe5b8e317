import { assertEquals } from "@std/assert";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { versionMatrix } from "../../../fixtures/version_matrix.ts";
import { unlessLacking } from "../../unless_lacking.ts";
import { namedClaude } from "../named_claude.ts";

const python = usablePython();

/** The cells of a table in Markdown, whatever its width, and the list below it. */
const cells = (table: string) =>
  table.split("\n").filter((line) => /^(?:\||- )/u.test(line)).map((line) =>
    line.split("|").map((text) => text.trim().replace(/^-+$/u, "---"))
  );

Deno.test(unlessLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "the README has the versions that are checked: deno task matrix",
  fn: async () => {
    // With a Claude Code that somebody names the tests run that one alone.
    if (python === undefined || namedClaude !== undefined) return;
    const page = await Deno.readTextFile(new URL("../../../README.md", import.meta.url));
    const [, written = ""] = page.split(/<!-- (?:by deno task matrix|until here) -->/u);
    assertEquals(cells(written), cells(await versionMatrix(python)));
  },
}));
