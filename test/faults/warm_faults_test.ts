import { FAULTS } from "./faults.ts";
import { testFaults } from "./test_faults.ts";

// All others are played so with CLAUDE_PRINT_TEST_SERVE=warm.
testFaults(FAULTS.filter(({ name }) => /is killed|clock jumps/u.test(name)), {
  isWarm: true,
  moments: ["before start", "in a tool"],
});
