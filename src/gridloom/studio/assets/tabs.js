// The views of the page as tabs, one of them shown.
import { make } from "../drawing/dom.js";

export class Tabs {
  constructor(bar, place) {
    this.bar = bar;
    this.place = place;
    this.tabs = new Map();
    this.shown = null;
    bar.addEventListener("keydown", (event) => this.key(event));
  }

  // `open()` is called each time the tab is shown.
  add(name, title, element, open = () => {}) {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": "false", "aria-controls": "view", tabindex: "-1", onclick: () => this.show(name) }, title);
    this.tabs.set(name, { tab, element, open });
    this.bar.append(tab);
  }

  replace(name, element) {
    this.tabs.get(name).element = element;
    if (this.shown === name) {
      this.place.replaceChildren(element);
    }
  }

  show(name) {
    this.shown = name;
    for (const [other, { tab }] of this.tabs) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.setAttribute("tabindex", other === name ? "0" : "-1");
    }
    const { element, open } = this.tabs.get(name);
    this.place.setAttribute("aria-labelledby", `tab-${name}`);
    this.place.replaceChildren(element);
    open();
  }

  key(event) {
    const names = [...this.tabs.keys()];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = names[(names.indexOf(this.shown) + step + names.length) % names.length];
      this.show(next);
      this.tabs.get(next).tab.focus();
    }
  }
}
