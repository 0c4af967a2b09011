// The controls of time: a slider, a button that plays, and one that shows everything at once.

export class Player {
  // `show(now)` draws a moment; null stands for all of them. `last` is the last moment.
  constructor({ button, slider, all, last, show, pause = 700 }) {
    this.button = button;
    this.slider = slider;
    this.last = last;
    this.show = show;
    this.pause = pause;
    this.timer = null;
    slider.addEventListener("input", () => this.choose());
    // In the overview the slider stands at 0 already, so that choosing 0 does not change its value.
    slider.addEventListener("pointerup", () => this.choose());
    slider.addEventListener("keyup", (event) => {
      if (/^(Home|End|Arrow|Page)/.test(event.key)) {
        this.choose();
      }
    });
    if (all) {
      all.addEventListener("click", () => {
        this.stop();
        this.show(null);
      });
    }
    button.addEventListener("click", () => (this.timer === null ? this.play() : this.stop()));
  }

  choose() {
    this.stop();
    this.show(Number(this.slider.value));
  }

  play() {
    this.offer("❚❚", "Pause");
    this.show(Number(this.slider.value));
    this.timer = setInterval(() => {
      this.slider.value = Number(this.slider.value) >= this.last ? 0 : Number(this.slider.value) + 1;
      this.show(Number(this.slider.value));
    }, this.pause);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.offer("▶", "Play");
  }

  // The button says what it will do, so glyph and word change together.
  offer(glyph, word) {
    this.button.querySelector(".glyph").textContent = glyph;
    this.button.querySelector(".word").textContent = word;
  }
}
