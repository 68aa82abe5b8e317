/** What a stand-in for the executable says of itself. */
export interface FakeOptions {
  readonly version?: string;
  /** The version of Claude Code it wraps; by default it finds none. */
  readonly claude?: string;
  /** Bytes of ballast. */
  readonly ballast?: number;
}

/** A shell script that answers what the installer asks of the executable. */
export function fakeProgram(options: FakeOptions = {}): string {
  const { version = "0.1.0", claude, ballast = 0 } = options;
  return `#!/bin/sh
case $1 in
  --version)${
    claude === undefined ? "" : ` echo "${claude} (Claude Code)";`
  } echo "claude-print ${version}" ;;
  completion) echo "# claude-print ${version} for $2" ;;
  man) echo ".TH CLAUDE-PRINT 1 ${version}" ;;
  *) exit 2 ;;
esac
exit
${"#".repeat(ballast)}
`;
}
