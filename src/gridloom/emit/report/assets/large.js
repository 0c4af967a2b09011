// The report of a large mapping: tiles on a canvas, with details on demand.
import { CanvasDetails } from "./drawing/canvas_details.js";
import { CanvasMap } from "./drawing/canvas_map.js";
import { byId, takeAway } from "./drawing/dom.js";
import { Player } from "./drawing/player.js";

const data = JSON.parse(byId("data").textContent);
const map = new CanvasMap(byId("map"), data, { chosen: (tile) => tile >= 0 && details.tile(tile) });
const details = new CanvasDetails(byId("tile"), map);

function show(now) {
  map.show(now);
  byId("all").setAttribute("aria-pressed", String(now === null));
  byId("time-text").value = now === null ? "all" : `${now} of ${data.ii - 1}`;
}

new Player({ button: byId("play"), slider: byId("time"), all: byId("all"), last: data.ii - 1, show });
byId("times").hidden = data.ii === 1;
byId("closer").addEventListener("click", () => map.zoomMiddle(1.5));
byId("farther").addEventListener("click", () => map.zoomMiddle(1 / 1.5));
byId("whole").addEventListener("click", () => map.fit());
details.offer(byId("find"), byId("names"));
byId("download").addEventListener("click", () => {
  takeAway(JSON.parse(byId("mapping").textContent), byId("download").dataset.name, "application/json");
});
