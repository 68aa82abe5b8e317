import { assertEquals } from "@std/assert";
import { modelLimits } from "../../../src/frames/result/model_limits.ts";

// What `claude -p` 2.1.330 printed for `--model`, in thousands of tokens.
const MEASURED: readonly (readonly [string, window: number, output: number])[] = [
  ["claude-opus-5-5", 1000, 128],
  ["claude-opus-5", 1000, 64],
  ["claude-opus-4-7", 1000, 64],
  ["claude-opus-4-6", 200, 64],
  ["claude-opus-4-5-20251101", 200, 32],
  ["claude-sonnet-5-5", 1000, 128],
  ["claude-sonnet-4-6", 200, 32],
  ["claude-sonnet-4-6[1m]", 1000, 32],
  ["claude-haiku-5-5", 1000, 128],
  ["claude-haiku-4-5", 200, 32],
  ["claude-fable-5-1", 1000, 64],
  ["claude-mythos-5-2", 1000, 128],
];

Deno.test("modelLimits: gives the limits that claude -p prints", () => {
  for (const [model, window, output] of MEASURED) {
    assertEquals(
      modelLimits(model),
      { contextWindow: window * 1000, maxOutputTokens: output * 1000 },
      model,
    );
  }
});

Deno.test("modelLimits: says nothing of a model that was not measured", () => {
  for (const model of ["gpt-4", "claude-opus-6", "anthropic.claude-opus-4-8-v1", ""]) {
    assertEquals(modelLimits(model), {});
  }
});
