import { REAL_VERSIONS } from "../for_each_version.ts";
import { testTable } from "./table.ts";

for (const version of REAL_VERSIONS.slice(-1)) testTable(version);
