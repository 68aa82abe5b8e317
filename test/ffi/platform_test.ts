import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { LibcUnavailableError, type Platform, platformProblem } from "../../ffi/platform.ts";

const GOOD: Platform = {
  os: "linux",
  arch: "x86_64",
  env: "gnu",
  ffiPermission: "granted",
  glibc: "2.34",
};

Deno.test("platformProblem finds nothing wrong with x86_64 Linux, glibc and -A", () => {
  assertEquals(platformProblem(GOOD), undefined);
  assertEquals(platformProblem({ ...GOOD, glibc: undefined }), undefined);
  assertEquals(platformProblem({ ...GOOD, glibc: "2.100" }), undefined);
  assertEquals(platformProblem({ ...GOOD, glibc: "3.0" }), undefined);
});

const REFUSED: readonly {
  readonly name: string;
  readonly found: Partial<Platform>;
  readonly message: string;
  readonly suggestion: string;
}[] = [
  {
    name: "macOS",
    found: { os: "darwin", arch: "aarch64", env: undefined },
    message: "found darwin on aarch64",
    suggestion: "container or virtual machine",
  },
  {
    name: "Windows",
    found: { os: "windows", env: "msvc" },
    message: "found windows on x86_64",
    suggestion: "container or virtual machine",
  },
  {
    name: "Linux on ARM",
    found: { arch: "aarch64" },
    message: "found Linux on aarch64",
    suggestion: "linux/amd64",
  },
  {
    name: "musl",
    found: { env: "musl" },
    message: "found Linux with musl as its C library",
    suggestion: "instead of Alpine",
  },
  {
    name: "a missing ffi permission",
    found: { ffiPermission: "prompt" },
    message: 'ffi permission is "prompt"',
    suggestion: "deno run -A",
  },
  {
    name: "an old glibc",
    found: { glibc: "2.31" },
    message: "found glibc 2.31",
    suggestion: "newer system",
  },
];

for (const { name, found, message, suggestion } of REFUSED) {
  Deno.test(`platformProblem refuses ${name}, saying what was found and what to do`, () => {
    const problem = platformProblem({ ...GOOD, ...found });
    assertInstanceOf(problem, LibcUnavailableError);
    assertStringIncludes(problem.message, `Cannot use libc: `);
    assertStringIncludes(problem.message, message);
    assertStringIncludes(problem.suggestion, suggestion);
  });
}

Deno.test("platformProblem names what is needed wherever the machine is at fault", () => {
  for (const { found } of REFUSED.filter(({ found }) => found.ffiPermission === undefined)) {
    assertStringIncludes(
      platformProblem({ ...GOOD, ...found })?.message ?? "",
      "claude-print needs x86_64 Linux with glibc 2.34 or newer",
    );
  }
});
