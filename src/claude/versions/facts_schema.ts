import { z } from "zod/mini";
import type { ProfileFacts } from "./profile_index.ts";

/** Words that can be keys of frames. They begin with a letter, which excludes `__proto__`. */
const words = z.string().check(z.regex(/^(?:[A-Za-z][\w-]*(?: (?!$)|$))*$/u));
const values = z.record(z.string(), z.unknown());

/** The schema of a profile's facts from untrusted sources: learnt profiles and recordings. */
export const factsSchema: z.ZodMiniType<ProfileFacts> = z.object({
  capabilities: words,
  keys: z.object({
    init: words,
    assistant: words,
    user: words,
    streamEvent: words,
    result: words,
    usage: words,
    modelUsage: words,
  }),
  constants: z.object({ init: values, result: values }),
});
