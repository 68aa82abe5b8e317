import { lackOf } from "../find_tool.ts";
import { unlessLacking } from "../unless_lacking.ts";
import { makeNewcomer, type Newcomer, type NewcomerOptions } from "./newcomer.ts";
import { type Shell, SHELLS } from "./shells.ts";

/** What a test needs of the machine. */
export interface Needs {
  readonly newcomer?: NewcomerOptions;
  /** Whether the programs that the installer uses are other ones than usual, or missing. */
  readonly otherTools?: boolean;
  /** What this machine lacks for the test, if anything. */
  readonly lack?: string | undefined;
  /** Whether one shell will do, because what is tested is not up to the shell; not the same one for each test. */
  readonly once?: boolean;
}

/** Tests the installer under every shell, each time with a new home. */
export function testUnderShells(
  name: string,
  test: (newcomer: Newcomer, shell: Shell) => Promise<void>,
  needs: Needs = {},
): void {
  // A shell that has the tools in it would not use others.
  const shells = SHELLS.filter((shell) => needs.otherTools !== true || !shell.bringsTools);
  const present = shells.filter(({ command }) => command.length > 0);
  const turn = name.length % present.length;
  for (const shell of needs.once === true ? present.slice(turn, turn + 1) : shells) {
    const [program = ""] = shell.name.split(" ");
    Deno.test(unlessLacking(lackOf(program) ?? needs.lack, {
      name: `${name}, under ${shell.name}`,
      fn: async () => {
        await using newcomer = await makeNewcomer(shell, needs.newcomer);
        await test(newcomer, shell);
      },
    }));
  }
}
