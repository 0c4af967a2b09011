// Small things that every page needs: elements by id, lists of numbers in attributes, files to take away.

export const byId = (id) => document.getElementById(id);

export const numbers = (text) => (text || "").split(" ").filter(Boolean).map(Number);

// An element with attributes and children. Text is always set as text, so that no name can become markup.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

export function takeAway(content, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
