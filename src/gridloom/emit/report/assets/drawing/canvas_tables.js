// The tables of a large mapping by tile and by instance, made once from the rows of numbers that a page carries.

export class Tables {
  constructor(data) {
    this.data = data;
    this.tileAt = new Map(data.tiles.map(([, row, col], t) => [row * data.cols + col, t]));
    const lists = () => data.tiles.map(() => []);
    [this.ops, this.moves, this.wires, this.kept] = [lists(), lists(), lists(), []];
    data.instances.forEach(([, tile], k) => tile >= 0 && this.ops[tile].push(k));
    data.moves.forEach((move) => this.moves[move[0]].push(move));
    data.wires.forEach((wire) => this.wires[wire[0]].push(wire));
    [this.reads, this.feeds] = [new Map(), new Map()];
    data.ways.forEach(([, source, target], w) => {
      for (const [table, key] of [[this.reads, target], [this.feeds, source]]) {
        table.has(key) ? table.get(key).push(w) : table.set(key, [w]);
      }
    });
    this.instanceOf = new Map();
    data.instances.forEach(([node], k) => {
      const name = data.nodes[node][0];
      this.instanceOf.has(name) || this.instanceOf.set(name, k);
    });
  }

  slotOf(cycle) {
    return ((cycle % this.data.ii) + this.data.ii) % this.data.ii;
  }

  // What a tile does: [slot, class, caption, instance, cycle] for each operation and move, by slot; kept for next time.
  contents(tile) {
    return (this.kept[tile] ??= this.contentsOf(tile));
  }

  contentsOf(tile) {
    const found = [];
    for (const k of this.ops[tile]) {
      const [node, , cycle] = this.data.instances[k];
      found.push([this.slotOf(cycle), this.data.nodes[node][2], this.data.nodes[node][1], k, cycle]);
    }
    for (const [, cycle, signal] of this.moves[tile]) {
      found.push([this.slotOf(cycle), "route", "move", signal, cycle]);
    }
    return found.sort((a, b) => a[0] - b[0]);
  }

  // An instance with those that it reads and those that read it.
  neighbours(k) {
    const before = (this.reads.get(k) || []).map((w) => this.data.ways[w][1]);
    const after = (this.feeds.get(k) || []).map((w) => this.data.ways[w][2]);
    return new Set([k, ...before, ...after]);
  }

  place(k) {
    const [node, tile, cycle] = this.data.instances[k];
    const name = this.data.nodes[node][0];
    return tile < 0 ? `${name}, kept in ${this.data.kept[k]}` : `${name} on ${this.data.tiles[tile][0]} at ${cycle}`;
  }

  // The first names of nodes that begin with a text.
  names(text, most = 12) {
    const found = [];
    for (const name of this.instanceOf.keys()) {
      if (found.length < most && name.startsWith(text)) {
        found.push(name);
      }
    }
    return found;
  }
}
