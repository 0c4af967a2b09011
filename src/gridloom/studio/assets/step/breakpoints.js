// Breakpoints in words: "node x in iteration 3", "pe_1_2 writes", "value = 7", "x = 7", "cycle 12".
import { issueFields } from "./trace.js";

const { NODE, SLOT, STAGE, KIND, LATENCY, WRITES } = issueFields;

export const examples = ["node NAME in iteration 3", "tile NAME writes", "value = 7", "NAME = 7", "cycle 12"];

// A test of a cycle, from a text; an Error says what is expected. `names` has nodes and tiles by name.
export function breakpoint(text, trace, names) {
  const said = text.trim().replace(/\s+/g, " ");
  let match;
  if ((match = /^(?:cycle|@) ?(\d+)$/i.exec(said))) {
    const wanted = Number(match[1]);
    return (cycle) => cycle === wanted;
  }
  if ((match = /^value ?={1,2} ?(\S+)$/i.exec(said))) {
    return (cycle) => hasValue(trace, cycle, plainNumber(match[1]));
  }
  if ((match = /^(?:tile )?(\S+) writes$/i.exec(said))) {
    const tile = known(names.tiles, match[1], "tile");
    return (cycle) => (trace.byTile.get(tile) || []).some((issue) => writes(trace, issue, cycle));
  }
  if ((match = /^(?:node )?(\S+) in iteration (\d+)$/i.exec(said))) {
    const node = known(names.nodes, match[1], "node");
    const wanted = Number(match[2]);
    return (cycle) => firings(trace, node, cycle).some(([, firing]) => firing === wanted);
  }
  if ((match = /^(?:node )?(\S+) ?={1,2} ?(\S+)$/i.exec(said))) {
    const node = known(names.nodes, match[1], "node");
    const wanted = plainNumber(match[2]);
    return (cycle) => firings(trace, node, cycle).some(([issue, firing]) => trace.result(issue, firing) === wanted);
  }
  if ((match = /^(?:node )?(\S+)$/i.exec(said))) {
    const node = known(names.nodes, match[1], "node");
    return (cycle) => firings(trace, node, cycle).length > 0;
  }
  throw new Error(`write one of: ${examples.join(", ")}`);
}

// The next cycle after `from` that a test holds for, forwards (1) or backwards (-1); -1 where there is none.
export async function search(trace, test, from, direction) {
  for (let cycle = from + direction; cycle >= 0 && cycle <= trace.last; cycle += direction) {
    await trace.ensure(cycle);
    if (test(cycle)) {
      return cycle;
    }
  }
  return -1;
}

function known(table, name, what) {
  if (!table.has(name)) {
    throw new Error(`there is no ${what} ${name}`);
  }
  return table.get(name);
}

const plainNumber = (text) => (Number.isNaN(Number(text)) ? text : String(Number(text)));

function firings(trace, node, cycle) {
  return trace.head.issues
    .map((issue, k) => (issue[KIND] === 0 && issue[NODE] === node ? [k, trace.firing(k, cycle)] : null))
    .filter((row) => row !== null && row[1] >= 0);
}

// A result is written when its latency has passed.
function writes(trace, issue, cycle) {
  const record = trace.head.issues[issue];
  const firing = (cycle - record[LATENCY] - record[SLOT]) / trace.head.ii - record[STAGE];
  return record[WRITES] === 1 && Number.isInteger(firing) && firing >= 0 && firing < trace.head.iterations;
}

function hasValue(trace, cycle, wanted) {
  const fires = trace.head.issues.some((_, k) => {
    const firing = trace.firing(k, cycle);
    return firing >= 0 && trace.result(k, firing) === wanted;
  });
  return fires || trace.head.rows.some((_, row) => trace.row(cycle, row) === wanted);
}

