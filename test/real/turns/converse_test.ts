import { assertEquals } from "@std/assert";
import { converseHere } from "../../library/converse_here.ts";
import { forNewestVersion } from "../for_each_version.ts";

forNewestVersion(
  "converse() holds two turns in one session, and its result is each turn's",
  async (real) => {
    await using conversation = converseHere(real);
    const first = await conversation.send("One. [[say first]]").result;
    const second = await conversation.send("Two. [[say second]]").result;
    assertEquals([first.text, second.text], ["first", "second"]);
    assertEquals([first.exitCode, second.exitCode], [0, 0]);
    assertEquals(second.frame.session_id, first.frame.session_id);
    assertEquals(await conversation.close(), { exitCode: 0, warnings: [] });
  },
);
