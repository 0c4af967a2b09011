// A shared file: one mapping with its run, without a server.
import { byId, make, takeAway } from "../drawing/dom.js";
import { Understand } from "./explain/understand.js";
import { MappingView } from "./step/mapping_view.js";
import { fromBase64 } from "./step/words.js";

const data = JSON.parse(byId("data").textContent);

// What a mapping view asks of its store, answered from the page itself.
const store = {
  async run() {
    if (!data.run) {
      throw new Error("this file was shared without a run");
    }
    const { head, words } = data.run;
    const width = 8 * Math.max(1, head.rows?.length ?? 1);
    const parts = Object.fromEntries(Object.entries(words ?? {}).map(([part, text]) => [part, fromBase64(text)]));
    const fetchWords = async (part, first, count) =>
      part === "values" ? parts.values.slice(first * width, (first + count) * width) : parts[part];
    return { head, words: fetchWords };
  },
  runCard: () => null,
};

const actions = [make("button", {
  type: "button", id: "download", onclick: () => takeAway(data.mapping, "mapping.json", "application/json"),
}, "Download mapping (JSON)")];
const why = make("div", {});
const view = new MappingView(data.scene, store, { tip: byId("tip"), actions, extras: () => [why] });
byId("tabs").hidden = true;
byId("view").append(view.element);
why.append(new Understand(data.explanation, view).element);
document.addEventListener("keydown", (event) => {
  if (!event.target.closest("input, textarea, select, button") && !event.ctrlKey && !event.metaKey) {
    view.key(event);
  }
});
view.begin().catch((error) => {
  byId("status").textContent = error.message;
}).finally(() => {
  document.body.dataset.ready = "true";
});
