import { REAL_VERSIONS } from "../for_each_version.ts";
import { testTable } from "./table.ts";

// A file of its own: files are tested at the same time.
for (const version of REAL_VERSIONS.slice(0, -1)) testTable(version);
