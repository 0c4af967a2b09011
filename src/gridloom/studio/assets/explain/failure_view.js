// A search without a mapping: the constraint, what is needed and what there is, and the contested places.
import { make } from "../../drawing/dom.js";
import { numberTable } from "../step/tables.js";
import { sourceCard } from "../step/source_card.js";

export function failureView(scene) {
  const { constraint, demand, bound, levers, congested } = scene.failure;
  const picture = make("div", { class: "picture" });
  picture.innerHTML = scene.array ?? "";
  return make("div", { class: "mapping failure", "data-mapping": scene.id },
    make("div", { class: "title" }, make("div", {}, make("h2", { class: "what" }, scene.title), make("p", { class: "lead" }, scene.summary)),
      make("ul", { class: "verdict" }, make("li", { class: "badge-bad" }, "✗ not mapped"))),
    make("section", { class: "card alarm" }, make("h2", {}, "Why there is no mapping"),
      numberTable([["constraint", constraint], ["it needs", demand], ["there is", bound]], "reason"),
      list("bounds", "What forbids it", scene.why.reasons.filter(({ binding }) => binding).map(({ text }) => text)),
      list("levers", "What would help, tried", scene.why.levers.map(({ change, gain }) => `${change}: ${gain}`)),
      list("suggestions", "What the mapper suggests, untried", levers)),
    make("section", { class: "card" }, make("h2", {}, congested.length ? "Contested places" : "Array"), picture, make("p", { class: "hint" }, congested.join(", "))),
    make("div", { class: "column" }, sourceCard(scene.source).element ?? "",
      make("section", { class: "card" }, make("h2", {}, "Search"), numberTable(scene.metrics))));
}

function list(id, heading, lines) {
  return lines.length ? make("div", {}, make("h3", {}, heading), make("ul", { id }, ...lines.map((text) => make("li", {}, text)))) : "";
}
