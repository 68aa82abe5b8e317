import { assert, assertEquals } from "@std/assert";
import { Rendezvous } from "../../src/driver/hands/rendezvous.ts";
import { hookScript, hookSettings } from "../../src/sandbox/child/hooks.ts";
import { folderParts } from "../../src/sandbox/folder/folder_parts.ts";

Deno.test("a long prompt is marked before it is sent, where the hook of prompts looks for that", () => {
  const path = Deno.makeTempDirSync();
  try {
    const { own, hookPath, longPromptsPath, rendezvousPath } = folderParts(path);
    Deno.mkdirSync(own);
    const marked = () => [...Deno.readDirSync(own)].map(({ name }) => `${own}/${name}`);
    using rendezvous = new Rendezvous({ path: rendezvousPath, secret: "s", longPromptsPath });
    rendezvous.send("x".repeat(1500));
    assertEquals(marked(), []);
    for (const _ of [1, 2]) rendezvous.send("x".repeat(1501));
    assertEquals(marked(), [longPromptsPath]);
    const script = hookScript({ own, secret: "s", pid: Deno.pid });
    assert(script.includes(`"$d/${longPromptsPath.slice(own.length + 1)}"`));
    const settings = (marksLong: boolean) =>
      JSON.stringify(hookSettings(hookPath, {
        events: ["Stop", "UserPromptSubmit"],
        held: ["Stop"],
        marksLong,
      }));
    assert(settings(true).includes("set -- prompt; "));
    assert(!settings(false).includes("set -- prompt; "), "who marks nothing may send long ones");
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
});

Deno.test("a long prompt is sent, too, where it cannot be marked", () => {
  const longPromptsPath = "/proc/self/long-prompts";
  using rendezvous = new Rendezvous({ path: "/proc/self/socket", secret: "s", longPromptsPath });
  rendezvous.send("x".repeat(1501));
  assert(!Deno.readDirSync("/proc/self").some(({ name }) => name === "long-prompts"));
});
