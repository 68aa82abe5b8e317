import { makeNewcomer, type Newcomer, type NewcomerOptions } from "./newcomer.ts";
import { type Shell, SHELLS } from "./shells.ts";

/** What a test needs of the machine. */
export interface Needs {
  readonly newcomer?: NewcomerOptions;
  /** Whether the programs that the installer uses are other ones than usual, or missing. */
  readonly otherTools?: boolean;
  /** Why the test cannot run on this machine, if so. */
  readonly cannot?: string | undefined;
}

/** Tests the installer under every shell, each time with a new home. */
export function testUnderShells(
  name: string,
  test: (newcomer: Newcomer, shell: Shell) => Promise<void>,
  needs: Needs = {},
): void {
  for (const shell of SHELLS) {
    const reason = shell.command.length === 0
      ? `no ${shell.name.split(" ")[0]} here`
      : needs.otherTools === true && shell.bringsTools
      ? "this one has its own tools in it"
      : needs.cannot;
    Deno.test({
      name: `${name}, under ${shell.name}${reason === undefined ? "" : ` (${reason})`}`,
      ignore: reason !== undefined,
      fn: async () => {
        await using newcomer = await makeNewcomer(shell, needs.newcomer);
        await test(newcomer, shell);
      },
    });
  }
}
