import { joinedBytes } from "../../joined_bytes.ts";
import { errorAnswer } from "./faults.ts";

/** How much of request bodies is read. */
export interface BodyLimits {
  /** The largest body, in bytes. */
  readonly bytes: number;
  /** All bodies that are in memory at the same time, in bytes. */
  readonly bytesOfAll: number;
  /** How long the next bytes of a body may take to arrive, in milliseconds. */
  readonly idleMs: number;
}

const MB = 1024 * 1024;

/** The Messages API itself accepts 32 MB. */
const LIMITS: BodyLimits = { bytes: 128 * MB, bytesOfAll: 256 * MB, idleMs: 30_000 };

/** Reads the bodies of requests, and counts the bytes that they take in memory. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  #held = 0;

  constructor(limits: BodyLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads a body. Its bytes count until {@link release} is called.
   *
   * @returns the body, or the error that the client gets in place of an answer
   * @throws when the client breaks off
   */
  async read(request: Request): Promise<Uint8Array<ArrayBuffer> | Response> {
    const { bytes: most, bytesOfAll, idleMs } = this.#limits;
    const reader = request.body?.getReader();
    if (reader === undefined) return new Uint8Array();
    let pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    let refusal: Response | undefined;
    let isLate = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const drop = () => {
      for (const { length } of pieces) this.release(length);
      pieces = [];
    };
    try {
      for (;;) {
        timer = setTimeout(() => {
          isLate = true;
          reader.cancel().catch(() => {});
        }, idleMs);
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) break;
        size += value.length;
        if (refusal === undefined && size > most) {
          refusal = refused(413, `it is larger than ${most / MB} MB`);
        }
        if (refusal === undefined && this.#held + value.length > bytesOfAll) {
          refusal = refused(503, `other requests take the ${bytesOfAll / MB} MB that bodies may`);
        }
        if (refusal !== undefined) {
          // The rest is read, but not kept: a client that still writes would not see the error.
          drop();
          continue;
        }
        this.#held += value.length;
        pieces.push(value);
      }
    } catch (error) {
      clearTimeout(timer);
      drop();
      throw error;
    }
    if (!isLate) return refusal ?? joinedBytes(pieces);
    drop();
    return refused(408, `none of it has arrived for ${idleMs / 1000} s`);
  }

  /** Stops counting bytes that are no longer needed. */
  release(bytes: number): void {
    this.#held -= bytes;
  }
}

function refused(status: number, why: string): Response {
  return errorAnswer(status, { message: `Cannot read the body of the request: ${why}` });
}
