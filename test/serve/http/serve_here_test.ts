import { assert } from "@std/assert";
import { eventsOf } from "./serve_here.ts";

Deno.test("eventsOf() gives back what it has not read, also where it has read nothing", async () => {
  for (const count of [0, 1]) {
    let isGivenBack = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
      cancel: () => void (isGivenBack = true),
    });
    {
      await using events = eventsOf(new Response(body));
      for (let read = 0; read < count; read++) await events.next();
    }
    assert(isGivenBack, `${count}`);
  }
});
