import { assertEquals } from "@std/assert";
import { typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import { simulate } from "../../conversation/control/simulation.ts";

/** Subtypes in the SDK's module that are no requests. */
const NO_REQUESTS = ["error", "success", "mirror_error"];

Deno.test("every control request of the SDK for TypeScript is known", async () => {
  const module = await Deno.readTextFile(await typescriptSdk());
  const subtypes = new Set(module.matchAll(/\bsubtype:"(\w+)"/gu).map(([, name = ""]) => name));
  assertEquals(subtypes.size > 50, true, "the SDK names its subtypes differently");
  const unknown = [...subtypes].filter((subtype) => {
    const session = simulate({
      conversation: true,
      version: "2.1.330",
      caller: { idPrefix: "q", callbacks: [] },
    });
    session.receive({ type: "reachable" });
    session.receive({ type: "control", request: { id: "1", subtype, body: {} } });
    return session.effects.some((effect) =>
      effect.type === "respond" && "error_code" in effect.response &&
      effect.response.error_code === "unsupported_request"
    );
  });
  assertEquals(unknown.toSorted(), NO_REQUESTS.toSorted());
});
