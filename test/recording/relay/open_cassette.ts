import {
  type ApiCassetteOptions,
  openApiCassette,
} from "../../../src/recording/relay/api_cassette.ts";

/** Opens a folder of exchanges to play them as they are, unless the options say otherwise. */
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
