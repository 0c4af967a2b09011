// A run of an elastic array: at each moment, what each unit does and where tokens wait.

const NAMES = ["done", "busy", "starved", "stalled"];

export class TokenRun {
  constructor(head) {
    this.head = head;
    this.last = head.cycles - 1;
    this.unitOf = new Map(head.units.map(([, node], u) => [node, u]));
    this.hops = new Map();
    head.flows.forEach((flow, f) => {
      flow.links.forEach((link, h) => {
        this.hops.has(link) ? this.hops.get(link).push([f, h]) : this.hops.set(link, [[f, h]]);
      });
    });
  }

  async load() {
    return this;
  }

  async ensure() {}

  has() {
    return true;
  }

  state(unit, moment) {
    return NAMES[this.head.state[unit][moment]];
  }

  // The tokens that wait to cross a link, or travel on it.
  tokens(link, moment) {
    const rows = this.hops.get(link) || [];
    return rows.reduce((sum, [f, h]) => sum + this.head.flows[f].under_way[h][moment], 0);
  }

  // The input buffers of a unit: { edge, tokens, room }.
  buffers(unit, moment) {
    return this.head.flows
      .filter((flow) => flow.target === unit)
      .map((flow) => ({ edge: flow.edge, tokens: flow.buffered[moment], room: flow.room }));
  }

  // The unit that the others wait for: the one that is busy longest.
  bottleneck() {
    const busy = this.head.state.map((row) => row.reduce((sum, state) => sum + (state === 1 ? 1 : 0), 0));
    return busy.indexOf(Math.max(...busy));
  }

  moment(moment) {
    const stalled = this.head.state.filter((row) => row[moment] === 3).length;
    const starved = this.head.state.filter((row) => row[moment] === 2).length;
    const ended = moment === this.last && this.head.stuck ? ` · deadlock: ${this.head.stuck}` : "";
    return `cycle ${this.head.times[moment]} of ${this.head.times[this.last]} · ${stalled} stalled, ${starved} starved${ended}`;
  }
}
