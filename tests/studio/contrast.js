// The texts of a page whose contrast is below WCAG AA, as [element, ratio, text].
() => {
  const parse = (colour) => {
    const parts = colour.match(/-?[\d.]+/g).map(Number);
    const [r, g, b, a = 1] = colour.startsWith("color(srgb") ? [...parts.slice(0, 3).map((v) => 255 * v), ...parts.slice(3)] : parts;
    return [r, g, b, a];
  };
  const over = (above, below) => [0, 1, 2].map((k) => above[k] * above[3] + below[k] * (1 - above[3])).concat(1);
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const item = walker.currentNode.parentElement;
    const shown = walker.currentNode.textContent.trim() && item.checkVisibility({ visibilityProperty: true }) && item.getBoundingClientRect().width;
    if (!shown || item.closest("svg, script, option, :disabled, .skip")) {
      continue;
    }
    const style = getComputedStyle(item);
    let [opacity, layers] = [1, []];
    for (let at = item; at; at = at.parentElement) {
      layers.unshift(parse(getComputedStyle(at).backgroundColor));
      opacity *= Number(getComputedStyle(at).opacity);
    }
    const back = layers.reduce((below, layer) => over(layer, below), matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0, 1] : [255, 255, 255, 1]);
    const ink = parse(style.color);
    const [light, dark] = [luminance(back), luminance(over([...ink.slice(0, 3), ink[3] * opacity], back))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      found.push([`${item.tagName}.${item.className}`, ratio.toFixed(2), walker.currentNode.textContent.trim().slice(0, 40)]);
    }
  }
  return found;
}
