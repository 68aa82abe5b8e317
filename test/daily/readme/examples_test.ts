import { testExamples } from "../../examples/test_examples.ts";
import { PAGES } from "./pages.ts";

testExamples(PAGES.map(({ path }) => path));
