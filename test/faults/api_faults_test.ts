import { API_FAULTS } from "./api_faults.ts";
import { testFaults } from "./test_faults.ts";

await testFaults(API_FAULTS);
