import { assertEquals } from "@std/assert";
import { addExchange } from "../../../src/relay/exchanges/exchange_folder.ts";

Deno.test("an exchange has the first number that is free, though there are very many of its key", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const key = "0123456789abcdef";
    const add = () =>
      addExchange(folder, {
        exchange: {
          at: 0,
          request: { method: "POST", path: "/v1/messages", body: new Uint8Array() },
          response: { status: 529, headers: [], chunks: [], whole: true },
        },
        key,
      });
    assertEquals([add(), add(), add()], [`${key}-0.json`, `${key}-1.json`, `${key}-2.json`]);
    Deno.removeSync(`${folder}/${key}-1.json`);
    assertEquals([add(), add()], [`${key}-1.json`, `${key}-3.json`]);
    for (let number = 4; number < 300; number++) {
      Deno.symlinkSync("nowhere", `${folder}/${key}-${number}.json`);
    }
    for (let number = 300; number < 305; number++) assertEquals(add(), `${key}-${number}.json`);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
