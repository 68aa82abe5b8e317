import { fillAsNobody } from "../../redaction/traces/fill_trace.ts";
import type { KnownTraces } from "../../redaction/traces/known_traces.ts";
import type { Trace } from "../../redaction/traces/find_traces.ts";
import { noting } from "../../redaction/traces/noting.ts";
import { collectTraces, type TraceCollector } from "../../redaction/traces/learn_traces.ts";
import { createTraceScrubber } from "../../redaction/traces/scrub_text.ts";
import { inTurn, type TextScrub } from "../../redaction/traces/text_scrub.ts";
import { atOnce } from "./at_once.ts";
import type { Exchange, ExchangeRequest, ScrubbedPart } from "./exchange.ts";
import { VARYING } from "./masks.ts";
import { scrubRequest, scrubResponse, textOf } from "./scrub_exchange.ts";
import { blankText } from "../../redaction/traces/blanked/blank_text.ts";
import {
  blankCallJson,
  speaksToSubagent,
} from "../../redaction/traces/blanked/blank_call_input.ts";
import { createSaidBlanker, type SaidOptions } from "../../redaction/traces/blanked/blank_said.ts";
import { cutAlike } from "../../redaction/traces/cut_alike.ts";
import type { SaidParts } from "../../redaction/traces/blanked/said_parts.ts";

/** Scrubs exchanges so that those of one machine, once scrubbed, are those of any other. */
export interface ExchangeScrubber {
  /** Learns from an exchange, or a request, of whom it tells. */
  readonly learn: (exchange: LearnedFrom) => void;
  readonly request: (request: ExchangeRequest) => ExchangeRequest;
  /** An exchange, and what was taken out of it. */
  readonly exchange: (exchange: Exchange) => Exchange;
  /** The same a little at a time; yields how much it has looked at. */
  readonly inSteps: (exchange: Exchange) => Generator<number, Exchange>;
}

/** An exchange, or a request alone. */
export interface LearnedFrom {
  readonly request: ExchangeRequest;
  readonly response?: Exchange["response"];
}

/**
 * Creates a scrubber of exchanges.
 *
 * @param options.parts what is taken out
 * @param options.known what is known of whoever makes the requests
 * @param options.secrets takes secrets out besides; by default they are taken for gone
 */
export function createExchangeScrubber(
  { parts, known, collector = collectTraces(known), secrets, note }: {
    readonly parts: readonly ScrubbedPart[];
    readonly known: Partial<KnownTraces>;
    /** Who learns; a new one by default. */
    readonly collector?: TraceCollector;
    readonly secrets?: TextScrub;
    /** Takes the kind of each trace that is taken out. */
    readonly note?: (kind: Trace["kind"]) => void;
  },
): ExchangeScrubber {
  const said = saidScrub({
    prompts: parts.includes("prompts"),
    answers: parts.includes("answers"),
  }, { varying: VARYING });
  let made: { readonly of: string; readonly scrub: TextScrub } | undefined;
  const scrubNow = (): TextScrub => {
    const now = collector.known();
    const of = JSON.stringify(now);
    if (made?.of === of) return made.scrub;
    const scrub = inTurn(
      ...(secrets === undefined ? [] : [secrets]),
      ...(parts.includes("traces")
        ? [createTraceScrubber(now, noting(fillAsNobody(now), note))]
        : []),
      said,
    );
    made = { of, scrub };
    return scrub;
  };
  const inSteps = function* (exchange: Exchange): Generator<number, Exchange> {
    const scrub = scrubNow();
    const scrubbed = new Set([...exchange.scrubbed ?? [], ...parts]);
    return {
      ...exchange,
      request: scrubRequest(exchange.request, scrub),
      response: yield* scrubResponse(exchange.response, scrub),
      ...(scrubbed.size === 0 ? {} : { scrubbed: [...scrubbed] }),
    };
  };
  return {
    learn: ({ request, response }) => {
      const bodies = [request.body, ...(response?.chunks ?? []).map(({ bytes }) => bytes)];
      for (const body of bodies) learnFromBody(body, collector);
    },
    request: (request) => scrubRequest(request, scrubNow()),
    exchange: (exchange) => atOnce(inSteps(exchange)),
    inSteps,
  };
}

function learnFromBody(
  body: Uint8Array<ArrayBuffer>,
  { text, value }: ReturnType<typeof collectTraces>,
): void {
  const given = textOf(body);
  if (given === undefined || given === "") return;
  try {
    value(JSON.parse(given));
  } catch {
    text(given);
  }
}

/** Blanks prompts or answers where a JSON value says that it holds some; what a text alone is, nobody knows. */
function saidScrub(parts: SaidParts, options: SaidOptions = {}): TextScrub {
  return {
    text: (text) => text,
    value: createSaidBlanker(parts, options),
    pieces: (pieces, { isAnswer, tool } = { isAnswer: false }) => {
      if (isAnswer) return parts.answers ? pieces.map(blankText) : pieces;
      return tool !== undefined && parts.prompts && speaksToSubagent(tool)
        ? cutAlike(blankCallJson(tool, pieces.join("")), pieces)
        : pieces;
    },
  };
}
