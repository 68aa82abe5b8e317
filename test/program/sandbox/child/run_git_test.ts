import { assertEquals, assertMatch } from "@std/assert";
import { gitStatus } from "../../../../src/sandbox/child/git_repository.ts";
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { namesIn } from "../../../../ffi/files/at_path.ts";
import { startProgram } from "../../../start_program.ts";

/** Makes a repository that names a program for everything that git may run during `git status`. */
const HOSTILE = `
evil() { echo "touch $HOME/ran-$1; cat"; }
author() { git config user.email a@b && git config user.name n; }
git init -q && author
echo '* filter=evil' > .gitattributes
echo one > changed.txt
mkdir sub && (cd sub && git init -q && author && echo one > s && git add s && git commit -qm Sub)
git add . 2> /dev/null && git commit -qm First
git config filter.evil.clean "$(evil clean)"
git config filter.evil.smudge "$(evil smudge)"
git config filter.evil.required true
git config core.fsmonitor "$(evil fsmonitor)"
git config diff.external "$(evil diff)"
git -C sub config core.fsmonitor "$(evil sub)"
git -C sub config filter.inner.clean "$(evil inner)"
echo '* filter=inner' > sub/.gitattributes
echo two > changed.txt
echo two > sub/s
`;

Deno.test("git status runs no program that a repository names", async () => {
  await using home = await makeThrowawayHome();
  const cwd = home.project;
  const shell = async (script: string) => {
    const { code, stderr } = await startProgram(["/bin/sh", "-ec", script], { env: home.env, cwd })
      .ended;
    assertEquals(code, 0, stderr);
  };
  const ran = () => namesIn(home.path).filter((name) => name.startsWith("ran-"));
  await shell(HOSTILE);
  // The file has its old size and a new time, so git reads it.
  const status = await gitStatus({ cwd, env: home.env });
  assertMatch(status ?? "", /^1 \.M .* changed\.txt$/mu);
  assertEquals(ran(), []);
  await shell('git config "filter.a=b.clean" "touch $HOME/ran-odd"');
  assertEquals(await gitStatus({ cwd, env: home.env }), undefined);
  assertEquals(ran(), []);
});
