// A text editor: lines with numbers, colours, marks for the lines of loops, messages at the lines they are about.
import { make } from "../../drawing/dom.js";
import { highlight } from "./highlight.js";

// A longer text is shown in one colour, so that typing stays quick.
const MOST_COLOURED = 60000;

export class Editor {
  // `changed(text)` is called a moment after the last key.
  constructor(changed, { id = "editor", label = "source", rows = 16, language = "c" } = {}) {
    this.changed = changed;
    this.language = language;
    this.area = make("textarea", {
      id, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": label, rows: String(rows), wrap: "off",
    });
    this.numbers = make("pre", { class: "line-numbers", "aria-hidden": "true" });
    this.colours = make("pre", { class: "colours", "aria-hidden": "true" });
    this.element = make("div", { class: "editor" }, this.numbers, make("div", { class: "text" }, this.colours, this.area));
    this.timer = null;
    this.marks = new Map();
    this.messages = new Map();
    this.area.addEventListener("input", () => this.later());
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.key(event));
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.show(text);
    this.changed(text);
  }

  // Take a text without telling anyone.
  show(text) {
    this.area.value = text;
    this.messages = new Map();
    this.draw();
  }

  later() {
    this.messages = new Map();
    this.draw();
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

  // Mark lines: number -> "loop" or "bad"; `messages` stand at the ends of their lines.
  mark(marks, messages = new Map()) {
    this.marks = marks;
    this.messages = messages;
    this.draw();
  }

  draw() {
    const coloured = this.text.length <= MOST_COLOURED;
    this.element.classList.toggle("coloured", coloured);
    const lines = coloured ? highlight(this.text, this.language) : this.text.split("\n").map(() => []);
    this.numbers.replaceChildren(...lines.map((_, k) => make("span", { class: this.marks.get(k + 1) ?? "" }, `${k + 1}\n`)));
    this.colours.replaceChildren(...lines.map((parts, k) => {
      const message = this.messages.get(k + 1);
      return make("span", { class: message ? "code-line bad" : "code-line" }, ...parts,
        message ? make("em", { class: "code-message" }, message) : "", "\n");
    }));
    this.follow();
  }

  follow() {
    this.numbers.scrollTop = this.area.scrollTop;
    this.colours.scrollTop = this.area.scrollTop;
    this.colours.scrollLeft = this.area.scrollLeft;
  }
}

// The same for a message that begins with the keys of a YAML text, "mul.tiles: ...".
export function keyLineOf(text, yaml) {
  const found = /^(?:array: )?([\w.[\]-]+): ([^]*)$/.exec(text);
  const key = found?.[1].replace(/\[\d+\]/g, "").split(".").at(-1);
  const line = found ? yaml.split("\n").findIndex((one) => one.replace(/^[\s-]*/, "").startsWith(`${key}:`)) : -1;
  return line < 0 ? null : { line: line + 1, message: found[2].split("\n")[0] };
}

// The line that a message of the server is about, and the message without its place; null where it names none.
export function lineOf(text) {
  const found = /(?:^|[\s(])[^\s:]*:(\d+)(?::\d+)?:?\s*([^]*)$/.exec(text) ?? /\bline (\d+)\b:?\s*([^]*)$/.exec(text);
  return found && { line: Number(found[1]), message: (found[2] || text).split("\n")[0] };
}
