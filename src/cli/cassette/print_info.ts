import { surveyCassette } from "../../recording/cassette/read/survey_cassette.ts";
import { furtherOf } from "../../recording/relay/api_folder.ts";
import { printLines, reportJson } from "../report/print.ts";
import { cassetteInfo } from "./cassette_info.ts";

/** Prints what is inside a cassette, in lines or as one JSON object. */
export function printInfo({ dir, json }: { readonly dir: string; readonly json: boolean }): number {
  const survey = surveyCassette(dir);
  printLines(`${json ? reportJson(survey) : cassetteInfo(survey, furtherOf(dir))}\n`);
  return 0;
}
