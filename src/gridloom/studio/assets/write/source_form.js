// The source: a file of the working folder or a built-in kernel, its text, and the loops found in it.
import { make } from "../../drawing/dom.js";
import { Editor, lineOf } from "./editor.js";
import { languageOf } from "./highlight.js";

const FIRST = `// A loop to begin with: change it, and its loops are listed below.
int dot(const int *x, const int *y, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += x[i] * y[i];
  }
  return sum;
}
`;

export class SourceForm {
  constructor(server, ask) {
    this.server = server;
    this.ask = ask;
    this.name = "loop.c";
    this.loop = null;
    this.kernel = null;
    this.allowed = new Set();
    this.files = make("select", { id: "file", "aria-label": "file", onchange: () => this.openFile(this.files.value) });
    this.nameField = make("input", { id: "file-name", value: this.name, "aria-label": "name of the file", oninput: () => this.rename() });
    this.listing = Promise.resolve();
    this.editor = new Editor((text) => (this.listing = this.list(text)));
    this.loops = make("ul", { id: "loops", class: "loops", "aria-live": "polite", "aria-label": "loops" });
    this.options = make("input", { id: "source-options", placeholder: "unroll=2, reduced=false", "aria-label": "options of the loop" });
    this.element = make("section", { class: "card", "aria-labelledby": "h-source-form" },
      make("h2", { id: "h-source-form" }, "Source"),
      make("p", { class: "tools" }, this.files, this.nameField, make("button", { type: "button", id: "save-source", onclick: () => this.save() }, "Save")),
      this.editor.element, make("h3", {}, "Loops"), this.loops,
      make("label", { class: "hint" }, "options ", this.options));
  }

  async begin(kernels, start) {
    const files = (await this.server.get("files")).filter(({ kind }) => kind === "source");
    this.files.replaceChildren(
      make("option", { value: "" }, "a new C loop"),
      make("optgroup", { label: "files" }, ...files.map(({ name }) => make("option", { value: name }, name))),
      make("optgroup", { label: "built-in kernels" }, ...Object.keys(kernels).map((name) => make("option", { value: `kernel:${name}` }, `kernel:${name}`))));
    const [file, ...rest] = (start ?? "").split(/(?<=\.(?:c|py|mlir)):/);
    if (start && [...this.files.options].some((option) => option.value === file)) {
      this.files.value = file;
      await this.openFile(file, rest.length ? start : null);
    } else if (start) {
      this.openKernel(start);
    } else {
      this.editor.text = FIRST;
    }
  }

  async openFile(name, wanted = null) {
    this.wanted = wanted;
    this.loop = null;
    if (name.startsWith("kernel:")) {
      this.openKernel(name);
      return;
    }
    this.kernel = null;
    this.editor.element.hidden = false;
    this.name = name || "loop.c";
    this.nameField.value = this.name;
    this.editor.language = languageOf(this.name);
    try {
      this.editor.text = name ? (await this.server.get(`file?name=${encodeURIComponent(name)}`)).text : FIRST;
    } catch (error) {
      this.complain(error.message);
    }
  }

  openKernel(name) {
    this.kernel = name;
    this.nameField.value = name;
    this.editor.element.hidden = true;
    this.loops.replaceChildren(make("li", {}, `${name}: parameters may follow its name, as in kernel:fir,taps=8`));
  }

  rename() {
    if (this.kernel !== null) {
      this.kernel = this.nameField.value;
    } else {
      this.name = this.nameField.value;
      this.editor.language = languageOf(this.name);
      this.editor.later();
    }
  }

  async list(text) {
    if (this.kernel !== null) {
      return;
    }
    try {
      const rows = await this.server.get("loops", { name: this.name, text });
      if (text === this.editor.text) {
        this.show(rows);
      }
    } catch (error) {
      this.complain(error.message);
      const at = lineOf(error.message);
      this.editor.mark(at ? new Map([[at.line, "bad"]]) : new Map(), at ? new Map([[at.line, at.message]]) : new Map());
    }
  }

  complain(text) {
    this.loops.replaceChildren(make("li", { class: "problem" }, text));
  }

  show(rows) {
    const good = rows.filter((row) => row.limit === null);
    const before = this.wanted ?? this.loop;
    this.loop = good.some((row) => row.source === before) ? before : this.wanted ?? this.best(good);
    this.loops.replaceChildren(...rows.map((row) => this.row(row)));
    if (!rows.length) {
      this.complain("no loop yet");
    }
    const lines = rows.map((row) => [Number((/line (\d+)/.exec(row.place) || [])[1]), row.limit === null ? "loop" : "bad"]);
    const limits = rows.filter((row) => row.limit !== null).map((row) => [Number((/line (\d+)/.exec(row.place) || [])[1]), `cannot be mapped: ${row.limit}`]);
    this.editor.mark(new Map(lines.filter(([line]) => line)), new Map(limits.filter(([line]) => line)));
  }

  // The innermost loop with the most operations is what a reader wants most.
  best(rows) {
    const size = (row) => Object.values(row.ops).reduce((a, b) => a + b, 0);
    const inner = rows.filter((row) => !row.place.includes("around others"));
    return [...(inner.length ? inner : rows)].sort((a, b) => size(b) - size(a))[0]?.source ?? null;
  }

  row(row) {
    if (row.limit !== null) {
      return make("li", { class: "limit" }, make("b", {}, row.place), ` cannot be mapped: ${row.limit}`);
    }
    const ops = Object.entries(row.ops).sort((a, b) => b[1] - a[1]).map(([op, count]) => `${count} ${op}`).join(", ");
    const choice = make("input", { type: "radio", name: "loop", value: row.source, checked: row.source === this.loop, onchange: () => (this.loop = row.source) });
    const bound = row.rec_mii === null ? "" : ` · RecMII ${row.rec_mii}`;
    return make("li", {}, make("label", {}, choice, make("b", {}, ` ${row.source}`), ` ${row.place}${ops ? ` · ${ops}` : ""}${bound}`),
      ...row.advice.map((text) => make("small", {}, text)));
  }

  async save() {
    try {
      const { name } = await this.server.get("save", { name: this.name, text: this.editor.text });
      this.ask.status(`saved ${name}`);
    } catch (error) {
      this.complain(error.message);
    }
  }

  // What is asked to be mapped: the source with its options, the text, and whether Python may be executed.
  async asked() {
    const options = this.options.value.trim();
    if (this.editor.timer !== null) {
      this.editor.settle();
    }
    await this.listing;
    if (this.kernel !== null) {
      return { source: this.kernel + (options ? `,${options}` : "") };
    }
    const source = this.loop ?? this.name;
    const asked = { source: source + (options ? `${source.includes(":") ? "," : ":"}${options.replaceAll(" ", "")}` : ""), text: this.editor.text };
    if (this.name.endsWith(".py")) {
      if (!this.allowed.has(this.editor.text)) {
        const yes = await this.ask.confirm(`Mapping ${this.name} executes the file: everything in it runs with your rights on this machine. Read it first.`, "Execute this file");
        if (!yes) {
          throw new Error("the Python file was not executed");
        }
        this.allowed.add(this.editor.text);
      }
      asked.run_python = true;
    }
    return asked;
  }
}
