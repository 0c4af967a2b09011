// Write and map: source, array and mapper beside each other, and the searches below.
import { make } from "../../drawing/dom.js";
import { ArrayForm } from "./array_form.js";
import { MapperForm } from "./mapper_form.js";
import { SourceForm } from "./source_form.js";

export class WriteView {
  constructor(server, ask, jobs) {
    this.server = server;
    this.jobs = jobs;
    this.source = new SourceForm(server, ask);
    this.mapper = new MapperForm();
    this.map = make("button", { type: "button", id: "map-button", class: "primary", disabled: true, onclick: () => this.start() }, "Map");
    this.problem = make("p", { class: "problem", role: "alert", id: "map-problem" });
    this.array = new ArrayForm(server, (told) => {
      this.map.disabled = told === null;
      if (told) {
        this.mapper.show(told);
      }
    });
    this.element = make("div", { class: "write" },
      make("div", { class: "column" }, this.source.element),
      make("div", { class: "column" }, this.array.element, this.mapper.element, make("p", { class: "tools go" }, this.map, this.problem)),
      jobs.element);
  }

  async begin(hello) {
    await Promise.all([
      this.source.begin(hello.kernels, hello.start.source),
      this.array.begin(hello.gallery, hello.families, hello.start.arch),
    ]);
  }

  async start() {
    this.problem.textContent = "";
    try {
      const asked = { ...this.mapper.asked(), ...(await this.source.asked()), arch: this.array.asked() };
      this.jobs.update(await this.server.get("map", asked));
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }
}
