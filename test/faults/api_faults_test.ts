import { API_FAULTS } from "./api_faults.ts";
import { testFaults } from "./test_faults.ts";

testFaults(API_FAULTS);
