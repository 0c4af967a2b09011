"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const canvas = byId("map");
  const pen = canvas.getContext("2d");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // -- tables by tile ------------------------------------------------------------------------------------------------
  const tileAt = new Map(data.tiles.map(([, row, col], t) => [row * data.cols + col, t]));
  const lists = () => data.tiles.map(() => []);
  const [ops, moves, wires] = [lists(), lists(), lists()];
  data.instances.forEach(([, tile], k) => tile >= 0 && ops[tile].push(k));
  data.moves.forEach((move) => moves[move[0]].push(move));
  data.wires.forEach((wire) => wires[wire[0]].push(wire));
  const [reads, feeds] = [new Map(), new Map()];
  data.ways.forEach(([, source, target], w) => {
    for (const [table, key] of [[reads, target], [feeds, source]]) {
      table.has(key) ? table.get(key).push(w) : table.set(key, [w]);
    }
  });
  const slotOf = (cycle) => ((cycle % data.ii) + data.ii) % data.ii;

  // -- view ----------------------------------------------------------------------------------------------------------
  const view = { size: 8, x: 0, y: 0 };
  let slot = null;
  let picked = -1;
  let traced = new Set();
  let waiting = false;
  let fitted = true;

  function redraw() {
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        draw();
      });
    }
  }

  function fit() {
    fitted = true;
    const box = canvas.getBoundingClientRect();
    view.size = Math.max(2, Math.min(box.width / data.cols, box.height / data.rows));
    view.x = (data.cols - box.width / view.size) / 2;
    view.y = (data.rows - box.height / view.size) / 2;
    redraw();
  }

  function resize() {
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * devicePixelRatio);
    canvas.height = Math.round(box.height * devicePixelRatio);
    // The whole array stays in view until the reader chooses a part of it.
    fitted ? fit() : redraw();
  }

  function zoom(factor, x, y) {
    fitted = false;
    const size = Math.max(2, Math.min(220, view.size * factor));
    view.x += x / view.size - x / size;
    view.y += y / view.size - y / size;
    view.size = size;
    redraw();
  }

  // -- drawing -------------------------------------------------------------------------------------------------------
  const colour = (kind) => {
    const shade = data.shades[kind] || ["#dde2e8", "#8a95a3", "#39424e", "#76818f"];
    return dark.matches ? shade.slice(2) : shade.slice(0, 2);
  };
  const wireColour = (signal) => data.colours[signal % data.colours.length][dark.matches ? 1 : 0];

  function visible() {
    const box = canvas.getBoundingClientRect();
    const found = [];
    const lastRow = Math.min(data.rows - 1, Math.floor(view.y + box.height / view.size));
    const lastCol = Math.min(data.cols - 1, Math.floor(view.x + box.width / view.size));
    for (let row = Math.max(0, Math.floor(view.y)); row <= lastRow; row++) {
      for (let col = Math.max(0, Math.floor(view.x)); col <= lastCol; col++) {
        const tile = tileAt.get(row * data.cols + col);
        if (tile !== undefined) {
          found.push([tile, (col - view.x) * view.size, (row - view.y) * view.size]);
        }
      }
    }
    return found;
  }

  // What a tile does: [slot, class, caption, instance] for each operation and move that is shown.
  function contents(tile) {
    const found = [];
    for (const k of ops[tile]) {
      const [node, , cycle] = data.instances[k];
      found.push([slotOf(cycle), data.nodes[node][2], data.nodes[node][1], k]);
    }
    for (const [, cycle, signal] of moves[tile]) {
      found.push([slotOf(cycle), "route", "move", signal]);
    }
    return found.filter(([s]) => slot === null || s === slot).sort((a, b) => a[0] - b[0]);
  }

  function draw() {
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const box = canvas.getBoundingClientRect();
    pen.clearRect(0, 0, box.width, box.height);
    const shown = visible();
    const size = view.size;
    const gap = size > 10 ? size * 0.14 : 0.5;
    const strips = slot === null ? data.ii : 1;
    for (const [tile, x, y] of shown) {
      pen.fillStyle = style("--paper");
      pen.fillRect(x + gap, y + gap, size - 2 * gap, size - 2 * gap);
      const tall = (size - 2 * gap) / strips;
      for (const [s, kind, caption, k] of contents(tile)) {
        const top = y + gap + (slot === null ? s * tall : 0);
        const [fill, rim] = colour(kind);
        pen.globalAlpha = traced.size && !traced.has(k) ? 0.3 : 1;
        pen.fillStyle = size > 24 ? fill : rim;
        pen.fillRect(x + gap, top, size - 2 * gap, tall);
        if (size > 44 && tall > 11) {
          pen.fillStyle = style("--ink");
          pen.font = `${Math.min(13, tall * 0.6)}px system-ui, sans-serif`;
          pen.textBaseline = "middle";
          pen.fillText(caption, x + gap + 4, top + tall / 2, size - 2 * gap - 8);
        }
      }
      pen.globalAlpha = 1;
      if (tile === picked || size > 10) {
        pen.strokeStyle = tile === picked ? style("--accent") : style("--rim");
        pen.lineWidth = tile === picked ? 2.5 : 1;
        pen.strokeRect(x + gap, y + gap, size - 2 * gap, size - 2 * gap);
      }
    }
    if (size > 12 || traced.size) {
      shown.forEach(([tile, x, y]) => drawWires(tile, x, y, size));
    }
  }

  function drawWires(tile, x, y, size) {
    const [, row, col] = data.tiles[tile];
    for (const [, to, cycle, signal] of wires[tile]) {
      const hot = traced.has(signal);
      if ((slot !== null && slotOf(cycle) !== slot) || (traced.size && !hot) || (size <= 12 && !hot)) {
        continue;
      }
      let down = data.tiles[to][1] - row;
      let right = data.tiles[to][2] - col;
      // A link around the border is drawn as a stub that leaves the array.
      down = Math.abs(down) > 1 && data.wraps ? -Math.sign(down) : down;
      right = Math.abs(right) > 1 && data.wraps ? -Math.sign(right) : right;
      pen.strokeStyle = wireColour(signal);
      pen.lineWidth = hot ? Math.max(2, size / 14) : Math.max(1, size / 28);
      pen.beginPath();
      pen.moveTo(x + size / 2 + right * size * 0.2, y + size / 2 + down * size * 0.2);
      pen.lineTo(x + size / 2 + right * size * 0.78, y + size / 2 + down * size * 0.78);
      pen.stroke();
    }
  }

  // -- details -------------------------------------------------------------------------------------------------------
  function line(text, action) {
    const row = document.createElement("div");
    if (action) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", action);
      row.append(button);
    } else {
      row.textContent = text;
    }
    byId("tile").append(row);
  }

  function heading(text) {
    const row = document.createElement("h3");
    row.textContent = text;
    byId("tile").append(row);
  }

  const place = (k) => {
    const [node, tile, cycle] = data.instances[k];
    return tile < 0 ? `${data.nodes[node][0]}, kept in ${data.kept[k]}` : `${data.nodes[node][0]} on ${data.tiles[tile][0]} at ${cycle}`;
  };

  function describeTile(tile) {
    byId("tile").replaceChildren();
    heading(data.tiles[tile][0]);
    for (const [s, kind, caption, k] of contents(tile)) {
      const name = data.nodes[data.instances[k][0]][0];
      line(`slot ${s}: ${caption} ${kind === "route" && caption === "move" ? `of ${name}` : name}`, () => pick(k));
    }
    if (!contents(tile).length) {
      line("It is idle.");
    }
  }

  function describeInstance(k) {
    const [node, , , copy] = data.instances[k];
    byId("tile").replaceChildren();
    heading(`${data.nodes[node][0]}: ${data.nodes[node][1]}${copy ? `, copy ${copy}` : ""}`);
    line(place(k));
    for (const [title, table, end] of [["reads", reads, 1], ["is read by", feeds, 2]]) {
      const rows = table.get(k) || [];
      if (rows.length) {
        heading(title);
      }
      for (const w of rows.slice(0, 40)) {
        const [edge] = data.ways[w];
        const [operand, distance] = data.edges[edge];
        const other = data.ways[w][end];
        const back = distance ? `, ${distance} iteration${distance > 1 ? "s" : ""} back` : "";
        line(`operand ${operand}: ${place(other)}${back}`, () => pick(other));
      }
      if (rows.length > 40) {
        line(`and ${rows.length - 40} more`);
      }
    }
  }

  function pick(k) {
    const tile = data.instances[k][1];
    traced = new Set([k, ...(reads.get(k) || []).map((w) => data.ways[w][1]), ...(feeds.get(k) || []).map((w) => data.ways[w][2])]);
    describeInstance(k);
    if (tile >= 0) {
      picked = tile;
      const box = canvas.getBoundingClientRect();
      const [, row, col] = data.tiles[tile];
      const [x, y] = [(col - view.x) * view.size, (row - view.y) * view.size];
      if (x < 0 || y < 0 || x + view.size > box.width || y + view.size > box.height) {
        view.x = col + 0.5 - box.width / view.size / 2;
        view.y = row + 0.5 - box.height / view.size / 2;
      }
    }
    redraw();
  }

  // -- time ----------------------------------------------------------------------------------------------------------
  const time = byId("time");
  let timer = null;

  function show(now) {
    slot = now;
    byId("all").setAttribute("aria-pressed", String(now === null));
    byId("time-text").value = now === null ? "all" : `${now} of ${data.ii - 1}`;
    redraw();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    byId("play").querySelector(".glyph").textContent = "▶";
    byId("play").querySelector(".word").textContent = "Play";
  }

  for (const kind of ["input", "pointerup"]) {
    time.addEventListener(kind, () => {
      stop();
      show(Number(time.value));
    });
  }
  byId("all").addEventListener("click", () => {
    stop();
    show(null);
  });
  byId("play").addEventListener("click", () => {
    if (timer !== null) {
      stop();
      return;
    }
    byId("play").querySelector(".glyph").textContent = "❚❚";
    byId("play").querySelector(".word").textContent = "Pause";
    show(Number(time.value));
    timer = setInterval(() => {
      time.value = Number(time.value) >= data.ii - 1 ? 0 : Number(time.value) + 1;
      show(Number(time.value));
    }, 700);
  });
  byId("times").hidden = data.ii === 1;

  // -- pointer and keys ----------------------------------------------------------------------------------------------
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag = { x: event.clientX, y: event.clientY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
      view.x -= dx / view.size;
      view.y -= dy / view.size;
      redraw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const click = drag && drag.moved < 5;
    drag = null;
    if (click) {
      const box = canvas.getBoundingClientRect();
      const col = Math.floor(view.x + (event.clientX - box.left) / view.size);
      const row = Math.floor(view.y + (event.clientY - box.top) / view.size);
      const inside = row >= 0 && col >= 0 && row < data.rows && col < data.cols;
      picked = inside ? tileAt.get(row * data.cols + col) ?? -1 : -1;
      traced = new Set();
      if (picked >= 0) {
        describeTile(picked);
      }
      redraw();
    }
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  const middle = (factor) => {
    const box = canvas.getBoundingClientRect();
    zoom(factor, box.width / 2, box.height / 2);
  };
  canvas.addEventListener("keydown", (event) => {
    const step = 60 / view.size;
    const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    if (move) {
      event.preventDefault();
      view.x += move[0];
      view.y += move[1];
      redraw();
    } else if (event.key === "+" || event.key === "=") {
      middle(1.3);
    } else if (event.key === "-") {
      middle(1 / 1.3);
    } else if (event.key === "Escape") {
      picked = -1;
      traced = new Set();
      redraw();
    }
  });
  byId("closer").addEventListener("click", () => middle(1.5));
  byId("farther").addEventListener("click", () => middle(1 / 1.5));
  byId("whole").addEventListener("click", fit);

  // -- search --------------------------------------------------------------------------------------------------------
  const instanceOf = new Map();
  data.instances.forEach(([node], k) => instanceOf.has(data.nodes[node][0]) || instanceOf.set(data.nodes[node][0], k));
  byId("find").addEventListener("input", () => {
    const text = byId("find").value;
    const names = [];
    for (const name of instanceOf.keys()) {
      if (names.length < 12 && name.startsWith(text)) {
        names.push(name);
      }
    }
    byId("names").replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
    if (instanceOf.has(text)) {
      pick(instanceOf.get(text));
    }
  });

  byId("download").addEventListener("click", () => {
    const text = JSON.parse(byId("mapping").textContent);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = byId("download").dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  dark.addEventListener("change", redraw);
  new ResizeObserver(resize).observe(canvas);
  resize();
})();
