import type { BundleContents } from "./bundle_contents.ts";

/** What a release may be made of. */
const MAY_HOLD: readonly RegExp[] = [
  /^(?:src|ffi)\/(?:\w+\/)*\w+\.ts$/u,
  /^deno\.json$/u,
  /^jsr:@std\/[a-z]+@[\d.]+$/u,
  /^npm:(?:@xterm\/headless|zod)@[\d.]+$/u,
  // ajv and what it is made of.
  /^npm:(?:ajv|fast-deep-equal|fast-uri|json-schema-traverse)@[\d.]+$/u,
];

/** Why a bundle is no release, as the end of a sentence: the first thing it holds that no release may hold. */
export function releaseProblem({ files, packages }: BundleContents): string | undefined {
  const strange = [...packages, ...files].find((name) => !MAY_HOLD.some((may) => may.test(name)));
  return strange === undefined ? undefined : `it holds ${strange}`;
}
