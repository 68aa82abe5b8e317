import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { claudeAgainst } from "../../../src/commands/drift/claude_against.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { until } from "../../standin/stand_in.ts";

const says = (version: string) => `#!/bin/sh\necho '${version} (Claude Code)'\n`;

/** A home with an installed version, and a PATH with an npm that does as it is told. */
async function inScene(
  npm: string | undefined,
  use: (scene: {
    readonly at: (against: string, signal?: AbortSignal) => ReturnType<typeof claudeAgainst>;
    readonly folder: string;
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const versions = `${folder}/.local/share/claude/versions`;
    for (const path of [versions, `${folder}/bin`, `${folder}/download`]) {
      await Deno.mkdir(path, { recursive: true });
    }
    const program = async (path: string, text: string) => {
      await Deno.writeTextFile(path, text);
      await Deno.chmod(path, 0o755);
    };
    await program(`${versions}/1.2.3`, says("1.2.3"));
    await program(`${versions}/1.2.4`, says("9.9.9"));
    await program(`${folder}/bin/other`, "#!/bin/sh\necho hello\n");
    if (npm !== undefined) await program(`${folder}/bin/npm`, npm);
    const env = { HOME: folder, PATH: npm === undefined ? folder : `${folder}/bin:/usr/bin:/bin` };
    const at = (against: string, signal: AbortSignal = new AbortController().signal) =>
      claudeAgainst(against, { env, cwd: folder, folder: `${folder}/download`, signal });
    await use({ at, folder });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function why(asked: Promise<unknown>): Promise<string> {
  const { message, suggestion } = await assertRejects(() => asked, CliError);
  assert(suggestion !== undefined);
  return message;
}

Deno.test("a version that is installed is taken, and so is an executable", async () => {
  await inScene(undefined, async ({ at, folder }) => {
    const binary = `${folder}/.local/share/claude/versions/1.2.3`;
    assertEquals(await at("1.2.3"), { binary, version: "1.2.3" });
    assertEquals(await at(binary), { binary, version: "1.2.3" });
    assertStringIncludes(await why(at("1.2.4")), "is version 9.9.9");
    assertStringIncludes(await why(at("bin/other")), "is no Claude Code");
    for (const named of ["bin/none", "none"]) {
      const { suggestion } = await assertRejects(() => at(named), CliError);
      assertStringIncludes(suggestion ?? "", "--against");
    }
    assertStringIncludes(await why(at("bin/none")), "does not exist");
    assertStringIncludes(await why(at("5.5.5")), "npm is not on PATH");
  });
});

Deno.test("another version comes from npm, without any script of a package", async () => {
  const npm = `#!/bin/sh
case "$*" in *--ignore-scripts*) ;; *) exit 9 ;; esac
for package; do :; done
case "$package" in *@5.5.5|*@latest) ;; *) printf 'npm error code ETARGET\nnpm error notarget No such version\n' >&2; exit 1 ;; esac
to="$3/node_modules/\${package%@*}"
mkdir -p "$to"
printf '#!/bin/sh\\necho "5.5.5 (Claude Code)"\\n' > "$to/claude"
chmod +x "$to/claude"
`;
  await inScene(npm, async ({ at }) => {
    assertEquals((await at("5.5.5")).version, "5.5.5");
    assertEquals((await at("latest")).version, "5.5.5");
    assertEquals(
      await why(at("6.6.6")),
      "Cannot get Claude Code 6.6.6 from npm: notarget No such version",
    );
  });
});

Deno.test("a download ends with whatever it has started when it is to", async () => {
  const npm = `#!/bin/sh
sleep 1000 &
echo "$$ $!" > "$3/pids.part"
mv "$3/pids.part" "$3/pids"
wait
`;
  await inScene(npm, async ({ at, folder }) => {
    const stop = new AbortController();
    const asked = at("5.5.5", stop.signal);
    const pids = `${folder}/download/pids`;
    await until(() => Promise.resolve(fileAt(pids) !== undefined), "the download begins");
    stop.abort(new Error("enough"));
    await assertRejects(() => asked, Error, "enough");
    for (const pid of Deno.readTextFileSync(pids).trim().split(" ")) {
      await until(
        () => Promise.resolve(fileAt(`/proc/${pid}`) === undefined),
        `process ${pid} ends`,
      );
    }
  });
});
