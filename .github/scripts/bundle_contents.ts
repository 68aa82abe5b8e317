/** What a bundle is made of, without the order it comes in. */
export interface BundleContents {
  /** Files of the checkout: `src/main.ts`. */
  readonly files: readonly string[];
  /** `npm:zod@4.6.7`, `jsr:@std/jsonc@1.0.2`; an address instead of `jsr:` if it came from elsewhere. */
  readonly packages: readonly string[];
}

/** A line that is a comment and nothing else, but for the notes that esbuild makes to itself. */
const COMMENT = /^\/\/ (?!@__)(.*)$/gmu;

/** A file of a package, as `stableNames()` leaves it. */
const NPM = /^npm:((?:@[^/]+\/)?[^/]+)\/([^/]+)\//u;

/** A file of a package, as `deno bundle` (2.9.6) names it. */
const JSR = /^deno:(https?:\/\/[^/]+\/)(@[^/]+\/[^/]+)\/([^/]+)\//u;

/**
 * Lists what is in a bundle by the comments with which the bundler begins every module; it drops those of the sources.
 * What says nothing that is known stands among the files, so that nothing is left out.
 *
 * @param text all files of the bundle, with the names that `stableNames()` gives
 */
export function bundleContents(text: string): BundleContents {
  const files = new Set<string>();
  const packages = new Set<string>();
  for (const [, module = ""] of text.matchAll(COMMENT)) {
    const [, npm, npmVersion] = NPM.exec(module) ?? [];
    const [, registry, jsr, jsrVersion] = JSR.exec(module) ?? [];
    if (npm !== undefined) packages.add(`npm:${npm}@${npmVersion}`);
    else if (jsr === undefined) files.add(module);
    else packages.add(`${registry === "https://jsr.io/" ? "jsr:" : registry}${jsr}@${jsrVersion}`);
  }
  return { files: [...files].toSorted(), packages: [...packages].toSorted() };
}
