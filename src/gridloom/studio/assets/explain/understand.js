// Why the II is not lower: bound by bound, each one shown in the graph and on the array.
import { make } from "../../drawing/dom.js";

export class Understand {
  // `view` is a mapping view whose pictures are marked; `tryLower(ii)` starts a search, where there is a server.
  constructor(told, view, tryLower = null) {
    this.view = view;
    this.element = make("section", { class: "card", id: "understand", "aria-labelledby": "h-why" },
      make("h2", { id: "h-why" }, told.ii === null ? "What bounds the period" : `Why II ${told.ii}?`),
      make("p", { id: "why-verdict" }, told.verdict),
      make("ol", { id: "bounds", class: "bounds" }, ...told.bounds.slice(0, 12).map((bound) => this.bound(bound))),
      told.levers.length
        ? make("p", { id: "levers", class: "chips" }, make("span", {}, "would help: "),
          ...told.levers.map(({ change, gain }) => make("span", { class: "lever" }, `${change}: ${gain}`)))
        : "",
      this.crowded(told.crowded),
      told.proof ? make("p", { class: "hint" }, `Proof: ${told.proof}`) : "",
      estimates(told.estimates),
      tryLower && told.ii > 1 && told.ii > told.mii
        ? make("button", { type: "button", id: "try-lower", onclick: () => tryLower(told.ii - 1) }, `Try II ${told.ii - 1}`)
        : "");
  }

  bound(bound) {
    const label = bound.kind === "bottleneck" ? `${bound.ii} cycles` : `II ≥ ${bound.ii}`;
    const show = make("button", { type: "button", "aria-pressed": "false", onclick: () => this.show(bound, show) }, "Show");
    return make("li", { class: bound.binding ? "binding" : "", "data-kind": bound.kind },
      make("b", {}, label), make("span", {}, ` ${bound.text}${bound.binding ? " (binding)" : ""} `), show,
      make("small", {}, bound.help));
  }

  show(bound, button) {
    const on = button.getAttribute("aria-pressed") === "true";
    this.element.querySelectorAll("[aria-pressed]").forEach((other) => other.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", String(!on));
    this.view.tracing.clear();
    this.view.array.unmark();
    if (!on) {
      if (bound.edges.length) {
        this.view.tracing.highlight(new Set(bound.edges), new Set(bound.nodes));
      }
      this.view.array.mark(bound.nodes, bound.tiles, "because");
    }
  }

  crowded(told) {
    const item = ({ name, share, tile }) => make("button", {
      type: "button", class: "chip", onclick: () => {
        this.view.array.mark([], [tile], "because");
        this.view.chooseTile(tile);
      },
    }, `${name} ${Math.round(100 * share)} %`);
    return make("div", {},
      make("h3", {}, "The fullest places"),
      make("p", { class: "chips" }, make("span", {}, "links: "), ...told.links.map(item), told.links.length ? "" : "none in use"),
      make("p", { class: "chips" }, make("span", {}, "issue slots: "), ...told.issues.map(item)));
  }
}

function estimates(rows) {
  if (!rows.length) {
    return "";
  }
  return make("details", { open: true }, make("summary", {}, "Estimates and results"),
    make("table", { id: "estimates" }, make("thead", {}, make("tr", {}, ...["", "before the search", "result"].map((t) => make("th", { scope: "col" }, t)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, make("th", { scope: "row" }, row[0]), make("td", {}, String(row[1])), make("td", {}, String(row[2])))))));
}
