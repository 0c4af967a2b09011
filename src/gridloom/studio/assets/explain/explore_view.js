// The explorer of stores: rows of a run, filters, a chart with its Pareto front, and mappings on a click.
import { make } from "../../drawing/dom.js";
import { Chart, hue, ticks } from "../step/chart.js";
import { front } from "./pareto.js";

const MARGIN = { left: 64, right: 18, top: 14, bottom: 34 };

export class ExploreView {
  // `opened(answer)` takes a mapping that was opened, or the job that makes one; `ask` asks before Python is executed.
  constructor(server, opened, ask) {
    this.server = server;
    this.ask = ask;
    this.opened = opened;
    this.told = null;
    this.points = [];
    this.hover = null;
    this.store = make("select", { id: "store", "aria-label": "store", onchange: () => this.load() });
    this.filter = make("input", { id: "filter", type: "search", placeholder: "filter: source, array, mapper", "aria-label": "filter rows", oninput: () => this.refresh() });
    this.group = make("select", { id: "group", "aria-label": "what a point is", onchange: () => this.axes() },
      make("option", { value: "rows" }, "mappings"), make("option", { value: "arrays" }, "arrays"));
    this.x = make("select", { id: "axis-x", "aria-label": "horizontal axis", onchange: () => this.refresh() });
    this.y = make("select", { id: "axis-y", "aria-label": "vertical axis", onchange: () => this.refresh() });
    this.canvas = make("canvas", { id: "pareto", role: "img", "aria-label": "Points with their Pareto front" });
    this.chart = new Chart(this.canvas, (pen, page) => this.draw(pen, page));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", () => this.hover && this.choose(this.hover));
    this.caption = make("p", { class: "hint", id: "pareto-text", "aria-live": "polite" });
    this.table = make("div", { class: "scroll", id: "rows" });
    this.problem = make("p", { class: "problem", role: "alert" });
    this.element = make("div", { class: "explore" },
      make("section", { class: "card wide" }, make("h2", {}, "Explore a store"),
        make("p", { class: "tools" }, make("label", {}, "store ", this.store), this.filter, make("label", {}, "points ", this.group),
          make("label", {}, "x ", this.x), make("label", {}, "y ", this.y)),
        this.problem, this.canvas, this.caption),
      make("section", { class: "card wide" }, make("h2", {}, "Rows"), this.table));
  }

  async show(wanted = null) {
    const files = (await this.server.get("files")).filter(({ kind }) => kind === "store");
    const before = wanted ?? this.store.value;
    this.store.replaceChildren(...files.map(({ name }) => make("option", { value: name }, name)));
    if (files.some(({ name }) => name === before)) {
      this.store.value = before;
    }
    if (files.length) {
      await this.load();
    } else {
      this.problem.textContent = "There is no store in the working folder: gridloom bench SUITE --store rows.sqlite makes one.";
    }
  }

  async load() {
    this.problem.textContent = "";
    this.caption.textContent = `Reading ${this.store.value} …`;
    try {
      this.told = await this.server.get(`store?name=${encodeURIComponent(this.store.value)}`);
      this.axes();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }

  axes() {
    const names = this.group.value === "rows" ? this.told.figures
      : [...new Set(this.told.arrays.flatMap(({ figures }) => Object.keys(figures)))];
    // The II tells nothing apart where every row has the same.
    const differs = (name) => new Set(this.told.rows.map((row) => row[name]).filter((value) => typeof value === "number")).size > 1;
    const up = ["ii", "period", "wirelength"].find(differs) ?? "ii";
    for (const [select, first] of [[this.x, this.group.value === "rows" ? "tiles_used" : "area"], [this.y, up]]) {
      const before = select.value;
      select.replaceChildren(...names.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
      select.value = names.includes(before) ? before : names.includes(first) ? first : names[0];
    }
    this.refresh();
  }

  refresh() {
    if (!this.told) {
      return;
    }
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.told.rows.filter((row) => words.every((word) => `${row.source} ${row.arch} ${row.mapper} ${row.status}`.toLowerCase().includes(word)));
    const things = this.group.value === "rows"
      ? rows.map((row) => ({ row, name: `${row.source} on ${row.arch}`, x: row[this.x.value], y: row[this.y.value] }))
      : this.told.arrays.map((array) => ({ array, name: array.name, x: array.figures[this.x.value], y: array.figures[this.y.value] }));
    this.points = things.filter(({ x, y }) => typeof x === "number" && typeof y === "number");
    const more = [this.x.value, this.y.value].map((name) => this.told.more.includes(name));
    // Points of one kernel compete, and those of arrays.
    this.fronts = [...Map.groupBy(this.points, ({ row }) => row?.source ?? "")].map(([kernel, points]) => ({ kernel, points: front(points, more) }));
    this.front = this.fronts.flatMap(({ points }) => points);
    const names = [...new Set(this.front.map(({ name }) => name))];
    this.caption.textContent = `${this.points.length} points, ${this.front.length} ${this.fronts.length > 1 ? `on ${this.fronts.length} Pareto fronts, one for each kernel` : "on the Pareto front"}: ${names.slice(0, 4).join("; ")}${names.length > 4 ? " …" : ""}`;
    this.list(rows);
    this.chart.redraw();
  }

  list(rows) {
    const columns = ["status", "source", "arch", "mapper", "seed", "ii", "mii", "latency", "seconds"];
    const shown = rows.slice(0, 300).map((row) => make("tr", {},
      make("td", {}, make("button", { type: "button", disabled: !(row.opens || row.repeats), "data-key": row.key, onclick: () => this.openRow(row) }, row.opens ? "Open" : "Map again")),
      ...columns.map((name) => make("td", {}, text(row[name])))));
    this.table.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, make("th", {}, ""), ...columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...shown)),
      rows.length > 300 ? make("p", { class: "hint" }, `and ${rows.length - 300} more: filter them`) : "");
  }

  async openRow(row) {
    try {
      const python = !row.opens && /\.py(:|$)/.test(row.source);
      const asked = { store: this.store.value, key: row.key, run_python: python };
      if (python && !(await this.ask.confirm(`Mapping ${row.source} again executes the file with your rights.`, "Execute this file"))) {
        return;
      }
      this.opened(await this.server.get("row", asked));
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }

  choose(point) {
    if (point.row) {
      this.openRow(point.row);
    } else {
      this.group.value = "rows";
      this.filter.value = point.name;
      this.axes();
    }
  }

  // -- the chart ----------------------------------------------------------------------------------------------------

  scale(page) {
    const span = (values) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const room = (high - low || Math.abs(high) || 1) * 0.08;
      return [low - room, high + room];
    };
    const [x0, x1] = span(this.points.map(({ x }) => x));
    const [y0, y1] = span(this.points.map(({ y }) => y));
    const wide = page.width - MARGIN.left - MARGIN.right;
    const tall = page.height - MARGIN.top - MARGIN.bottom;
    return { at: ({ x, y }) => [MARGIN.left + ((x - x0) / (x1 - x0)) * wide, MARGIN.top + (1 - (y - y0) / (y1 - y0)) * tall], x0, x1, y0, y1 };
  }

  draw(pen, page) {
    pen.clearRect(0, 0, page.width, page.height);
    if (!this.points.length) {
      return;
    }
    const scale = this.scale(page);
    this.placed = this.points.map((point) => [point, ...scale.at(point)]);
    pen.fillStyle = page.ink("soft");
    pen.textAlign = "center";
    const whole = (axis) => this.points.every((point) => Number.isInteger(point[axis]));
    ticks(scale.x0, scale.x1, whole("x")).forEach((x) => pen.fillText(text(x), scale.at({ x, y: 0 })[0], page.height - 22));
    pen.textAlign = "right";
    ticks(scale.y0, scale.y1, whole("y")).forEach((y) => pen.fillText(text(y), MARGIN.left - 8, scale.at({ x: 0, y })[1]));
    pen.textAlign = "center";
    pen.fillText(this.x.value.replaceAll("_", " "), page.width / 2, page.height - 8);
    pen.save();
    pen.translate(10, page.height / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(this.y.value.replaceAll("_", " "), 0, 0);
    pen.restore();
    const several = this.fronts.length > 1;
    const colours = new Map(this.fronts.map(({ kernel }, k) => [kernel, several ? hue(k, !page.dark) : page.ink("accent")]));
    pen.lineWidth = 1.5;
    for (const { kernel, points } of this.fronts) {
      pen.strokeStyle = colours.get(kernel);
      pen.beginPath();
      points.forEach((point, k) => (k ? pen.lineTo(...scale.at(point)) : pen.moveTo(...scale.at(point))));
      pen.stroke();
    }
    for (const [point, x, y] of this.placed) {
      pen.fillStyle = this.front.includes(point) ? colours.get(point.row?.source ?? "") : page.ink("soft");
      pen.globalAlpha = this.front.includes(point) ? 1 : 0.5;
      pen.beginPath();
      pen.arc(x, y, point === this.hover ? 7 : 4.5, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const near = (this.placed || []).map(([point, px, py]) => [point, Math.hypot(px - x, py - y)]).sort((a, b) => a[1] - b[1])[0];
    const found = near && near[1] < 14 ? near[0] : null;
    if (found !== this.hover) {
      this.hover = found;
      this.canvas.style.cursor = found ? "pointer" : "default";
      if (found) {
        this.caption.textContent = `${found.name}: ${this.x.value} ${text(found.x)}, ${this.y.value} ${text(found.y)}; click to open`;
      }
      this.chart.redraw();
    }
  }
}

function text(value) {
  if (value === null || value === undefined) {
    return "";
  }
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(4))) : String(value);
}
