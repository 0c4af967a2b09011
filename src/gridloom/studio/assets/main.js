// The studio: joins the server, the views and what is open.
import { byId, make, takeAway } from "../drawing/dom.js";
import { CompareView } from "./explain/compare_view.js";
import { ExploreView } from "./explain/explore_view.js";
import { failureView } from "./explain/failure_view.js";
import { Understand } from "./explain/understand.js";
import { Server } from "./server.js";
import { Changing } from "./step/changing.js";
import { MappingView } from "./step/mapping_view.js";
import { RunCard } from "./step/run_card.js";
import { Tabs } from "./tabs.js";
import { JobsCard } from "./write/jobs_card.js";
import { WriteView } from "./write/write_view.js";

const nothing = (text) => make("section", { class: "card wide empty" }, make("p", {}, text));

class Studio {
  constructor() {
    this.server = new Server();
    this.opened = [];
    this.view = null;
    this.histories = new Map();
    this.tabs = new Tabs(byId("tabs"), byId("view"));
    this.jobs = new JobsCard(this.server, (id) => this.open(id), (job) => this.ended(job));
    this.write = new WriteView(this.server, this, this.jobs);
    this.compare = new CompareView(this.server, () => this.opened, (id) => this.open(id));
    this.explore = new ExploreView(this.server, (answer) => this.openAnswer(answer), this);
    this.tabs.add("write", "Write", this.write.element);
    this.tabs.add("mapping", "Mapping", nothing("No mapping is open yet: map a source, or open a mapping."));
    this.tabs.add("compare", "Compare", this.compare.element, () => this.compare.show());
    this.tabs.add("explore", "Explore", this.explore.element, () => this.guard(() => this.explore.show()));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  async begin() {
    const hello = await this.server.get("hello");
    this.server.listen((event) => this.jobs.take(event));
    this.jobs.begin(hello.jobs);
    const { view, mapping, store } = hello.start;
    if (mapping) {
      await this.open(mapping);
    } else {
      this.tabs.show("write");
    }
    await this.write.begin(hello);
    if (view === "explore") {
      this.explore.store.append(make("option", { value: store }, store));
      this.explore.store.value = store;
      this.tabs.show("explore");
    }
    document.body.dataset.ready = "true";
  }

  // -- what is open -------------------------------------------------------------------------------------------------

  async open(id, history = []) {
    const scene = await this.server.get(`scene/${id}`);
    this.tabs.show("mapping");
    if (scene.kind === "failure") {
      this.view = null;
      this.tabs.replace("mapping", failureView(scene));
      return;
    }
    if (!this.opened.some((other) => other.id === id)) {
      this.opened.unshift({ id, name: `${scene.name} · II ${scene.ii} · ${this.opened.length + 1}` });
    }
    const why = make("div", {});
    const view = new MappingView(scene, this, {
      tip: byId("tip"), actions: this.actions(scene), extras: () => [why],
    });
    this.view = view;
    this.tabs.replace("mapping", view.element);
    const changing = new Changing(view, this, history);
    view.inspector.element.after(changing.element);
    const explained = this.guard(async () => {
      const told = await this.server.get(`explain/${id}`);
      why.append(new Understand(told, view, (ii) => this.finish(id, {}, ii, [...history, id])).element);
    });
    await this.guard(() => view.begin());
    await explained;
  }

  async openChanged(id, history) {
    const cycle = this.view?.stepper?.cycle ?? null;
    const node = this.view?.selected ?? -1;
    await this.open(id, history);
    if (node >= 0) {
      this.view.selectNode(node);
    }
    if (cycle !== null && this.view.stepper) {
      this.view.stepper.choose(cycle);
    }
  }

  openAnswer(answer) {
    if (answer.mapping) {
      this.guard(() => this.open(answer.mapping));
    } else {
      this.jobs.update(answer.job);
      this.status(`${answer.job.name} is being mapped`);
    }
  }

  // The page goes where the work is: a search that ends opens its mapping, unless another one is being looked at.
  ended(job) {
    this.status(`${job.name}: ${job.state}`);
    if (job.result && (this.tabs.shown === "write" || this.histories.has(job.id) || this.tabs.shown === "explore")) {
      this.guard(() => this.open(job.result, this.histories.get(job.id) ?? []));
    }
  }

  async finish(id, pins, ii, history) {
    const limits = { time_limit: this.write.mapper.asked().time_limit ?? 20, seed: this.write.mapper.asked().seed };
    const job = await this.server.get("finish", { mapping: id, pins, ...(ii ? { ii } : {}), ...limits });
    this.histories.set(job.id, history);
    this.jobs.update(job);
    this.status(`${job.name} is being mapped`);
  }

  // -- runs: what a mapping view asks of its store ------------------------------------------------------------------

  async run(id, asked) {
    const head = await this.server.get(`run/${id}`, asked);
    this.lastRun = head.id;
    const words = (part, first, count) => this.server.bytes(`run/${head.id}/words/${part}?first=${first}&count=${count}`);
    return { head, words };
  }

  runCard(head, again) {
    return new RunCard(head, again).element;
  }

  // -- files --------------------------------------------------------------------------------------------------------

  actions(scene) {
    const press = (id, label, action) => make("button", { type: "button", id, onclick: () => this.guard(action) }, label);
    return [
      press("share", "Share as a file", async () => takeAway(await this.server.text("share", { mapping: scene.id, run: this.lastRun ?? null }), `${fileName(scene)}.html`, "text/html")),
      press("export-vcd", "VCD", () => this.export("vcd", `${fileName(scene)}.vcd`)),
      press("export-perfetto", "Perfetto", () => this.export("perfetto", `${fileName(scene)}.perfetto.json`)),
    ];
  }

  async export(form, name) {
    takeAway(await this.server.text(`run/${this.lastRun}/export/${form}`), name, "text/plain");
  }

  async saveMapping(scene) {
    const name = await this.prompt("Save the mapping as", `${fileName(scene)}.json`);
    if (name) {
      const saved = await this.server.get("save", { name, mapping: scene.id });
      this.status(`saved ${saved.name}`);
    }
  }

  // -- words --------------------------------------------------------------------------------------------------------

  status(text) {
    byId("status").textContent = text;
  }

  async guard(action) {
    try {
      return await action();
    } catch (error) {
      this.status(error.message);
      return null;
    }
  }

  confirm(text, yes) {
    return this.dialog(text, yes, null);
  }

  prompt(text, value) {
    return this.dialog(text, "Save", value);
  }

  // A question with one way to say yes; resolves to the text of the field, to true, or to null.
  dialog(text, yes, value) {
    const box = byId("ask");
    const field = value === null ? "" : make("input", { id: "ask-field", value, "aria-label": text });
    return new Promise((resolve) => {
      const end = (answer) => {
        box.close();
        resolve(answer);
      };
      box.replaceChildren(make("p", { id: "ask-text" }, text), field, make("p", { class: "tools" },
        make("button", { type: "button", id: "ask-yes", class: "primary", onclick: () => end(field ? field.value : true) }, yes),
        make("button", { type: "button", id: "ask-no", onclick: () => end(null) }, "Cancel")));
      box.oncancel = () => resolve(null);
      box.showModal();
    });
  }

  key(event) {
    const typing = event.target.closest("input, textarea, select, dialog, [role=tab], button");
    if (!typing && this.tabs.shown === "mapping" && this.view && !event.ctrlKey && !event.metaKey) {
      this.view.key(event);
    }
  }
}

const fileName = (scene) => scene.title.replace(/[^\w.-]+/g, "-").slice(0, 80) || "mapping";

const studio = new Studio();
studio.begin().catch((error) => studio.status(error.message));
