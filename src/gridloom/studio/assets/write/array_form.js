// The array: picked from a gallery, named, or described in YAML, with a drawing that follows.
import { make } from "../../drawing/dom.js";
import { Editor, keyLineOf, lineOf } from "./editor.js";
import { LiveSearch } from "./live_search.js";

export class ArrayForm {
  // `changed(told)` hears what is known of the array, null while it is wrong.
  constructor(server, changed) {
    this.server = server;
    this.changed = changed;
    this.timer = null;
    this.gallery = make("select", { id: "gallery", "aria-label": "gallery of arrays", onchange: () => this.pick(this.gallery.value) });
    this.field = make("input", { id: "arch", value: "torus:4x4", "aria-label": "array", oninput: () => this.later() });
    this.yaml = new Editor(() => this.refresh(), { id: "yaml", label: "array as YAML", rows: 8, language: "yaml" });
    this.edits = make("details", { id: "yaml-details" }, make("summary", {}, "Edit as YAML"), this.yaml.element);
    this.edits.addEventListener("toggle", () => this.later());
    this.picture = make("div", { class: "picture array-picture", id: "arch-picture" });
    this.live = new LiveSearch(this.picture);
    this.words = make("p", { class: "hint", id: "arch-words", "aria-live": "polite" });
    this.element = make("section", { class: "card", "aria-labelledby": "h-arch" },
      make("h2", { id: "h-arch" }, "Array"), make("p", { class: "tools" }, this.gallery, this.field), this.words, this.live.element, this.picture, this.edits);
  }

  async begin(gallery, families, start) {
    const files = (await this.server.get("files")).filter(({ kind }) => kind === "array");
    this.gallery.replaceChildren(
      make("optgroup", { label: "gallery" }, ...gallery.map((name) => make("option", { value: name, title: families[name.split(/[:,]/)[0]] }, name))),
      make("optgroup", { label: "files" }, ...files.map(({ name }) => make("option", { value: name }, name))));
    this.pick(start ?? gallery[0]);
  }

  pick(name) {
    this.field.value = name;
    this.edits.open = false;
    this.refresh();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 300);
  }

  asked() {
    return this.edits.open && this.yaml.text.trim() ? { arch: this.field.value, yaml: this.yaml.text } : { arch: this.field.value };
  }

  async refresh() {
    const asked = this.asked();
    try {
      const told = await this.server.get("array", asked);
      if (JSON.stringify(asked) !== JSON.stringify(this.asked())) {
        return;
      }
      this.words.className = "hint";
      this.words.textContent = told.summary;
      this.picture.innerHTML = told.picture ?? "";
      this.live.tiles = told.tiles;
      if (this.edits.open) {
        this.yaml.mark(new Map());
      } else {
        this.yaml.show(told.yaml ?? "");
      }
      this.told = told;
      this.changed(told);
    } catch (error) {
      this.words.className = "problem";
      this.words.textContent = error.message;
      this.picture.replaceChildren();
      const at = this.edits.open ? lineOf(error.message) ?? keyLineOf(error.message, this.yaml.text) : null;
      this.yaml.mark(at ? new Map([[at.line, "bad"]]) : new Map(), at ? new Map([[at.line, at.message]]) : new Map());
      this.changed(null);
    }
  }
}
