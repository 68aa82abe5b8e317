import { assertEquals } from "@std/assert";
import { startProgram } from "./start_program.ts";

/** Runs git in a project, with an author for commits. */
export async function git(
  { project, env }: {
    readonly project: string;
    readonly env: Readonly<Record<string, string>>;
  },
  ...args: readonly string[]
): Promise<void> {
  const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  const { code, stderr } = await startProgram(["git", ...author, ...args], { cwd: project, env })
    .ended;
  assertEquals(code, 0, stderr);
}
