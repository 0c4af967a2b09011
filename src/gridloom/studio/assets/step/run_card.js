// What a run is fed: iterations, a seed for random values, and values of the user's own.
import { make } from "../../drawing/dom.js";

export class RunCard {
  // `again(asked)` runs with other data.
  constructor(head, again) {
    this.iterations = make("input", { type: "number", id: "iterations", min: "1", max: "10000", value: String(head.iterations ?? 6) });
    this.seed = make("input", { type: "number", id: "data-seed", min: "0", value: "0" });
    this.data = make("textarea", { id: "data-text", rows: "8", spellcheck: "false", "aria-label": "data of the run as JSON" });
    this.data.value = head.fed ? JSON.stringify(head.fed, null, 1).replace(/\n\s+(-?[\d.e+]+,?)(?=\n)/g, " $1") : "";
    this.first = this.data.value;
    this.problem = make("p", { class: "problem", role: "alert" });
    this.element = make("section", { class: "card", "aria-labelledby": "h-run" },
      make("h2", { id: "h-run" }, "Run"),
      make("p", { class: "tools" },
        make("label", {}, "iterations ", this.iterations),
        make("label", {}, "seed ", this.seed),
        make("button", { type: "button", id: "run-again", onclick: () => this.ask(again) }, "Run again")),
      head.fed ? make("details", {}, make("summary", {}, "Your own data"), this.data) : "",
      this.problem);
  }

  async ask(again) {
    this.problem.textContent = "";
    try {
      const asked = { iterations: Number(this.iterations.value), seed: Number(this.seed.value) };
      if (this.data.value.trim() && this.data.value !== this.first) {
        asked.data = JSON.parse(this.data.value);
      }
      await again(asked);
    } catch (error) {
      this.problem.textContent = error instanceof SyntaxError ? `the data are not JSON: ${error.message}` : error.message;
    }
  }
}
