// The report of a mapping: pictures of the whole array and of the whole graph.
import { byId, takeAway } from "./drawing/dom.js";
import { Player } from "./drawing/player.js";
import { joinControls, joinPictures } from "./drawing/pointing.js";
import { SlotView } from "./drawing/slots.js";
import { Tip } from "./drawing/tip.js";
import { Tracing } from "./drawing/tracing.js";

const data = JSON.parse(byId("data").textContent);
const array = byId("array");
const source = byId("source");
const lines = source ? [...source.querySelectorAll(".line[data-g]")] : [];
const pictures = [array, byId("graph")];
const slots = new SlotView(array, data.timeline);

function show(now) {
  slots.show(now);
  byId("all").setAttribute("aria-pressed", String(now === null));
  byId("time-text").value = now === null ? "all" : `${now} of ${data.timeline.last}`;
}

new Player({ button: byId("play"), slider: byId("time"), all: byId("all"), last: data.timeline.last, show });
byId("times").hidden = data.timeline.last === 0;
joinPictures(pictures, lines, new Tip(byId("tip"), data), new Tracing(pictures, lines));
joinControls(document, array, byId("scale"), byId("scale-top"));

byId("download").addEventListener("click", () => {
  takeAway(JSON.parse(byId("mapping").textContent), byId("download").dataset.name, "application/json");
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
