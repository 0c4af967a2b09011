// The mapper and its settings: a form for each configuration record, made from its fields.
import { make } from "../../drawing/dom.js";

export class MapperForm {
  constructor() {
    this.mappers = [];
    this.mapper = make("select", { id: "mapper", "aria-label": "mapper", onchange: () => this.fields() });
    this.summary = make("p", { class: "hint" });
    this.ii = make("input", { type: "number", id: "ii", min: "1", placeholder: "least", "aria-label": "II" });
    this.seed = make("input", { type: "number", id: "seed", min: "0", value: "0", "aria-label": "seed" });
    this.limit = make("input", { type: "number", id: "time-limit", min: "0.1", step: "any", value: "20", "aria-label": "seconds" });
    this.effort = make("input", { type: "number", id: "effort", min: "1", placeholder: "no limit", "aria-label": "effort" });
    this.form = make("div", { class: "settings", id: "settings" });
    this.iiLabel = make("label", {}, "II ", this.ii);
    this.element = make("section", { class: "card", "aria-labelledby": "h-mapper" },
      make("h2", { id: "h-mapper" }, "Mapper"),
      make("p", { class: "tools" }, this.mapper, this.iiLabel, make("label", {}, "seed ", this.seed), make("label", {}, "seconds ", this.limit), make("label", {}, "effort ", this.effort)),
      this.summary, make("details", { id: "settings-details" }, make("summary", {}, "Settings"), this.form));
  }

  show(told) {
    const before = this.mapper.value;
    this.mappers = told.mappers;
    this.mapper.replaceChildren(...told.mappers.map(({ name, needs }) => make("option", { value: name, disabled: needs !== null }, needs ? `${name} (needs ${needs})` : name)));
    this.mapper.value = told.mappers.some(({ name }) => name === before) ? before : told.mappers[0]?.name ?? "";
    this.iiLabel.hidden = told.style !== "modulo";
    this.fields();
  }

  fields() {
    const chosen = this.mappers.find(({ name }) => name === this.mapper.value);
    this.summary.textContent = chosen?.summary ?? "no mapper takes this array";
    this.form.replaceChildren(...(chosen?.fields ?? []).map((field) => make("label", {}, make("span", {}, field.name), input(field), make("small", {}, field.help))));
  }

  asked() {
    const settings = {};
    for (const field of this.form.querySelectorAll("[data-setting]")) {
      const value = field.type === "checkbox" ? String(field.checked) : field.value.trim();
      if (value !== field.dataset.default && value !== "") {
        settings[field.dataset.setting] = value;
      }
    }
    const number = (field) => (field.value === "" ? null : Number(field.value));
    const asked = { mapper: this.mapper.value, seed: number(this.seed) ?? 0, settings, time_limit: number(this.limit), effort: number(this.effort) };
    return this.iiLabel.hidden || this.ii.value === "" ? asked : { ...asked, ii: number(this.ii) };
  }
}

function input(field) {
  const marks = { "data-setting": field.name, "data-default": field.default, "aria-label": field.name, title: field.type };
  if (field.input === "flag") {
    return make("input", { type: "checkbox", checked: field.default === "true", ...marks });
  }
  if (field.input === "choice") {
    return make("select", marks, ...field.choices.map((value) => make("option", { value, selected: value === field.default }, value)));
  }
  return make("input", { type: "text", inputmode: field.input === "number" ? "decimal" : "text", value: field.default, ...marks });
}
