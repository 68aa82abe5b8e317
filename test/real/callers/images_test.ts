import { assert, assertEquals } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { forEachVersion } from "../for_each_version.ts";
import { hold } from "../hold_conversation.ts";
import { parseFrames } from "../print_mode_facts.ts";

/** A picture of one red pixel, as PNG in base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const IMAGE = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: PIXEL },
};

forEachVersion(
  "images of a message reach the API byte for byte, each marked in the text where it was",
  async (real) => {
    const content = [{ type: "text", text: "Compare é" }, IMAGE, {
      type: "text",
      text: "with `this`: [[say No picture]]\n",
    }];
    const { code, stdout, stderr } = await hold(real, async ({ send, heard }) => {
      await send({ type: "user", message: { role: "user", content } });
      await heard('"type":"result"', 1);
      await send({ type: "user", message: { role: "user", content: [IMAGE] } });
      await heard('"type":"result"', 2);
    });
    assertEquals([code, stderr], [0, ""]);
    const frames = parseFrames(stdout);
    assertEquals(
      frames.map(({ type, subtype }) => subtype ?? type).filter((kind) =>
        kind !== "rate_limit_event"
      ),
      ["init", "assistant", "success", "init", "assistant", "success"],
    );
    const results = frames.filter(({ type }) => type === "result");
    assertEquals(results.map(({ num_turns: turns }) => turns), [1, 1]);
    assertEquals(results[0]?.result, "No picture");
    const asked = real.api.turns.map(({ body }) =>
      JSON.stringify((body as { readonly messages: unknown }).messages)
    );
    for (
      const [at, text] of [
        "Compare é\\n[Image #1]\\nwith `this`: [[say No picture]]",
        "[Image #2]",
      ].entries()
    ) {
      const images = asked[at]?.split(`"data":"${PIXEL}"`).length ?? 0;
      assertEquals(images - 1, at + 1);
      assert(asked[at]?.includes(text), asked[at]);
    }
    assertEquals(await leftovers(real.home), []);
  },
);
