// The searches of the session: what waits, what runs and how it goes, what came of them.
import { make } from "../../drawing/dom.js";
import { Watch } from "./watch.js";

export class JobsCard {
  // `open(id)` opens what a search has made; `ended(job)` hears when one is over.
  constructor(server, open, ended) {
    this.server = server;
    this.open = open;
    this.ended = ended;
    this.jobs = new Map();
    this.list = make("ul", { id: "jobs", class: "jobs", "aria-label": "searches" });
    this.element = make("section", { class: "card wide", "aria-labelledby": "h-jobs" }, make("h2", { id: "h-jobs" }, "Searches"), this.list);
  }

  begin(jobs) {
    [...jobs].reverse().forEach((job) => this.update(job));
  }

  take(event) {
    if (event.event === "connected") {
      this.missed();
    } else if (event.event === "job") {
      this.update(event.job);
    } else if (event.event === "frame" && this.jobs.has(event.job)) {
      this.jobs.get(event.job).watch.add(event.frame);
      this.live?.take(event.job, event.frame);
    }
  }

  // What happened before the socket was open, or while it was broken.
  async missed() {
    this.begin(await this.server.get("jobs"));
  }

  update(job) {
    let entry = this.jobs.get(job.id);
    if (!entry) {
      entry = { watch: new Watch(job), row: make("li", { "data-job": job.id }) };
      this.jobs.set(job.id, entry);
      this.list.prepend(entry.row);
      if (job.frame) {
        this.server.get(`jobs/${job.id}/frames`).then((frames) => frames.forEach((frame) => entry.watch.add(frame)));
      }
    }
    const was = entry.job?.state;
    entry.job = job;
    this.draw(entry);
    this.live?.update(job, () => this.open(job.result));
    if (was && was !== job.state && !["queued", "running"].includes(job.state)) {
      this.ended(job);
    }
  }

  draw({ job, watch, row }) {
    const waiting = ["queued", "running"].includes(job.state);
    const words = { queued: "waits", running: "runs", done: "mapped", failed: "no mapping", stopped: "stopped", error: "error" }[job.state];
    row.className = job.state;
    row.dataset.result = job.result;
    row.replaceChildren(
      make("span", { class: `state ${job.state}` }, words), make("b", {}, job.name),
      job.error ? make("span", { class: "problem" }, job.error) : "",
      waiting ? make("button", { type: "button", onclick: () => this.server.get(`jobs/${job.id}/stop`, {}) }, "Stop") : "",
      job.result ? make("button", { type: "button", onclick: () => this.open(job.result) }, job.state === "failed" ? "Why" : "Open") : "",
      watch.frames.length || job.state === "running" ? watch.element : "");
  }
}
