import { rereadCassette } from "../../recording/cassette/read/open_cassette.ts";
import { drawCassette } from "../../recording/picture/draw_cassette.ts";
import { print } from "../report/print.ts";

/** Prints the recorded terminal as a moving picture. */
export async function printPicture({ dir }: { readonly dir: string }): Promise<number> {
  print(Deno.stdout, await drawCassette(rereadCassette(dir)));
  return 0;
}
