import { FAULTS } from "./faults.ts";
import { testFaults } from "./test_faults.ts";

testFaults(FAULTS);

// CLAUDE_PRINT_TEST_SERVE=warm runs all of them with a warm child.
testFaults(FAULTS.filter(({ name }) => /is killed|clock jumps/u.test(name)), {
  isWarm: true,
  moments: ["before start", "in a tool"],
});
