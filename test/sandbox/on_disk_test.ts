import { assertEquals } from "@std/assert";
import { removeFolder } from "../../src/sandbox/on_disk.ts";

Deno.test("removeFolder() removes a folder with everything in it, and one that is not there", () => {
  const path = Deno.makeTempDirSync();
  Deno.mkdirSync(`${path}/a/b`, { recursive: true });
  Deno.writeTextFileSync(`${path}/a/b/c`, "");
  assertEquals(removeFolder(path), undefined);
  assertEquals(removeFolder(path), undefined);
});

Deno.test("removeFolder() tries again when something was put into the folder meanwhile", () => {
  let tries = 0;
  const remove = () => {
    if (++tries < 3) throw new Error("Directory not empty (os error 39)");
  };
  assertEquals(removeFolder("/x", remove), undefined);
  assertEquals(tries, 3);
});

Deno.test("removeFolder() says why a folder stays", () => {
  const remove = () => {
    throw new Deno.errors.PermissionDenied("Operation not permitted (os error 1)");
  };
  assertEquals(removeFolder("/x", remove)?.message, "Operation not permitted (os error 1)");
});
