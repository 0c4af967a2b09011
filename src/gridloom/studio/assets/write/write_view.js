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
    jobs.live = this.array.live;
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
    const [mapper, live] = [this.mapper.asked(), this.array.live];
    this.problem.textContent = "";
    live.begin(mapper.effort === null ? mapper.time_limit : null);
    this.array.element.scrollIntoView({ block: "nearest" });
    try {
      const asked = { ...mapper, ...(await this.source.asked()), arch: this.array.asked() };
      const job = await this.server.get("map", asked);
      live.follow(job);
      this.jobs.update(job);
    } catch (error) {
      live.end("");
      this.problem.textContent = error.message;
    }
  }
}
