// A run of a clocked array: what stands where in each cycle. Words come in chunks, as they are needed.
import { Words, isPoison, numberText, wordText } from "./words.js";

const CHUNK = 1 << 18;
const [NODE, COPY, TILE, , SLOT, STAGE, KIND, LATENCY, WRITES, OPERANDS, EDGES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const [FROM_ROW, FROM_CONSTANT, FROM_STREAM, FROM_RESULT] = [0, 1, 2, 3];

export class Trace {
  // `fetchWords(part, first, count)` gives a part of the words as a buffer.
  constructor(head, fetchWords) {
    this.head = head;
    this.fetchWords = fetchWords;
    this.last = head.cycles - 1;
    this.width = Math.max(1, head.rows.length);
    this.chunk = Math.max(1, Math.min(4096, Math.floor(CHUNK / this.width)));
    this.chunks = new Map();
    this.rowsOf = new Map();
    head.rows.forEach(([resource], row) => {
      this.rowsOf.has(resource) ? this.rowsOf.get(resource).push(row) : this.rowsOf.set(resource, [row]);
    });
    this.valid = head.valid.map((rows) => new Set(rows));
    this.first = Math.max(0, Math.min(...head.issues.map((_, k) => this.cycleOf(k, 0))));
    this.issueOf = new Map();
    this.byTile = new Map();
    head.issues.forEach((issue, k) => {
      if (issue[KIND] === 0) {
        this.issueOf.set(`${issue[NODE]}/${issue[COPY]}`, k);
      }
      this.byTile.has(issue[TILE]) ? this.byTile.get(issue[TILE]).push(k) : this.byTile.set(issue[TILE], [k]);
    });
  }

  async load() {
    const [results, memory, stores] = await Promise.all(
      ["results", "memory", "stores"].map((part) => this.fetchWords(part, 0, 0)),
    );
    this.results = new Words(results);
    this.memory = new Words(memory);
    this.stores = new Words(stores);
    await this.ensure(0);
    return this;
  }

  async ensure(cycle) {
    const number = Math.floor(cycle / this.chunk);
    if (!this.chunks.has(number)) {
      const waiting = this.fetchWords("values", number * this.chunk, this.chunk).then((buffer) => {
        this.chunks.set(number, new Words(buffer));
      });
      this.chunks.set(number, waiting);
    }
    await this.chunks.get(number);
  }

  has(cycle) {
    return this.chunks.get(Math.floor(cycle / this.chunk)) instanceof Words;
  }

  // -- values -------------------------------------------------------------------------------------------------------

  text(words, at) {
    const [low, high] = [words.low(at), words.high(at)];
    return isPoison(low, high, this.head.poison) ? null : wordText(this.head.domain, low, high);
  }

  // What a row has in a cycle; null where nothing drives it or its words are not here yet.
  row(cycle, row) {
    if (cycle < 0 || cycle > this.last || !this.valid[cycle % this.head.ii].has(row) || !this.has(cycle)) {
      return null;
    }
    const words = this.chunks.get(Math.floor(cycle / this.chunk));
    return this.text(words, (cycle % this.chunk) * this.width + row);
  }

  // What a resource of the array has in a cycle; null where it has nothing.
  resource(cycle, resource) {
    for (const row of this.rowsOf.get(resource) || []) {
      const found = this.row(cycle, row);
      if (found !== null) {
        return found;
      }
    }
    return null;
  }

  // The iteration for which an issue slot fires in a cycle; -1: it does not.
  firing(issue, cycle) {
    const record = this.head.issues[issue];
    const turn = (cycle - record[SLOT]) / this.head.ii;
    const firing = turn - record[STAGE];
    return Number.isInteger(turn) && firing >= 0 && firing < this.head.iterations ? firing : -1;
  }

  cycleOf(issue, firing) {
    const record = this.head.issues[issue];
    return (record[STAGE] + firing) * this.head.ii + record[SLOT];
  }

  result(issue, firing) {
    return this.text(this.results, firing * this.head.issues.length + issue);
  }

  // What an instance of a node computes in a cycle: { firing, text }, or null where it does not fire.
  work(node, copy, cycle) {
    const issue = this.issueOf.get(`${node}/${copy}`);
    const firing = issue === undefined ? -1 : this.firing(issue, cycle);
    return firing < 0 ? null : { issue, firing, text: this.result(issue, firing) };
  }

  // The operands of a firing: { text, edge, waits, from }.
  operands(issue, cycle) {
    const record = this.head.issues[issue];
    const firing = this.firing(issue, cycle);
    return record[OPERANDS].map(([kind, index, fifo, distance], k) => {
      const past = firing - distance;
      let text = null;
      if (past < 0) {
        text = "initial";
      } else if (kind === FROM_ROW) {
        text = this.row(cycle - fifo, index);
      } else if (kind === FROM_CONSTANT) {
        text = this.plain(this.head.constants[index]);
      } else if (kind === FROM_STREAM) {
        text = "stream";
      } else if (kind === FROM_RESULT) {
        text = this.result(index, past);
      }
      const from = kind === FROM_ROW ? this.head.rows[index][2] : "";
      return { text, edge: record[EDGES][k], waits: fifo, from };
    });
  }

  plain(value) {
    return value === undefined ? null : typeof value === "number" ? numberText(value) : String(value);
  }

  // The values that wait in the FIFOs of a tile, oldest first: { name, depth, values }.
  fifos(tile, cycle) {
    const found = [];
    for (const issue of this.byTile.get(tile) || []) {
      const record = this.head.issues[issue];
      for (const [kind, row, fifo] of record[OPERANDS]) {
        if (kind !== FROM_ROW || fifo === 0) {
          continue;
        }
        const values = [];
        for (let arrival = cycle - fifo; arrival <= cycle; arrival++) {
          const due = arrival + fifo;
          if (due >= cycle && this.firing(issue, due) >= 0) {
            values.push(this.row(arrival, row) ?? "·");
          }
        }
        found.push({ name: this.head.rows[row][2], depth: fifo, values });
      }
    }
    return found;
  }

  // The words of an array after a cycle, and which of them changed in it.
  array(name, cycle, most = 256) {
    const [first, length] = this.head.arrays[name];
    const shown = Math.min(length, most);
    const texts = Array.from({ length: shown }, (_, k) => this.text(this.memory, first + k));
    const changed = new Set();
    for (let s = 0; s < this.stores.length / 3; s++) {
      const [at, word] = [this.stores.low(3 * s), this.stores.low(3 * s + 1)];
      if (at > cycle) {
        break;
      }
      if (word >= first && word < first + shown) {
        texts[word - first] = this.text(this.stores, 3 * s + 2);
        at === cycle && changed.add(word - first);
      }
    }
    return { texts, changed, length };
  }

  // Whether something of iteration 0's flat cycle is at work in a cycle, for some iteration.
  active(flat, cycle) {
    const turn = (cycle - flat) / this.head.ii;
    return Number.isInteger(turn) && turn >= 0 && turn < this.head.iterations;
  }

  phase(cycle) {
    const { ii, iterations, stages } = this.head;
    const filled = (Math.min(stages, iterations) - 1) * ii;
    if (cycle < filled) {
      return "prologue";
    }
    return cycle >= iterations * ii ? "epilogue" : "steady state";
  }

  moment(cycle) {
    const slot = this.head.ii > 1 ? ` · slot ${cycle % this.head.ii}` : "";
    return `cycle ${cycle} of ${this.last}${slot} · ${this.phase(cycle)}`;
  }
}

export const issueFields = { NODE, COPY, TILE, SLOT, STAGE, KIND, LATENCY, WRITES };
