import { assertEquals } from "@std/assert";
import { withoutScreenCommands } from "../../../src/sandbox/child/screen_commands.ts";

const command = { type: "command", command: "touch /tmp/x" };
const nothing = { type: "command", command: "" };

Deno.test("withoutScreenCommands() overrides what would start a program for the screen, and adds nothing else", () => {
  assertEquals(withoutScreenCommands({ model: "opus" }, [{ env: {} }]), { model: "opus" });
  assertEquals(
    withoutScreenCommands({ model: "opus", statusLine: command }, [
      { statusLine: command },
      { fileSuggestion: command },
    ]),
    { model: "opus", statusLine: nothing, fileSuggestion: nothing },
  );
});
