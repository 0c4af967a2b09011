// Tables of names and texts.
import { make } from "../../drawing/dom.js";

export function numberTable(rows, id = null) {
  return make("table", { id }, make("tbody", {}, ...rows.map(([name, text]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, text)))));
}
