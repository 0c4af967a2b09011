// Pointing at parts of pictures, with the pointer or with the keyboard.

const PARTS = "[data-n], .node[data-g], [data-r], .mark[data-e], .edge[data-e], [data-t]";

// Join pictures, source lines, tip and tracing: what is pointed at is explained and marked. `rest()` is called when
// nothing is pointed at any more.
export function joinPictures(pictures, lines, tip, tracing, rest = () => tracing.clear()) {
  const leave = () => {
    tip.hide();
    rest();
  };
  pictures.forEach((picture) => {
    followPointer(picture, tip, tracing, leave);
    followFocus(picture, tip, tracing, leave);
  });
  for (const text of lines) {
    const point = () => {
      leave();
      tracing.traceLine(text);
    };
    text.addEventListener("pointerenter", point);
    text.addEventListener("focus", point);
    text.addEventListener("pointerleave", leave);
    text.addEventListener("blur", leave);
  }
}

function followPointer(picture, tip, tracing, leave) {
  let last = null;
  picture.addEventListener("pointermove", (event) => {
    const item = event.target.closest(PARTS);
    if (!item) {
      last = null;
      leave();
      return;
    }
    if (item !== last) {
      last = item;
      if (!tip.describe(item)) {
        leave();
        return;
      }
      tracing.trace(item);
    }
    tip.moveTo(event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", () => {
    last = null;
    leave();
  });
}

function followFocus(picture, tip, tracing, leave) {
  picture.addEventListener("focusin", (event) => {
    const item = event.target.closest(".node");
    if (item && item.matches(":focus-visible") && tip.describe(item)) {
      tracing.trace(item);
      const box = item.getBoundingClientRect();
      tip.moveTo(box.right, box.bottom);
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

// Heat maps and full size: the controls beside a picture, within the part of the page that holds them.
export function joinControls(page, array, scale, scaleTop) {
  for (const choice of page.querySelectorAll("input[name=heat]")) {
    choice.addEventListener("change", () => {
      for (const name of ["fifo", "congestion"]) {
        array.classList.toggle(`show-${name}`, choice.value === name);
      }
      scale.hidden = choice.value === "none";
      const layer = array.querySelector(`.heat-${choice.value}`);
      const top = layer ? layer.dataset.top : "";
      scaleTop.textContent = choice.value === "fifo" ? `${top} cycles` : "100 %";
    });
  }
  for (const button of page.querySelectorAll(".zoom")) {
    button.addEventListener("click", () => {
      const full = document.getElementById(button.dataset.for).classList.toggle("full");
      button.setAttribute("aria-pressed", String(full));
    });
  }
}
