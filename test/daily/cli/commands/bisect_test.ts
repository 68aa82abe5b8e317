import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import {
  findBoundary,
  type Verdict,
  versionsBetween,
} from "../../../../src/cli/drift/bisect_command.ts";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import { installMockClaude } from "../../../../fixtures/mock/install_mock_claude.ts";
import { makeThrowawayHome, type ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { putFakeNpm, saysVersion } from "../../../program/claude/program/fake_npm.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { leftovers } from "../../../leftovers.ts";
import { MOUNT_LACK } from "../../../program/mount_lack.ts";
import { until } from "../../../program/stand_in.ts";
import { startProgram } from "../../../start_program.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { writeScript } from "../../../write_script.ts";

/** Searches verdicts such as "ggsb", a letter a version, and counts the tests. */
async function search(letters: string) {
  const tested: number[] = [];
  const found = await findBoundary(letters.length, (index): Promise<Verdict> => {
    tested.push(index);
    const verdicts: Record<string, Verdict> = { g: "good", b: "bad", s: "skipped" };
    return Promise.resolve(verdicts[letters[index] ?? ""] ?? "skipped");
  });
  return { ...found, tested };
}

Deno.test("every boundary is found with few tests", async () => {
  for (let good = 1; good < 60; good++) {
    const { lastGood, firstBad, undecided, tested } = await search(
      "g".repeat(good) + "b".repeat(60 - good),
    );
    assertEquals([lastGood, firstBad, undecided], [good - 1, good, []]);
    assert(tested.length <= 6, `${tested.length} tests`);
    assertEquals(new Set(tested).size, tested.length);
    assert(!tested.includes(0) && !tested.includes(59), "the ends are known");
  }
});

/** Verdicts, and the last good version, the first bad one and those in between that are undecided. */
const BOUNDARIES: Readonly<Record<string, readonly [number, number, readonly number[]]>> = {
  gb: [0, 1, []],
  // Versions that cannot be tested are passed over.
  gggsssgbb: [6, 7, []],
  ggssbb: [1, 4, [2, 3]],
  gsssb: [0, 4, [1, 2, 3]],
};

Deno.test("untestable versions at the boundary stay undecided", async () => {
  for (const [letters, expected] of Object.entries(BOUNDARIES)) {
    const { lastGood, firstBad, undecided } = await search(letters);
    assertEquals([lastGood, firstBad, undecided], [...expected], letters);
  }
  assertEquals((await search("gb")).tested, []);
});

Deno.test("with several changes one of them is found", async () => {
  for (const letters of ["gbgbgbgb", "ggbbggbb", "gbbbbbgb"]) {
    const { lastGood, firstBad } = await search(letters);
    assertEquals([letters[lastGood], letters[firstBad]], ["g", "b"]);
    assertEquals(firstBad, lastGood + 1);
  }
});

const RUNS = new URL("../../../../fixtures/recordings/runs/", import.meta.url).pathname;
/** Seven versions that are newer than any real one, and as many as a search needs to halve them twice. */
const VERSIONS = [0, 1, 2, 3, 4, 5, 6].map((patch) => `2.99.${patch}`);
const ENDS = ["--good", "2.99.0", "--bad", "2.99.6"];

interface Scene {
  readonly home: ThrowawayHome;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly start: (...args: readonly string[]) => ReturnType<typeof startProgram>;
  readonly bisect: (...args: readonly string[]) => ReturnType<typeof startProgram>["ended"];
}

/** A user whose npm serves the versions, which do nothing but tell their version unless a test puts others there. */
async function inScene(
  use: (scene: Scene) => Promise<void>,
  { before = "" }: { readonly before?: string } = {},
): Promise<void> {
  await using home = await makeThrowawayHome();
  for (const name of ["bin", "releases"]) await Deno.mkdir(`${home.path}/${name}`);
  for (const version of VERSIONS) {
    await writeScript(`${home.path}/releases/${version}`, saysVersion(version));
  }
  const versions = VERSIONS.toReversed();
  await putFakeNpm(home.path, { versions, before });
  const env = { ...home.env, PATH: `${home.path}/bin:${home.env["PATH"]}` };
  const command = [...CLAUDE_PRINT, "bisect"];
  const start = (...args: readonly string[]) =>
    startProgram([...command, ...args], { env, cwd: home.project });
  await use({ home, command, env, start, bisect: (...args) => start(...args).ended });
  assertEquals(await leftovers(home), []);
}

/** Puts stand-ins for Claude Code into the registry that answer "done", and others from a version on. */
async function putStandIns(
  { path }: ThrowawayHome,
  { from, text }: { readonly from: string; readonly text: string },
): Promise<void> {
  for (const version of VERSIONS) {
    const answer = version >= from ? text : "done";
    await installMockClaude(`${path}/releases`, {
      name: version,
      scenario: { version, turns: [[{ text: answer }]] },
    });
  }
}

/** The newest fixture that has answers of the API. */
function cassette(): string {
  const [newest = ""] = [...Deno.readDirSync(RUNS)].map(({ name }) => name).toSorted().reverse();
  return `${RUNS}${newest}/offline`;
}

Deno.test("bisect names the first version that answers differently", async () => {
  await inScene(async ({ home, bisect }) => {
    await putStandIns(home, { from: "2.99.3", text: "gone" });
    const recorded = cassette();
    const without = recorded.replace(/offline$/u, "answer");
    const { code, stdout, stderr } = await bisect(
      ...[...ENDS, "--allowedTools", "Bash", "--json", recorded, without],
    );
    assertEquals([code, stderr], [0, ""]);
    const report = JSON.parse(stdout);
    assertEquals(report, {
      found: true,
      first: "2.99.3",
      lastGood: "2.99.2",
      undecided: [],
      differences: [
        { cassette: recorded, where: "result of turn 1", what: "result: gone instead of done" },
      ],
      good: "2.99.0",
      bad: "2.99.6",
      versions: 7,
      cassettes: [{ path: without, why: report.cassettes[0]?.why }],
      tested: [
        { version: "2.99.0", verdict: "good" },
        { version: "2.99.6", verdict: "bad" },
        { version: "2.99.3", verdict: "bad" },
        { version: "2.99.1", verdict: "good" },
        { version: "2.99.2", verdict: "good" },
      ],
    });
  });
});

Deno.test("bisect says that two versions do the same", async () => {
  await inScene(async ({ home, bisect }) => {
    await putStandIns(home, { from: "9", text: "" });
    const args = ["--allowedTools=Bash", "--good=2.99.5", cassette()];
    assertEquals(await bisect(...args), {
      code: 1,
      stdout:
        "2.99.6 does the same as 2.99.5.\n\nExamined 2 of 2 versions: 2.99.5 good, 2.99.6 good\n",
      stderr: "",
    });
  });
});

Deno.test("differences between runs of the good version are ignored", async () => {
  await inScene(async ({ home, bisect }) => {
    const answering = (text: string, name: string, version: string) =>
      installMockClaude(home.path, { name, scenario: { version, turns: [[{ text }]] } });
    const first = await answering("one", "first", "2.99.5");
    const second = await answering("two", "second", "2.99.5");
    await writeScript(
      `${home.path}/releases/2.99.5`,
      `#!/bin/sh
[ "$1" = --version ] && exec '${first}' --version
mkdir '${home.path}/ran' 2>/dev/null && exec '${first}' "$@"
exec '${second}' "$@"
`,
    );
    await Deno.copyFile(
      await answering("three", "third", "2.99.6"),
      `${home.path}/releases/2.99.6`,
    );
    const { code, stdout } = await bisect("--allowedTools=Bash", "--good=2.99.5", cassette());
    assertStringIncludes(stdout, "2.99.6 does the same as 2.99.5.\n");
    assertEquals(code, 1);
  });
});

Deno.test("bisect refuses a good version that cannot run", async () => {
  await inScene(async ({ bisect }) => {
    const { code, stdout, stderr } = await bisect(...ENDS, "--allowedTools=Bash", cassette());
    assertEquals([code, stdout], [2, ""]);
    assertMatch(
      stderr,
      /no cassette can be run again: .*offline: 2\.99\.0 cannot run it again: Claude Code /u,
    );
    const skipped = await bisect(...ENDS, cassette());
    assertEquals(skipped.code, 2);
    assertStringIncludes(skipped.stderr, "it calls Bash, which --allowedTools does not name");
  });
});

/** A command that calls versions up to one good, and prints on both outlets. */
const goodUpTo = (last: number) =>
  `echo out; echo err >&2; "$CLAUDE_BINARY" --version | grep -q '^2[.]99[.][0-${last}] '`;

Deno.test("bisect --run finds the first version that fails", async () => {
  await inScene(async ({ home, bisect }) => {
    const { code, stdout, stderr } = await bisect(...ENDS, "--keep", "--run", goodUpTo(4));
    assertEquals({ code, stdout }, {
      code: 0,
      stdout: `2.99.5 is the first version that differs, 2.99.4 the last good one.
  exit code: 1 instead of 0

Examined 5 of 7 versions: 2.99.0 good, 2.99.6 bad, 2.99.3 good, 2.99.4 good, 2.99.5 bad
`,
    });
    assertEquals(stderr.match(/^(?:out|err)$/gmu)?.length, 10);
    const kept = [...Deno.readDirSync(`${home.path}/.cache/claude-print/releases`)];
    assertEquals(kept.map(({ name }) => name).toSorted(), [
      ...["2.99.0", "2.99.3", "2.99.4", "2.99.5", "2.99.6"],
    ]);
  });
});

Deno.test("bisect names versions that it skips", async () => {
  await inScene(async ({ home, bisect }) => {
    await writeScript(`${home.path}/releases/2.99.3`, "#!/bin/sh\nexit 1\n");
    await Deno.remove(`${home.path}/releases/2.99.4`);
    const skips = `case $("$CLAUDE_BINARY" --version) in 2.99.2*) exit 125 ;; esac; ${goodUpTo(2)}`;
    const { code, stdout } = await bisect(...ENDS, "--run", skips);
    assertEquals(code, 0);
    for (
      const words of [
        "2.99.5 differs, 2.99.1 is the last good one.",
        "In between, 2.99.2 and 2.99.3 and 2.99.4 could not be examined.",
        "Skipped 2.99.2: the command ended with exit code 125\n",
        "no Claude Code that runs here\n",
        "Skipped 2.99.4: Cannot fetch Claude Code 2.99.4: No matching",
      ]
    ) assertStringIncludes(stdout, words);
  });
});

const REFUSED: Readonly<Record<string, readonly [readonly string[], string]>> = {
  "a good version that is bad": [
    [...ENDS, "--run", "exit 7"],
    "2.99.0 is not good: the command of --run ended with exit code 7",
  ],
  "a command that was killed": [
    [...ENDS, "--run", `${goodUpTo(0)} || kill -9 $$`],
    "the command of --run ended with exit code 137 for 2.99.6",
  ],
  "a bad version that is skipped": [
    [...ENDS, "--run", `${goodUpTo(0)} || exit 125`],
    "2.99.6 cannot be examined: the command ended with exit code 125",
  ],
  "a version below the support window": [
    ["--good", "2.1.168", cassette()],
    "2.1.168 is too old: claude-print needs ",
  ],
};

for (const [what, [args, told]] of Object.entries(REFUSED)) {
  Deno.test(`bisect refuses ${what}`, async () => {
    await inScene(async ({ bisect }) => {
      const { code, stdout, stderr } = await bisect(...args);
      assertEquals([code, stdout], [2, ""]);
      assertStringIncludes(stderr, "Cannot bisect: ");
      assertStringIncludes(stderr, told);
    });
  });
}

Deno.test(skipIfLacking(MOUNT_LACK, {
  name: "bisect refuses a disk without room for a download",
  fn: () =>
    inScene(async ({ home, command, env }) => {
      const script = 'mount -t tmpfs -o size=9m none "$TMPDIR" && exec "$@"';
      const { code, stderr } = await startProgram(
        ["unshare", "-rm", "sh", "-c", script, "sh", ...command, ...ENDS, "--run", "true"],
        { env, cwd: home.project },
      ).ended;
      assertEquals(code, 2);
      assertMatch(stderr, /Cannot fetch Claude Code 2\.99\.0: only [89] MB are free in /u);
      assertMatch(stderr, /or set TMPDIR to a folder with room/u);
    }),
}));

/** Waits until a script has made the file `reached`. */
const untilReached = ({ path }: ThrowawayHome) =>
  until(() => fileAt(`${path}/reached`) !== undefined, "it is reached");

const DOWNLOADING = `mkdir -p "$to/node_modules/part"; sleep 1000 & : > "$HOME/reached"; wait`;

/** Moments at which SIGINT comes: the arguments, and what happens before npm does its work. */
const INTERRUPTED: Readonly<Record<string, { readonly args: string[]; readonly before?: string }>> =
  {
    "npm downloads": {
      args: ["--run", goodUpTo(4)],
      before: `if [ "$version" = 2.99.3 ]; then ${DOWNLOADING}; fi`,
    },
    "a command ignores SIGTERM": {
      args: ["--run", `trap '' TERM; : > "$HOME/reached"; sleep 1000; sleep 1000`],
    },
    "a version runs": { args: ["--allowedTools=Bash", cassette()] },
  };

for (const [when, { args, before = "" }] of Object.entries(INTERRUPTED)) {
  Deno.test(`SIGINT while ${when} leaves nothing`, async () => {
    await inScene(async ({ home, start }) => {
      await installMockClaude(`${home.path}/releases`, {
        name: "2.99.0",
        scenario: {
          version: "2.99.0",
          hang: "stream",
          sabotage: [{ at: "prompt", run: `: > ${home.path}/reached` }],
        },
      });
      const { child, ended } = start(...ENDS, ...args);
      await untilReached(home);
      child.kill("SIGINT");
      assertEquals((await ended).code, 130);
    }, { before });
  });
}

Deno.test("the next command removes a killed download", async () => {
  const before = `if [ "$version" = 2.99.0 ]; then
chmod 755 "$to"; sleep 1000 & : > "$HOME/reached"; wait; fi`;
  await inScene(async ({ home, env, start }) => {
    const { child, ended } = start(...ENDS, "--run", "true");
    await untilReached(home);
    child.kill("SIGKILL");
    // npm holds its stderr open.
    await child.status;
    const sweep = startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd: home.project });
    // Other runs on this machine may have folders, too.
    const lines = (await sweep.ended).stdout.split("\n").filter((line) => line.includes(home.path));
    assertEquals(lines.map((line) => line.split(" ")[0]), ["removed", "removed"]);
    await ended;
  }, { before });
});

Deno.test("versions run without the user's login", async () => {
  await inScene(async ({ home, bisect }) => {
    await writeScript(
      `${home.path}/releases/2.99.0`,
      `#!/bin/sh
if [ "$1" = --version ]; then echo '2.99.0 (Claude Code)'; exit; fi
env > '${home.path}/seen'
`,
    );
    assertEquals((await bisect(...ENDS, "--allowedTools=Bash", cassette())).code, 2);
    const seen = Deno.readTextFileSync(`${home.path}/seen`);
    assertEquals(/^HOME=(.*)$/mu.exec(seen)?.[1]?.startsWith(home.tmp), true);
    assertMatch(seen, /^HTTPS_PROXY=http:\/\/127\.0\.0\.1:1$/mu);
    assertMatch(seen, /^CLAUDE_CONFIG_DIR=\/.*\/tmp\//mu);
  });
});

Deno.test("the registry must list good before bad", () => {
  const all = ["2.1.285", "2.1.286", "2.1.299"];
  assertEquals(versionsBetween(all, { good: "2.1.286" }), ["2.1.286", "2.1.299"]);
  assertEquals(versionsBetween(all, { good: "2.1.285", bad: "2.1.286" }), all.slice(0, 2));
  const why = (good: string, bad?: string) => {
    const versions = bad === undefined ? { good } : { good, bad };
    const { message, suggestion } = assertThrows(() => versionsBetween(all, versions), CliError);
    return `${message}: ${suggestion}`;
  };
  assertEquals(
    why("2.1.290"),
    "Cannot bisect: the registry has no version 2.1.290: Name another one with --good, such as 2.1.286 or 2.1.299",
  );
  assertStringIncludes(why("2.1.285", "2.1.300"), "with --bad, such as 2.1.299");
  assertStringIncludes(why("2.1.286", "2.1.285"), "is not older than --bad 2.1.285");
  assertStringIncludes(why("2.1.299"), "--good 2.1.299 is not older than --bad 2.1.299");
});
