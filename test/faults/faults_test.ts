import { FAULTS } from "./faults.ts";
import { testFaults } from "./test_faults.ts";

await testFaults(FAULTS);
