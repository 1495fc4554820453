/** The page's data, and small helpers. Text reaches the page through text nodes alone. */
const data = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);

/** An element: `h("p", { class: "muted", title: "…" }, "text", child)`. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function fill(element, ...children) {
  element.replaceChildren(...children);
  return element;
}

/** Up to four digits; thousands as k, millions as M, the smallest with an exponent. */
function number(value) {
  if (value === null || value === undefined) return "not finite";
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (size > 0 && size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(size >= 1 ? 4 : 3)));
}

function duration(seconds) {
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const cssVariable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColors = () => cssVariable("--series").split(" ");

/** Words of a filter box, all of which must occur. */
function matcher(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (candidate) => words.every((word) => candidate.toLowerCase().includes(word));
}
