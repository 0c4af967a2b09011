// The controls of time: back, play, forward, a slider, and breakpoints.
import { make } from "../../drawing/dom.js";
import { Player } from "../../drawing/player.js";
import { breakpoint, examples, search } from "./breakpoints.js";

const button = (label, glyph, action) =>
  make("button", { type: "button", "aria-label": label, title: label, onclick: action }, glyph);

export class Stepper {
  // `changed(cycle)` draws a cycle; null stands for all of them.
  constructor(run, names, changed) {
    this.run = run;
    this.names = names;
    this.changed = changed;
    this.cycle = null;
    this.first = run.first ?? 0;
    this.slider = make("input", {
      type: "range", id: "cycle", min: "0", max: String(run.last), step: "1", value: String(this.first), "aria-label": "cycle",
    });
    this.text = make("output", { id: "moment", "aria-live": "polite" });
    this.all = make("button", { type: "button", id: "all", "aria-pressed": "true" }, "Overview");
    const play = make("button", { type: "button", id: "play" },
      make("span", { class: "glyph", "aria-hidden": "true" }, "▶"), " ", make("span", { class: "word" }, "Play"));
    this.player = new Player({
      button: play, slider: this.slider, all: this.all, last: run.last, show: (now) => this.go(now), pause: 450,
    });
    this.field = make("input", {
      id: "breakpoint", type: "text", placeholder: examples[0], "aria-label": "breakpoint", list: "breakpoints",
      autocomplete: "off", onkeydown: (event) => event.key === "Enter" && this.seek(event.shiftKey ? -1 : 1),
    });
    this.problem = make("span", { id: "breakpoint-problem", role: "alert" });
    this.element = make("div", { class: "tools stepper", role: "group", "aria-label": "Time" },
      button("First firing", "|◀", () => this.choose(this.first)),
      button("One cycle back", "◀", () => this.choose((this.cycle ?? this.first + 1) - 1)),
      play,
      button("One cycle forward", "▶|", () => this.choose(this.cycle === null ? this.first : this.cycle + 1)),
      this.all,
      make("label", { class: "slider" }, this.slider),
      this.text,
      make("span", { class: "breakpoints" },
        make("label", {}, "Go to ", this.field),
        make("datalist", { id: "breakpoints" }, ...this.offers().map((text) => make("option", { value: text }))),
        button("Back to the breakpoint", "⇤", () => this.seek(-1)),
        button("On to the breakpoint", "⇥", () => this.seek(1)),
        this.problem));
    this.element.addEventListener("pointerdown", () => (this.problem.textContent = ""));
    if (run.head.kind !== "clocked") {
      this.element.querySelector(".breakpoints").hidden = true;
    }
  }

  offers() {
    const node = this.names.nodes.keys().next().value;
    const tile = this.names.tiles.keys().next().value;
    return examples.map((text, k) => text.replace("NAME", k === 1 ? tile : node));
  }

  choose(cycle) {
    this.player.stop();
    return this.go(Math.max(0, Math.min(this.run.last, cycle)));
  }

  async go(cycle) {
    this.cycle = cycle;
    this.all.setAttribute("aria-pressed", String(cycle === null));
    this.text.value = cycle === null ? "all cycles" : this.run.moment(cycle);
    if (cycle !== null) {
      this.slider.value = String(cycle);
      await this.run.ensure(cycle);
      // FIFOs look back into the chunk before.
      await this.run.ensure(Math.max(0, cycle - 64));
    }
    if (this.cycle === cycle) {
      this.changed(cycle);
    }
  }

  // Go to the next cycle that the breakpoint holds for.
  async seek(direction) {
    this.player.stop();
    this.problem.textContent = "";
    try {
      const test = breakpoint(this.field.value, this.run, this.names);
      const from = this.cycle ?? (direction > 0 ? -1 : this.run.last + 1);
      const found = await search(this.run, test, from, direction);
      if (found < 0) {
        this.problem.textContent = direction > 0 ? "not in any later cycle" : "not in any earlier cycle";
      } else {
        await this.go(found);
      }
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }

  key(event) {
    const step = { n: 1, ".": 1, p: -1, ",": -1 }[event.key];
    if (step) {
      this.choose(this.cycle === null ? this.first : this.cycle + step);
    } else if (event.key === " ") {
      event.preventDefault();
      this.element.querySelector("#play").click();
    } else if (event.key === "Escape") {
      this.player.stop();
      this.go(null);
    }
  }
}
