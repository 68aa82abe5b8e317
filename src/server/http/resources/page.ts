import { PAGE, PAGE_HEADERS } from "../../page/page.ts";
import type { Route } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** The page for a browser, which is there only where a token is asked for. */
export const PAGE_ROUTE: Route<ServeContext> = {
  method: "GET",
  path: "/",
  handle: () => new Response(PAGE, { headers: PAGE_HEADERS }),
};
