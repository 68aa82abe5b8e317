import { testExamples } from "../examples/test_examples.ts";

testExamples(["README.md"]);
