import { FAULTS } from "./faults.ts";
import { testFaults } from "./test_faults.ts";

testFaults(FAULTS);
