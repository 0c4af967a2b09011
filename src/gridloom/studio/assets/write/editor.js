// A text editor: lines with numbers, marks for the lines of loops, Tab that indents.
import { make } from "../../drawing/dom.js";

export class Editor {
  // `changed(text)` is called a moment after the last key.
  constructor(changed) {
    this.changed = changed;
    this.area = make("textarea", {
      id: "editor", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "source", rows: "16", wrap: "off",
    });
    this.numbers = make("pre", { class: "line-numbers", "aria-hidden": "true" });
    this.element = make("div", { class: "editor" }, this.numbers, this.area);
    this.timer = null;
    this.marks = new Map();
    this.area.addEventListener("input", () => this.later());
    this.area.addEventListener("scroll", () => (this.numbers.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => this.key(event));
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.number();
    this.changed(text);
  }

  later() {
    this.number();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), 350);
  }

  // Tell at once what would be told in a moment.
  settle() {
    clearTimeout(this.timer);
    this.timer = null;
    this.changed(this.text);
  }

  // Escape leaves the field, so that Tab may indent in it.
  key(event) {
    if (event.key === "Escape") {
      this.area.blur();
    } else if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      this.area.setRangeText("    ", this.area.selectionStart, this.area.selectionEnd, "end");
      this.later();
    }
  }

  // Mark lines: number -> "loop" or "bad".
  mark(marks) {
    this.marks = marks;
    this.number();
  }

  number() {
    const count = this.text.split("\n").length;
    this.numbers.replaceChildren(...Array.from({ length: count }, (_, k) =>
      make("span", { class: this.marks.get(k + 1) ?? "" }, `${k + 1}\n`)));
    this.numbers.scrollTop = this.area.scrollTop;
  }
}
