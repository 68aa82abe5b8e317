import { missingTool } from "../../missing_tool.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { makeNewcomer, type Newcomer, type NewcomerOptions } from "./newcomer.ts";
import { type Shell, SHELLS } from "../../shells.ts";

/** What a test needs of the machine. */
export interface Needs {
  readonly newcomer?: NewcomerOptions;
  /** Whether programs that the installer uses are replaced or missing. */
  readonly otherTools?: boolean;
  /** What this machine lacks for the test, if anything. */
  readonly lack?: string | undefined;
  /** Whether one shell is enough, because the test does not depend on the shell. */
  readonly once?: boolean;
}

/** How many tests were registered: each test with `once` takes the next shell. */
let count = 0;

/** Tests the installer under every shell, each time with a new home. */
export function testUnderShells(
  name: string,
  test: (newcomer: Newcomer, shell: Shell) => Promise<void>,
  needs: Needs = {},
): void {
  // A shell with built-in tools would not use the tools on PATH.
  const shells = SHELLS.filter((shell) => needs.otherTools !== true || !shell.bringsTools);
  const present = shells.filter(({ command }) => command.length > 0);
  const turn = count++ % Math.max(present.length, 1);
  for (const shell of needs.once === true ? present.slice(turn, turn + 1) : shells) {
    const [program = ""] = shell.name.split(" ");
    Deno.test(skipIfLacking(missingTool(program) ?? needs.lack, {
      name: `${name}, under ${shell.name}`,
      fn: async () => {
        await using newcomer = await makeNewcomer(shell, needs.newcomer);
        await test(newcomer, shell);
      },
    }));
  }
}
