"use strict";
const plan = JSON.parse(document.getElementById("document").textContent);
const report = plan.report;
const byID = (id) => document.getElementById(id);

// svg makes an element of a picture.
function svg(name, attributes, parent, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}

// html makes an element of the page; what it shows is text, never markup.
function html(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

function digits(v) {
  return v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0);
}

function bytes(n) {
  if (n < 1024) return n + " B";
  let unit = 0;
  for (n /= 1024; n >= 999.5 && unit < 5; unit++) n /= 1024;
  return digits(n) + " " + ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit];
}

function count(n, what) {
  if (n < 1000) return n + " " + what;
  let unit = 0;
  for (n /= 1000; n >= 999.5 && unit < 7; unit++) n /= 1000;
  return digits(n) + " " + "kMGTPEZY"[unit] + what;
}

const percent = (v) => (100 * v).toFixed(1) + "%";

// lineOf is the file and the line of a place: gpt.ptl:63 of gpt.ptl:63:9.
const lineOf = (source) => (source || "").split(":").slice(0, 2).join(":");

// drawn draws a picture, and again where its width changes: in the frame after, since
// what is drawn may change the width of what is observed.
function drawn(id, draw) {
  const at = byID(id);
  if (!at) return;
  let width = at.clientWidth;
  at.replaceChildren(draw(width));
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (at.clientWidth !== width) {
      width = at.clientWidth;
      at.replaceChildren(draw(width));
    }
  })).observe(at);
}

// frame is an empty picture.
function frame(width, height) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
}

// steps are round numbers up to the most, about so many: powers of 2 for bytes, else 1, 2
// or 5 with zeros.
function steps(most, about, binary) {
  let step = 1;
  for (let n = 0; most / step > about; n++) step = binary ? 2 * step : step * (n % 3 === 1 ? 2.5 : 2);
  const out = [];
  for (let v = 0; v <= most; v += step) out.push(v);
  return out;
}

// chosen are told the line that is chosen, or "".
const chosen = [];
let line = "";

function choose(to) {
  line = to;
  for (const tell of chosen) tell(line);
}
