import { assertEquals } from "@std/assert";
import {
  answerIn,
  choiceOf,
  partition,
  type TwinAnswer,
} from "../../src/driver/hands/twin_words.ts";

/** An answer to a request, as a line of the wire tells it. */
function told(request_id: string, answer: Readonly<Record<string, unknown>>): TwinAnswer {
  const response = { subtype: "success", request_id, ...answer };
  return answerIn({ type: "control_response", response }) ?? { place: "", said: { failure: "" } };
}

Deno.test("what is in force is asked before a model is chosen and after it", () => {
  const request = { id: "m", subtype: "set_model", body: { model: "haiku" } };
  const [lines] = partition(new Map([["3", request]]), undefined);
  assertEquals(lines.map(({ request_id, request }) => [request_id, request.subtype]), [
    ["3 before", "get_settings"],
    ["3", "set_model"],
    ["3 after", "get_settings"],
  ]);
});

Deno.test("servers are set in their place among questions about servers, and at once where there are none", () => {
  const askedAs = (...subtypes: readonly string[]) => {
    const open = new Map(
      subtypes.map((subtype, at) => [`${at}`, { id: `${at}`, subtype, body: {} }]),
    );
    return partition(open, undefined).map((lines) => lines.map(({ request_id: id }) => id));
  };
  assertEquals(askedAs("mcp_set_servers", "get_settings"), [["0", "1"], []]);
  assertEquals(askedAs("mcp_status", "mcp_set_servers", "get_settings", "mcp_status"), [
    ["2"],
    ["0", "1", "3"],
  ]);
});

Deno.test("the answer to a choice is whole once nothing is missing, in whatever order it comes", () => {
  const inForce = (model: string) => ({ response: { applied: { model } } });
  const parts = [
    told("3 before", inForce("a")),
    told("3", { response: { model: "b" } }),
    told("3 after", inForce("c")),
  ];
  for (const order of [[0, 1, 2], [0, 2, 1]]) {
    const collected = new Map<string, TwinAnswer>();
    const wholes = order.map((place) => choiceOf(collected, parts[place] ?? told("", {})));
    assertEquals<unknown>(wholes, [undefined, undefined, {
      place: "3",
      said: { response: { model: "b", before: { model: "a" }, after: { model: "c" } } },
    }]);
  }
});

Deno.test("a choice that is refused names the model in force", () => {
  const refused = told("3", { subtype: "error", error: "no", error_code: "unknown", model: "a" });
  const collected = new Map<string, TwinAnswer>();
  for (const part of [told("3 before", {}), told("3 after", {})]) choiceOf(collected, part);
  assertEquals(choiceOf(collected, refused)?.said, {
    error: "no",
    errorCode: "unknown",
    model: "a",
  });
});

Deno.test("hooks that the twin does not run are told to be on, unless no hook runs in the child either", () => {
  const listing = { hooks: [{ event: "Stop", disabled: true }], policy: { allDisabled: true } };
  assertEquals(told("1", { response: listing }).said, {
    response: { hooks: [{ event: "Stop" }], policy: { allDisabled: false } },
  });
  const bare = { ...listing, bareMode: { exitHint: "" } };
  assertEquals(told("1", { response: bare }).said, { response: bare });
});
