import { assertEquals } from "@std/assert";
import { taskOutput } from "../../src/driver/sources/shells/task_output.ts";

Deno.test("taskOutput() gives the end of what a shell of the session has written, and follows no link", () => {
  const tempDir = Deno.makeTempDirSync();
  const read = (task: string) => taskOutput(tempDir, { sessionId: "s", task });
  const nothing = { output: "", total_bytes: 0, truncated: false };
  assertEquals(read("b1"), nothing);
  const folder = `${tempDir}/claude-0/-w/s/tasks`;
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(`${folder}/b1.output`, "one\n");
  assertEquals(read("b1"), { output: "one\n", total_bytes: 4, truncated: false });
  Deno.writeTextFileSync(`${folder}/b1.output`, `${"-".repeat(10_000)}end`);
  const { output, ...rest } = read("b1");
  assertEquals(rest, { total_bytes: 10_003, truncated: true });
  assertEquals(output, `${"-".repeat(8189)}end`);
  Deno.symlinkSync(`${folder}/b1.output`, `${folder}/b2.output`);
  assertEquals(read("b2"), nothing);
  Deno.mkdirSync(`${tempDir}/claude-0/-w/other/tasks`, { recursive: true });
  Deno.writeTextFileSync(`${tempDir}/claude-0/-w/other/tasks/b3.output`, "of another session");
  assertEquals(read("b3"), nothing);
  Deno.removeSync(tempDir, { recursive: true });
});
