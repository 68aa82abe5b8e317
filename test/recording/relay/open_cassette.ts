import {
  type ApiCassetteOptions,
  openApiCassette,
} from "../../../src/recording/relay/api_cassette.ts";

/** Opens a folder of exchanges for replay without delays. */
export function openCassette(folder: string, options: Partial<ApiCassetteOptions> = {}) {
  return openApiCassette({
    folder,
    match: "exact",
    ignored: [],
    speed: 0,
    faults: new Map(),
    redact: (text) => text,
    openFrom: () => Infinity,
    tell: () => {},
    ...options,
  });
}

/** A response that breaks off after the word "half": its content-length is too large. */
export function halfAnswer(): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("half"));
        controller.close();
      },
    }),
    { headers: { "content-length": "1000" } },
  );
}
