import { testExamples } from "../../examples/test_examples.ts";
import { PAGES } from "../../docs/pages.ts";

testExamples(PAGES.map(({ path }) => path));
