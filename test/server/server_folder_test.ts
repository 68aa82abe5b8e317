import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { closeFd } from "../../ffi/descriptors/fd.ts";
import { listenUnix } from "../../ffi/descriptors/unix_socket.ts";
import { CliError } from "../../src/cli_error.ts";
import { skipIfLacking } from "../skip_if_lacking.ts";
import { serverPlaces } from "../../src/server/server_places.ts";
import {
  claimServerFolder,
  createInServerFolder,
  writeToken,
} from "../../src/server/server_folder.ts";

function scene() {
  const folder = Deno.realPathSync(Deno.makeTempDirSync());
  return {
    folder,
    env: { TMPDIR: folder },
    [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }),
  };
}

/** A socket as a server leaves it that is killed: nobody listens any more. */
const leaveDead = (path: string) => closeFd(listenUnix(path, { backlog: 1 }));

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name);

Deno.test("the server's folder is in the runtime directory", () => {
  using there = scene();
  const { folder } = there;
  const inTemp = `${folder}/claude-print-${Deno.uid()}/serve`;
  const at = (runtimeDir: string) =>
    serverPlaces({ TMPDIR: folder, XDG_RUNTIME_DIR: runtimeDir }).folder;
  Deno.mkdirSync(`${folder}/run`, { mode: 0o700 });
  assertEquals(at(`${folder}/run`), `${folder}/run/claude-print`);
  Deno.chmodSync(`${folder}/run`, 0o777);
  for (const other of ["", "run", `${folder}/run`, `${folder}/missing`, "/dev/null"]) {
    assertEquals(at(other), inTemp);
  }
  assertEquals(namesIn(folder), ["run"]);
});

Deno.test("a server's folder is private, exclusive and removed", () => {
  using there = scene();
  for (const env of [there.env, { ...there.env, XDG_RUNTIME_DIR: there.folder }]) {
    const places = serverPlaces(env);
    {
      using _held = claimServerFolder(places);
      assertEquals((Deno.lstatSync(places.folder).mode ?? 0) & 0o777, 0o700);
      assertMatch(
        assertThrows(() => claimServerFolder(places), CliError).message,
        /^Cannot start the server: another one is there, in /u,
      );
      // As a server that is killed leaves it: its lock is given back, and its files stay.
      leaveDead(places.httpSocket);
      writeToken(places.token);
    }
    assertEquals(namesIn(there.folder), []);
    Deno.mkdirSync(places.folder, { recursive: true, mode: 0o700 });
    for (const path of [places.httpSocket, places.runSocket]) leaveDead(path);
    writeToken(places.token);
    // On a full disk not all of it was written.
    Deno.writeTextFileSync(`${places.token}.part`, "0123ab");
    Deno.writeTextFileSync(places.lock, "");
    {
      using _held = claimServerFolder(places);
      assertEquals(namesIn(places.folder), ["lock"]);
    }
    assertEquals(namesIn(there.folder), []);
  }
});

Deno.test("a failed file in the server's folder is reported", () => {
  using there = scene();
  const places = serverPlaces({ ...there.env, XDG_RUNTIME_DIR: there.folder });
  {
    using _held = claimServerFolder(places);
    Deno.mkdirSync(`${places.token}/in the way`, { recursive: true });
    for (
      const make of [() => writeToken(places.token), () => listenUnix(places.token, { backlog: 1 })]
    ) {
      const { message } = assertThrows(() => createInServerFolder<unknown>(places, make), CliError);
      assertMatch(message, /^Cannot start the server in \/[^ ]*: /u);
    }
    Deno.removeSync(places.token, { recursive: true });
    assertEquals(namesIn(places.folder).toSorted(), ["lock", "token.part"]);
  }
  assertEquals(namesIn(there.folder), []);
});

Deno.test("an untrusted server folder is refused untouched", () => {
  using there = scene();
  const { folder } = there;
  const why = (env: Readonly<Record<string, string>>) => {
    const error = assertThrows(() => claimServerFolder(serverPlaces(env)), CliError);
    assert(error.suggestion !== undefined);
    return error.message.replaceAll(folder, "");
  };
  const env = { TMPDIR: folder, XDG_RUNTIME_DIR: folder };
  const { folder: own, httpSocket, lock } = serverPlaces(env);
  Deno.mkdirSync(own);
  Deno.chmodSync(own, 0o755);
  assertEquals(
    why(env),
    "Cannot start the server: /claude-print cannot be trusted: others may enter it",
  );
  Deno.removeSync(own);
  Deno.symlinkSync(folder, own);
  assertEquals(
    why(env),
    "Cannot start the server: /claude-print cannot be trusted: it is not a folder",
  );
  Deno.removeSync(own);
  Deno.mkdirSync(own, { mode: 0o700 });
  for (const path of [httpSocket, lock]) {
    Deno.symlinkSync(`${folder}/elsewhere`, path);
    assertMatch(why(env), /is in the way: no server has made it$/u);
    Deno.removeSync(path);
  }
  assertEquals(namesIn(folder), ["claude-print"]);
  const long = `${folder}/${"x".repeat(100)}`;
  Deno.mkdirSync(long, { mode: 0o700 });
  assertMatch(why({ ...env, XDG_RUNTIME_DIR: long }), /is too long a path for a socket$/u);
  assertEquals(namesIn(long), []);
  assertMatch(
    why({ TMPDIR: `${folder}/missing` }),
    /^Cannot start the server: .*(?:No such file|os error 2)/u,
  );
});

Deno.test("foreign files in the server's folder stay", () => {
  using there = scene();
  const places = serverPlaces({ TMPDIR: there.folder, XDG_RUNTIME_DIR: there.folder });
  const { folder, runSocket, httpSocket, token, lock } = places;
  Deno.mkdirSync(folder, { mode: 0o700 });
  leaveDead(httpSocket);
  const why = (path: string) => {
    const error = assertThrows(() => claimServerFolder(places), CliError);
    assertMatch(error.suggestion ?? "", /^Move it elsewhere or remove it, /u);
    assertEquals(
      error.message.startsWith(`Cannot start the server: ${path} is in the way: `),
      true,
    );
    return error.message.slice(error.message.lastIndexOf(": ") + 2);
  };
  for (const path of [runSocket, token, `${token}.part`, lock]) {
    Deno.writeTextFileSync(path, "my notes");
    assertEquals(why(path), "no server has made it");
    assertEquals(Deno.readTextFileSync(path), "my notes");
    Deno.removeSync(path);
    Deno.mkdirSync(path);
    assertEquals(why(path), "no server has made it");
    Deno.removeSync(path);
  }
  const listener = listenUnix(runSocket, { backlog: 8 });
  assertEquals(why(runSocket), "another process listens on it");
  closeFd(listener);
  // Nothing was removed as long as something was in the way.
  assertEquals(namesIn(folder).toSorted(), ["http.sock", "run.sock"]);
  {
    using _held = claimServerFolder(places);
    assertEquals(namesIn(folder), ["lock"]);
    // What is put there meanwhile is somebody's.
    Deno.writeTextFileSync(runSocket, "my notes");
    Deno.writeTextFileSync(token, "my notes");
  }
  assertEquals(namesIn(folder).toSorted(), ["run.sock", "token"]);
});

Deno.test(skipIfLacking(Deno.uid() === 0 ? undefined : "root's rights", {
  name: "another user's file in the folder stays",
  fn() {
    using there = scene();
    const places = serverPlaces({ TMPDIR: there.folder, XDG_RUNTIME_DIR: there.folder });
    Deno.mkdirSync(places.folder, { mode: 0o700 });
    leaveDead(places.runSocket);
    Deno.chownSync(places.runSocket, 65534, 65534);
    assertMatch(
      assertThrows(() => claimServerFolder(places), CliError).message,
      /run\.sock is in the way: it is another user's$/u,
    );
    assertEquals(namesIn(places.folder), ["run.sock"]);
  },
}));
