import { assert, assertEquals } from "@std/assert";
import { createPart, removeLostParts } from "../../../src/relay/exchanges/part_file.ts";

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("createPart() makes a file that is gone when it is disposed of", () => {
  const folder = Deno.makeTempDirSync();
  try {
    {
      using part = createPart(folder);
      part.file.writeSync(new TextEncoder().encode("half"));
      assertEquals(Deno.readTextFileSync(part.path), "half");
      assertEquals((Deno.statSync(part.path).mode ?? 0) & 0o777, 0o600);
      using open = createPart(folder, { mode: 0o640 });
      assertEquals((Deno.statSync(open.path).mode ?? 0) & 0o777, 0o640 & ~(Deno.umask()));
      open[Symbol.dispose]();
      // Somebody writes it.
      removeLostParts(folder);
      assert(part.path.endsWith(namesIn(folder)[0] ?? "none"));
    }
    assertEquals(namesIn(folder), []);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("removeLostParts() removes what nobody writes any more, and nothing else", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const part = createPart(folder);
    // As the end of a program that is killed.
    part.file.close();
    const elsewhere = Deno.makeTempFileSync({ dir: folder, prefix: "kept" });
    const link = `.${crypto.randomUUID()}`;
    Deno.symlinkSync(elsewhere, `${folder}/${link}`);
    Deno.mkdirSync(`${folder}/.${crypto.randomUUID().replace(/^./u, "0")}`);
    Deno.writeTextFileSync(`${folder}/.hidden`, "somebody's");
    const before = namesIn(folder);
    removeLostParts(folder);
    const gone = before.filter((name) => !namesIn(folder).includes(name));
    assertEquals(gone, [part.path.split("/").at(-1)]);
    removeLostParts(`${folder}/none`);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
