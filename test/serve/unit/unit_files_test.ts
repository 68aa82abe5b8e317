import { assert, assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { inheritedSocket } from "../../../src/serve/unit/inherited_socket.ts";
import { isOurUnit, unitFiles, type UnitOrder } from "../../../src/serve/unit/unit_files.ts";
import { lackOf } from "../../find_tool.ts";
import { unlessLacking } from "../../unless_lacking.ts";

const ORDER: UnitOrder = {
  program: ["/bin/true"],
  flags: ["--warm", "2"],
  env: { PATH: "/usr/bin:/bin" },
  umask: 0o22,
};

function textOf(name: string, order: Partial<UnitOrder> = {}): string {
  return unitFiles({ ...ORDER, ...order }).find((unit) => unit.name === name)?.text ?? "";
}

Deno.test("the service is started as it was asked for", () => {
  const lines = textOf("claude-print.service").split("\n");
  assert(lines.includes('ExecStart="/bin/true" "serve" "--warm" "2"'));
  assert(lines.includes('Environment="PATH=/usr/bin:/bin"'));
  assert(lines.includes("UMask=0022"));
  // The socket is passed on as one that waits, where whoever takes a connection would wait for the next one.
  assert(lines.includes("NonBlocking=yes"));
  // A signal to all would end Claude Code in the midst of its turns.
  assert(lines.includes("KillMode=mixed"));
});

Deno.test("nothing in a word of a unit is anything but that word", () => {
  const text = textOf("claude-print.service", {
    program: ['/a "b"/$HOME/%h/\\c'],
    flags: ["x\ny"],
    env: { PATH: "/50%/$d" },
  });
  assert(text.includes(String.raw`ExecStart="/a \"b\"/$$HOME/%%h/\\c" "serve" "x\x0ay"` + "\n"));
  assert(text.includes('Environment="PATH=/50%%/$d"\n'));
});

Deno.test("the socket is this user's alone, in the runtime directory", () => {
  const lines = textOf("claude-print.socket").split("\n");
  for (
    const line of ["ListenStream=%t/claude-print/run.sock", "SocketMode=0600", "DirectoryMode=0700"]
  ) {
    assert(lines.includes(line), line);
  }
});

Deno.test("a unit is known as one that was made here, unless somebody has changed it", () => {
  for (const { text } of unitFiles(ORDER)) {
    assert(isOurUnit(text));
    assert(!isOurUnit(`${text}# mine\n`));
    assert(!isOurUnit(text.replace("[Install]", "[install]")));
    assert(!isOurUnit(text.split("\n").slice(2).join("\n")));
  }
  assert(!isOurUnit(""));
});

Deno.test("a socket is inherited by the process that it is meant for, and by its name", () => {
  const env = { LISTEN_PID: "7", LISTEN_FDS: "2", LISTEN_FDNAMES: "other:run" };
  const inherited = (changed: Readonly<Record<string, string>>, isListener = true) =>
    inheritedSocket({ ...env, ...changed }, { pid: 7, isListener: () => isListener });
  assertEquals(inherited({}), 4);
  for (
    const other of [
      { LISTEN_PID: "8" },
      { LISTEN_FDS: "1" },
      { LISTEN_FDS: "many" },
      { LISTEN_FDNAMES: "other" },
    ]
  ) {
    assertEquals(inherited(other), undefined);
  }
  assertEquals(inheritedSocket({}, { pid: 7 }), undefined);
  const { message, suggestion } = assertThrows(() => inherited({}, false), CliError);
  assertEquals(
    message,
    "Cannot start the server: descriptor 4 of LISTEN_FDS is no Unix socket that is listened on",
  );
  assert(suggestion !== undefined);
});

Deno.test(unlessLacking(lackOf("systemd-analyze"), {
  name: "systemd finds nothing wrong with the units",
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const paths: string[] = [];
      const awkward = { env: { PATH: '/a "b"/50%:/$c', X: "a\\b\nc" }, flags: ["--x=$a%h'"] };
      for (const { name, text } of unitFiles({ ...ORDER, ...awkward })) {
        // The manual page is not there before the program is installed.
        await Deno.writeTextFile(`${folder}/${name}`, text.replace(/^Documentation=.*\n/mu, ""));
        paths.push(`${folder}/${name}`);
      }
      const { code, stderr } = await new Deno.Command("systemd-analyze", {
        args: ["verify", "--user", "--recursive-errors=no", ...paths],
        clearEnv: true,
        env: { HOME: folder, XDG_RUNTIME_DIR: folder, PATH: "/usr/bin:/bin" },
      }).output();
      assertEquals({ code, stderr: new TextDecoder().decode(stderr) }, { code: 0, stderr: "" });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
}));
