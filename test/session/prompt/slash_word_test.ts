import { assertEquals } from "@std/assert";
import { slashWord } from "../../../src/session/prompt/slash_word.ts";

Deno.test("slashWord() takes a prompt apart at white space", () => {
  assertEquals(slashWord("/logout"), { name: "logout", rest: "", indented: false });
  assertEquals(slashWord("/a:b \t x y\n"), { name: "a:b", rest: "x y", indented: false });
  assertEquals(slashWord("\n\u3000/a\nb"), { name: "a", rest: "b", indented: true });
  assertEquals(slashWord("\ufeff/a\u00a0b"), { name: "a", rest: "b", indented: true });
  assertEquals(slashWord("/ hi"), { name: "", rest: "hi", indented: false });
  assertEquals(slashWord("//x"), { name: "/x", rest: "", indented: false });
});

Deno.test("slashWord() finds no slash behind anything but white space", () => {
  for (
    const prompt of ["", "  ", "hi /logout", "hi\n/logout", "\u200b/logout", "!/x", "／logout"]
  ) {
    assertEquals(slashWord(prompt), undefined, prompt);
  }
});
