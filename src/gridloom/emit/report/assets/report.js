"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const array = byId("array");
  const graph = byId("graph");
  const pictures = [array, graph];
  const source = byId("source");
  const lines = source ? [...source.querySelectorAll(".line[data-g]")] : [];
  const svg = array.querySelector("svg");
  const numbers = (text) => (text || "").split(" ").filter(Boolean).map(Number);

  // -- time ---------------------------------------------------------------------------------------------------------
  const time = byId("time");
  const line = data.timeline;
  const panels = line.unit === "slot" ? [...array.querySelectorAll(".panel[data-slot]")] : [];
  const rows = [...array.querySelectorAll(".row[data-slot]")];
  let wholeBox = svg.getAttribute("viewBox");
  const timed = [...array.querySelectorAll("[data-c]")].map((item) => ({ item, cycles: numbers(item.dataset.c) }));
  let timer = null;
  let shown = null;

  function activity(cycles, now) {
    if (line.unit === "slot") {
      return cycles.some((cycle) => cycle % line.ii === now) ? "on" : "";
    }
    if (cycles.includes(now)) {
      return "on";
    }
    return cycles.some((cycle) => cycle < now) ? "past" : "";
  }

  function show(now) {
    shown = now;
    const all = now === null;
    array.classList.toggle("stepping", !all && panels.length === 0);
    byId("all").setAttribute("aria-pressed", String(all));
    byId("time-text").value = all ? "all" : `${now} of ${line.last}`;
    for (const { item, cycles } of timed) {
      const kind = all ? "" : activity(cycles, now);
      item.classList.toggle("on", kind === "on");
      item.classList.toggle("past", kind === "past");
    }
    let box = wholeBox;
    for (const panel of panels) {
      const mine = Number(panel.dataset.slot) === now;
      panel.classList.toggle("off", !all && !mine);
      if (mine) {
        box = panel.dataset.box;
      }
    }
    for (const row of rows) {
      row.classList.toggle("on", !all && Number(row.dataset.slot) === now % line.ii);
    }
    const [, , width, height] = numbers(box);
    svg.setAttribute("viewBox", box);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    offer("▶", "Play");
  }

  // The button says what it will do, so glyph and word change together.
  function offer(glyph, word) {
    byId("play").querySelector(".glyph").textContent = glyph;
    byId("play").querySelector(".word").textContent = word;
  }

  function chosen() {
    stop();
    show(Number(time.value));
  }
  time.addEventListener("input", chosen);
  // In the overview the slider stands at 0 already, so that choosing 0 does not change its value.
  time.addEventListener("pointerup", chosen);
  time.addEventListener("keyup", (event) => {
    if (/^(Home|End|Arrow|Page)/.test(event.key)) {
      chosen();
    }
  });
  byId("all").addEventListener("click", () => {
    stop();
    show(null);
  });
  byId("play").addEventListener("click", () => {
    if (timer !== null) {
      stop();
      return;
    }
    offer("❚❚", "Pause");
    show(Number(time.value));
    timer = setInterval(() => {
      time.value = Number(time.value) >= line.last ? 0 : Number(time.value) + 1;
      show(Number(time.value));
    }, 700);
  });
  byId("times").hidden = line.last === 0;

  // -- slots below each other on a narrow window ----------------------------------------------------------------------
  const broad = {
    box: wholeBox,
    panels: panels.map((panel) => [panel.dataset.box, panel.getAttribute("transform")]),
    keys: [...svg.querySelectorAll(":scope > g:not(.panel)")].map((key) => [key, key.getAttribute("transform")]),
  };
  const paper = svg.querySelector(":scope > .paper");
  const move = (item, x, y) => item.setAttribute("transform", `translate(${x} ${y})`);

  function spread() {
    panels.forEach((panel, k) => {
      [panel.dataset.box] = broad.panels[k];
      panel.setAttribute("transform", broad.panels[k][1]);
    });
    broad.keys.forEach(([key, place]) => key.setAttribute("transform", place));
    wholeBox = broad.box;
  }

  function stack() {
    const [, top] = numbers(broad.box);
    const [, , width, height] = numbers(broad.panels[0][0]);
    panels.forEach((panel, k) => {
      const [x, y] = numbers(broad.panels[k][0]);
      const [left, above] = broad.panels[k][1].match(/-?[\d.]+/g).map(Number);
      move(panel, left - x, above - y + top + k * height);
      panel.dataset.box = `0 ${top + k * height} ${width} ${height}`;
    });
    let [x, y] = [12, top + panels.length * height + 14];
    for (const [key] of broad.keys) {
      const room = key.getBBox().width + 18;
      if (x > 12 && x + room > width) {
        [x, y] = [12, y + 22];
      }
      move(key, x, y);
      x += room;
    }
    wholeBox = `0 ${top} ${width} ${y + 16 - top}`;
    paper.setAttribute("height", Math.max(Number(paper.getAttribute("height")), y + 16));
  }

  const narrow = matchMedia("(max-width: 600px)");
  function arrange() {
    if (panels.length > 1) {
      (narrow.matches ? stack : spread)();
      show(shown);
    }
  }
  narrow.addEventListener("change", arrange);
  arrange();

  // -- heat maps ----------------------------------------------------------------------------------------------------
  for (const choice of document.querySelectorAll("input[name=heat]")) {
    choice.addEventListener("change", () => {
      for (const name of ["fifo", "congestion"]) {
        array.classList.toggle(`show-${name}`, choice.value === name);
      }
      byId("scale").hidden = choice.value === "none";
      const layer = array.querySelector(`.heat-${choice.value}`);
      const top = layer ? layer.dataset.top : "";
      byId("scale-top").textContent = choice.value === "fifo" ? `${top} cycles` : "100 %";
    });
  }
  for (const button of document.querySelectorAll(".zoom")) {
    button.addEventListener("click", () => {
      const full = byId(button.dataset.for).classList.toggle("full");
      button.setAttribute("aria-pressed", String(full));
    });
  }

  // -- tooltip and cross-highlighting -------------------------------------------------------------------------------
  const tip = byId("tip");

  function fill(title, facts, lines) {
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = title;
    tip.append(head);
    for (const [name, value] of Object.entries(facts)) {
      const row = document.createElement("div");
      const strong = document.createElement("em");
      strong.textContent = value;
      row.append(`${name} `, strong);
      tip.append(row);
    }
    for (const text of lines) {
      const row = document.createElement("div");
      row.textContent = text;
      tip.append(row);
    }
  }

  function describe(item) {
    if (item.matches("[data-n]")) {
      const instance = data.instances[Number(item.dataset.n)];
      const node = data.nodes[instance.node];
      fill(node.id, { ...node.facts, ...instance.facts }, instance.operands);
    } else if (item.matches(".node[data-g]")) {
      const number = Number(item.dataset.g);
      const places = data.instances.filter((instance) => instance.node === number);
      const node = data.nodes[number];
      fill(node.id, { ...node.facts, ...(places.length ? places[0].facts : {}) }, []);
    } else if (item.matches(".edge[data-e]")) {
      const edge = data.edges[Number(item.dataset.e)];
      fill(edge.name, edge.facts, []);
    } else if (item.matches("[data-r]") && data.resources[item.dataset.r]) {
      const resource = data.resources[item.dataset.r];
      fill(resource.name, {}, [...resource.lines, ...numbers(item.dataset.e).map((e) => `for ${data.edges[e].name}`)]);
    } else if (item.matches(".mark[data-e]")) {
      const edge = data.edges[numbers(item.dataset.e)[0]];
      fill(edge.name, edge.facts, []);
    } else if (item.matches("[data-t]")) {
      const tile = data.tiles[Number(item.dataset.t)];
      fill(tile.name, tile.facts, []);
    } else {
      return false;
    }
    return true;
  }

  function moveTip(x, y) {
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - 12 - box.width : x + 16;
    const top = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }

  function everything(selector) {
    return pictures.flatMap((picture) => [...picture.querySelectorAll(selector)]);
  }

  function heat(items, kind) {
    for (const item of items) {
      item.classList.add(...kind);
    }
  }

  function trace(item) {
    untrace();
    const edges = new Set();
    const nodes = new Set();
    if (item.matches(".node[data-g]")) {
      const own = Number(item.dataset.g);
      nodes.add(own);
      for (const edge of everything(".edge[data-g]")) {
        const ends = numbers(edge.dataset.g);
        if (ends.includes(own)) {
          edges.add(Number(edge.dataset.e));
          ends.forEach((end) => nodes.add(end));
        }
      }
      heat(everything(`.node[data-g="${own}"]`), ["hot", "core"]);
    } else if (item.matches("[data-e]")) {
      for (const e of numbers(item.dataset.e)) {
        edges.add(e);
      }
      for (const edge of everything(".edge[data-g]")) {
        if (edges.has(Number(edge.dataset.e))) {
          numbers(edge.dataset.g).forEach((end) => nodes.add(end));
        }
      }
    } else {
      return;
    }
    highlight(edges, nodes);
    heat(lines.filter((text) => numbers(text.dataset.g).some((node) => item.dataset.g === String(node))), ["hot"]);
  }

  function highlight(edges, nodes) {
    pictures.forEach((picture) => picture.classList.add("tracing"));
    heat(everything(".node[data-g]").filter((node) => nodes.has(Number(node.dataset.g))), ["hot"]);
    heat(everything("[data-e]").filter((mark) => numbers(mark.dataset.e).some((e) => edges.has(e))), ["hot"]);
  }

  function untrace() {
    pictures.forEach((picture) => picture.classList.remove("tracing"));
    everything(".hot").concat(lines).forEach((item) => item.classList.remove("hot", "core"));
  }

  function leave() {
    tip.hidden = true;
    untrace();
  }

  for (const picture of pictures) {
    let last = null;
    picture.addEventListener("pointermove", (event) => {
      const item = event.target.closest("[data-n], .node[data-g], [data-r], .mark[data-e], .edge[data-e], [data-t]");
      if (!item) {
        last = null;
        leave();
        return;
      }
      if (item !== last) {
        last = item;
        if (!describe(item)) {
          leave();
          return;
        }
        trace(item);
      }
      moveTip(event.clientX, event.clientY);
    });
    picture.addEventListener("pointerleave", () => {
      last = null;
      leave();
    });
    picture.addEventListener("focusin", (event) => {
      const item = event.target.closest(".node");
      if (item && item.matches(":focus-visible") && describe(item)) {
        trace(item);
        const box = item.getBoundingClientRect();
        moveTip(box.right, box.bottom);
      }
    });
    picture.addEventListener("focusout", leave);

    // The Tab key stops once at each picture; arrow keys go on from there.
    const nodes = [...picture.querySelectorAll(".node[tabindex]")];
    if (nodes.length) {
      nodes[0].setAttribute("tabindex", "0");
    }
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const now = nodes.indexOf(document.activeElement);
      if (event.key === "Escape") {
        leave();
      } else if (step && now >= 0) {
        event.preventDefault();
        const next = nodes[(now + step + nodes.length) % nodes.length];
        nodes[now].setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      }
    });
  }

  // -- source -------------------------------------------------------------------------------------------------------
  for (const text of lines) {
    const point = () => {
      leave();
      text.classList.add("hot");
      highlight(new Set(), new Set(numbers(text.dataset.g)));
    };
    text.addEventListener("pointerenter", point);
    text.addEventListener("focus", point);
    text.addEventListener("pointerleave", leave);
    text.addEventListener("blur", leave);
  }

  // -- take away ----------------------------------------------------------------------------------------------------
  byId("download").addEventListener("click", () => {
    const text = JSON.parse(byId("mapping").textContent);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = byId("download").dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  byId("copy").addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(byId("command"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try {
      await navigator.clipboard.writeText(byId("command").textContent);
      byId("copied").textContent = "copied";
    } catch {
      byId("copied").textContent = "selected: press Ctrl+C";
    }
  });
})();
