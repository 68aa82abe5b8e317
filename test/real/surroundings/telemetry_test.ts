import { assertEquals } from "@std/assert";
import { forNewestVersion } from "../for_each_version.ts";

/** Names of the spans in a request of an OTLP exporter. */
function spansIn(body: {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string }[] }[];
  }[];
}): readonly string[] {
  return (body.resourceSpans ?? []).flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name))
  );
}

forNewestVersion("a traced run exports the span of its turn", async (real) => {
  const names: string[] = [];
  await using collector = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    names.push(...spansIn(await request.json()));
    return Response.json({});
  });
  const { code } = await real.print(["--", "Hi"], {
    env: {
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "1",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
    },
  });
  assertEquals(code, 0);
  assertEquals(names.toSorted(), ["claude_code.interaction", "claude_code.llm_request"]);
});
