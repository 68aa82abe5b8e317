import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileAt } from "../../../../ffi/files/at_path.ts";
import {
  fetchRelease,
  listReleases,
  UnusableReleaseError,
} from "../../../../src/claude/program/releases.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { findComparedClaude } from "../../../../src/cli/drift/run_again.ts";
import { until } from "../../stand_in.ts";
import { writeScript } from "../../../write_script.ts";
import { putFakeNpm, saysVersion } from "./fake_npm.ts";
import { tempFolder } from "../../../temp_folder.ts";

interface Scene {
  readonly folder: string;
  readonly tmp: string;
  /** The folder of kept releases. */
  readonly releases: string;
  readonly env: Readonly<Record<string, string>>;
  /** How often npm was called. */
  readonly calls: () => number;
}

const VERSIONS = ["5.5.4", "5.5.10", "5.5.5", "6.0.0-beta.1"];

/** A home and a registry that has the versions 5.5.4, 5.5.5 and 5.5.10. */
async function inScene(
  use: (scene: Scene) => Promise<void>,
  { before = "" }: { readonly before?: string } = {},
): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  for (const name of ["bin", "releases", "tmp", "home", "cache"]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  for (const version of VERSIONS) {
    await writeScript(`${folder}/releases/${version}`, saysVersion(version));
  }
  await putFakeNpm(folder, { versions: VERSIONS, before });
  await use({
    folder,
    tmp: `${folder}/tmp`,
    releases: `${folder}/cache/claude-print/releases`,
    env: {
      PATH: `${folder}/bin:/usr/bin:/bin`,
      HOME: `${folder}/home`,
      TMPDIR: `${folder}/tmp`,
      XDG_CACHE_HOME: `${folder}/cache`,
    },
    calls: () => Deno.readTextFileSync(`${folder}/calls`).trim().split("\n").length,
  });
}

async function failure(promise: Promise<unknown>): Promise<string> {
  const { message, suggestion } = await assertRejects(() => promise, CliError);
  return `${message}: ${suggestion}`;
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name);

Deno.test("the versions of the registry come in order, without prereleases", async () => {
  await inScene(async ({ env }) => {
    assertEquals(await listReleases({ env }), ["5.5.4", "5.5.5", "5.5.10"]);
  });
});

Deno.test("a download is removed when it is disposed of", async () => {
  await inScene(async ({ env, tmp, folder }) => {
    for (const [version, found] of [["5.5.5", "5.5.5"], ["latest", "6.0.0-beta.1"]] as const) {
      {
        using release = await fetchRelease(version, { env });
        assertEquals(release.version, found);
        assertStringIncludes(await Deno.readTextFile(release.binary), found);
      }
      assertEquals([...namesIn(tmp), ...namesIn(`${folder}/cache`)], []);
    }
  });
});

Deno.test("an installed version needs no download", async () => {
  await inScene(async ({ env, folder }) => {
    const versions = `${folder}/home/.local/share/claude/versions`;
    await Deno.mkdir(versions, { recursive: true });
    await writeScript(`${versions}/1.2.3`, saysVersion("1.2.3"));
    // What claims to be another version is not taken.
    await writeScript(`${versions}/5.5.5`, saysVersion("9.9.9"));
    using installed = await fetchRelease("1.2.3", { env });
    assertEquals(installed.binary, `${versions}/1.2.3`);
    using release = await fetchRelease("5.5.5", { env });
    assertEquals(release.binary.startsWith(versions), false);
  });
});

Deno.test("a kept release is reused while its SHA-512 holds", async () => {
  await inScene(async ({ env, releases, tmp, calls }) => {
    const kept = `${releases}/5.5.5/claude`;
    const fetched = async (keep = false) => {
      using release = await fetchRelease("5.5.5", { env, keep });
      return [release.binary === kept, calls()];
    };
    assertEquals([await fetched(true), await fetched()], [[true, 1], [true, 1]]);
    assertEquals(namesIn(releases), ["5.5.5"]);
    const { success } = await new Deno.Command("sha512sum", {
      args: ["--check", "--quiet", "claude.sha512"],
      cwd: `${releases}/5.5.5`,
    }).output();
    assertEquals(success, true);
    await Deno.writeTextFile(kept, "# changed\n", { append: true });
    assertEquals([await fetched(), await fetched(true)], [[false, 2], [true, 3]]);
    assertEquals(await Deno.readTextFile(kept), saysVersion("5.5.5"));
    assertEquals(namesIn(tmp), []);
  });
});

Deno.test("a kept release that others can write is unused", async () => {
  await inScene(async ({ env, releases, folder }) => {
    const [program, kept] = [`${folder}/cache/claude-print`, `${releases}/5.5.5`];
    const isUsed = async () => {
      using release = await fetchRelease("5.5.5", { env });
      return release.binary === `${kept}/claude`;
    };
    (await fetchRelease("5.5.5", { env, keep: true }))[Symbol.dispose]();
    assertEquals(await isUsed(), true);
    for (const path of [kept, `${kept}/claude`, `${kept}/claude.sha512`, releases, program]) {
      await Deno.chmod(path, 0o722);
      assertEquals([path, await isUsed()], [path, false]);
      await Deno.chmod(path, 0o700);
    }
    await Deno.chmod(`${folder}/cache`, 0o777);
    assertEquals(await isUsed(), false);
    await Deno.chmod(`${folder}/cache`, 0o700);
    for (const path of [`${kept}/claude`, kept, releases, program]) {
      await Deno.rename(path, `${folder}/elsewhere`);
      await Deno.symlink(`${folder}/elsewhere`, path);
      assertEquals([path, await isUsed()], [path, false]);
      await Deno.remove(path);
      await Deno.rename(`${folder}/elsewhere`, path);
    }
    assertEquals(await isUsed(), true);
    // Nothing is kept there either.
    await Deno.chmod(releases, 0o777);
    assertStringIncludes(
      await failure(fetchRelease("5.5.4", { env, keep: true })),
      `others may write to ${releases}: Set XDG_CACHE_HOME to a folder of your own`,
    );
  });
});

Deno.test("hostile versions reach neither npm nor a path", async () => {
  await inScene(async ({ env, folder }) => {
    for (const version of ["../../x", "-x", "--registry=http://x", "1.2.3/../..", "", "5.5.5\n"]) {
      assertStringIncludes(await failure(fetchRelease(version, { env })), "it is no version");
    }
    assertEquals(fileAt(`${folder}/calls`), undefined);
  });
});

const fails = (code: string, reason: string) =>
  `printf 'npm error code ${code}\\nnpm error syscall x\\nnpm error ${reason}\\n' >&2; mkdir -p "$to/part"; exit 1`;

const FAILURES = {
  "an unreachable registry": {
    before: fails("ECONNREFUSED", "request to http://127.0.0.1:1/x failed"),
    told: "request to http://127.0.0.1:1/x failed: Try again, and check the registry",
  },
  "a cut download": {
    before: fails("ECONNRESET", "aborted"),
    told: "aborted: Try again, and check the registry",
  },
  "a wrong checksum": {
    before: fails("EINTEGRITY", "sha512-x integrity checksum failed"),
    told: "integrity checksum failed: Try again; if it stays, a proxy or a mirror changes",
  },
  "a full disk": {
    before: fails("ENOSPC", "nospc ENOSPC: no space left on device, write"),
    told: ": ENOSPC: no space left on device, write: Free 700 MB in ",
  },
  "a missing login": { before: fails("E401", "Unable to authenticate"), told: "npm login" },
  "endless output": { before: "exec yes", told: "npm printed more than 4194304 bytes" },
  "a package without an executable": {
    before: '[ "$1" = view ] || exit 0',
    told: "npm has put no executable into",
  },
  "another version than its name": {
    before: '[ "$1" = view ] || version=5.5.4',
    told: "the package holds version 5.5.4",
  },
};

Deno.test("a failed download has a remedy and leaves nothing", async () => {
  for (const [name, { before, told }] of Object.entries(FAILURES)) {
    await inScene(async ({ env, tmp, releases }) => {
      for (const keep of [false, true]) {
        const message = await failure(fetchRelease("5.5.5", { env, keep }));
        assertStringIncludes(message, "Cannot fetch Claude Code 5.5.5: ", name);
        assertStringIncludes(message, told);
        assertEquals([...namesIn(tmp), ...keep ? namesIn(releases) : []], [], name);
      }
    }, { before });
  }
});

Deno.test("a failed list of versions has a remedy", async () => {
  const lists = {
    [FAILURES["an unreachable registry"].before]: "check the registry",
    "echo nonsense; exit": "npm named no version",
    "echo '{\"error\":{}}'; exit": "npm named no version",
    "echo '[]'; exit": "npm named no version",
    "exec yes": "npm printed more than",
  };
  for (const [before, told] of Object.entries(lists)) {
    await inScene(async ({ env }) => {
      const message = await failure(listReleases({ env }));
      assertStringIncludes(message, "Cannot list the versions of Claude Code: ");
      assertStringIncludes(message, told);
    }, { before });
  }
});

Deno.test("a missing version, npm or cache is named", async () => {
  await inScene(async ({ env, folder, tmp }) => {
    assertEquals(
      (await assertRejects(() => fetchRelease("6.6.6", { env }), UnusableReleaseError)).message,
      "Cannot fetch Claude Code 6.6.6: No matching version found",
    );
    assertStringIncludes(
      await failure(listReleases({ env: { ...env, PATH: `${folder}/home` } })),
      "npm is not on PATH: Install Node.js",
    );
    const to = { ...env, XDG_CACHE_HOME: `${folder}/calls/below-a-file` };
    assertStringIncludes(
      await failure(fetchRelease("5.5.5", { env: to, keep: true })),
      "Set XDG_CACHE_HOME to a folder of your own",
    );
    assertEquals(namesIn(tmp), []);
  });
});

Deno.test("a download ends with all that npm started", async () => {
  const before = `sleep 1000 &
echo "$$ $!" > "$to/pids.part"
mv "$to/pids.part" "$TMPDIR/pids"
wait
`;
  await inScene(async ({ env, tmp }) => {
    const stop = new AbortController();
    const fetched = fetchRelease("5.5.5", { env, signal: stop.signal });
    await until(() => fileAt(`${tmp}/pids`) !== undefined, "the download begins");
    stop.abort(new Error("enough"));
    await assertRejects(() => fetched, Error, "enough");
    for (const pid of Deno.readTextFileSync(`${tmp}/pids`).trim().split(" ")) {
      await until(() => fileAt(`/proc/${pid}`) === undefined, `process ${pid} ends`);
    }
    assertEquals(namesIn(tmp), ["pids"]);
  }, { before });
});

Deno.test("drift --against takes a version or an executable", async () => {
  await inScene(async ({ env, folder: cwd }) => {
    const at = (against: string) =>
      findComparedClaude(against, { env, cwd, signal: new AbortController().signal });
    using release = await at("5.5.5");
    assertEquals(release.version, "5.5.5");
    using named = await at("releases/5.5.4");
    assertEquals([named.binary, named.version], [`${cwd}/releases/5.5.4`, "5.5.4"]);
    await writeScript(`${cwd}/other`, "#!/bin/sh\necho hello\n");
    assertStringIncludes(await failure(at("./other")), "is no Claude Code");
    assertStringIncludes(await failure(at("2.1.197")), "Claude Code 2.1.197 is too old");
    assertStringIncludes(await failure(at("./none")), "--against");
  });
});
