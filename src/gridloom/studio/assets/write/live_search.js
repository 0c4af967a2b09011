// A search on the picture of its array: which nodes are where, what signals compete for, and for how long it runs.
import { make } from "../../drawing/dom.js";

const SVG = "http://www.w3.org/2000/svg";

export class LiveSearch {
  // `picture` holds the drawing of the array, whose tiles bear their numbers.
  constructor(picture) {
    this.picture = picture;
    this.tiles = [];
    this.job = null;
    this.timer = null;
    this.words = make("span", {});
    this.meter = make("progress", { "aria-label": "search" });
    this.more = make("span", {});
    this.element = make("p", { class: "live", id: "live", hidden: true, role: "status", "aria-live": "off" }, this.meter, this.words, this.more);
  }

  // Show at once that something happens, before the server has answered.
  begin(limit) {
    this.clear();
    this.job = null;
    this.since = performance.now();
    this.limit = limit;
    this.doing = "asking";
    this.more.replaceChildren();
    this.element.hidden = false;
    this.meter.hidden = false;
    clearInterval(this.timer);
    this.timer = setInterval(() => this.tick(), 100);
    this.tick();
  }

  tick() {
    const seconds = (performance.now() - this.since) / 1000;
    this.words.textContent = `${this.doing} · ${seconds.toFixed(1)} s`;
    if (this.limit) {
      this.meter.max = this.limit;
      this.meter.value = Math.min(seconds, this.limit);
    } else {
      this.meter.removeAttribute("value");
    }
  }

  follow(job) {
    this.job = job.id;
    this.doing = "waits for a worker";
    this.update(job);
  }

  // A change of a job's state; `open` goes to what it has made.
  update(job, open = null) {
    if (job.id !== this.job) {
      return;
    }
    if (job.state === "running" && this.doing === "waits for a worker") {
      this.doing = "reads the source";
    } else if (!["queued", "running"].includes(job.state)) {
      const words = { done: "mapped", failed: "no mapping was found", stopped: "stopped", error: job.error }[job.state];
      this.end(words);
      if (open && job.state === "failed") {
        this.more.replaceChildren(make("button", { type: "button", onclick: open }, "Why"));
      }
    }
  }

  end(words) {
    clearInterval(this.timer);
    this.words.textContent = words;
    this.meter.hidden = true;
    this.clear();
  }

  take(job, frame) {
    if (job !== this.job) {
      return;
    }
    const legal = frame.legal === undefined ? "" : frame.legal ? " · legal" : ` · ${frame.congested.length} contested`;
    this.doing = (frame.compiling ? "compiles kernels" : frame.phase) + legal + (frame.best ? ` · best: ${frame.best}` : "");
    if (frame.placed) {
      this.draw(frame);
    }
  }

  // Each tile with its nodes, red where signals or nodes compete.
  draw(frame) {
    this.clear();
    const nodes = new Map();
    Object.entries(frame.placed).forEach(([node, tile]) => (nodes.has(tile) ? nodes.get(tile).push(node) : nodes.set(tile, [node])));
    const hot = new Set(frame.congested.map((name) => name.split(/[.>]/)[0]));
    for (const outline of this.picture.querySelectorAll("[data-t]")) {
      const tile = this.tiles[Number(outline.dataset.t)];
      outline.classList.toggle("live-used", nodes.has(tile));
      outline.classList.toggle("live-hot", hot.has(tile));
      if (nodes.has(tile)) {
        const box = outline.getBBox();
        const text = document.createElementNS(SVG, "text");
        text.setAttribute("class", "live-node");
        text.setAttribute("x", box.x + box.width / 2);
        text.setAttribute("y", box.y + 22);
        const names = nodes.get(tile);
        text.textContent = names[0].slice(0, 10) + (names.length > 1 ? ` +${names.length - 1}` : "");
        outline.parentNode.append(text);
      }
    }
  }

  clear() {
    this.picture.querySelectorAll(".live-node").forEach((item) => item.remove());
    this.picture.querySelectorAll(".live-used, .live-hot").forEach((item) => item.classList.remove("live-used", "live-hot"));
  }
}
