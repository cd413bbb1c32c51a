// The mesh: a cell for each device, the last axis to the right, the one before it down,
// and a block for each place on the others.
const mesh = report.mesh;
const parts = mesh.flatMap((a) => a.parts || [{ name: a.name, size: a.size }]);
const ranks = parts.reduce((n, a) => n * a.size, 1);
const drawnDevices = 4096;
const cells = [];
let device = 0, tensor = -1;

// placeOf is the coordinates of a rank on axes, the last of them fastest.
function placeOf(rank, axes) {
  const at = {};
  for (let i = axes.length - 1; i >= 0; i--) {
    at[axes[i].name] = rank % axes[i].size;
    rank = Math.floor(rank / axes[i].size);
  }
  return at;
}

// classOf is what a device has.
function classOf(rank) {
  const at = placeOf(rank, parts);
  return report.device_classes.findIndex((c) => Object.keys(c.at).every((k) => c.at[k] === at[k]));
}

// shardOf is which shard of a tensor a device has; -1 where it has none.
function shardOf(rank, s) {
  if (!s.device_classes.includes(classOf(rank))) return -1;
  const at = placeOf(rank, parts);
  let n = 0;
  for (const a of s.axes) {
    for (const name of a.over) {
      const p = parts.find((x) => x.name === name);
      n = n * p.size + at[name];
    }
  }
  return n;
}

function devices() {
  const at = byID("devices"), inner = mesh.slice(-2), outer = mesh.slice(0, -2);
  const columns = inner.length ? inner[inner.length - 1].size : 1, rows = inner.length > 1 ? inner[0].size : 1;
  const small = ranks > 256 ? " small" : "";
  for (let from = 0; from < Math.min(ranks, drawnDevices); from += rows * columns) {
    const grid = html("div", { className: "cells" + small });
    grid.style.gridTemplateColumns = `repeat(${columns}, max-content)`;
    for (let rank = from; rank < from + rows * columns; rank++) {
      const b = html("button", { type: "button", textContent: rank });
      b.setAttribute("aria-label", "device " + rank);
      b.setAttribute("aria-pressed", "false");
      b.addEventListener("click", () => { device = rank; showDevices(); });
      cells.push(b);
      grid.append(b);
    }
    const place = placeOf(from, mesh), name = outer.map((a) => `${a.name}=${place[a.name]}`).join(" ");
    const ways = [rows > 1 ? `${inner[0].name} ↓` : "", columns > 1 ? `${inner[inner.length - 1].name} →` : ""].filter(Boolean).join(" ");
    at.append(html("div", { className: "block" }, html("p", { textContent: [name, ways].filter(Boolean).join(" · ") || "one device" }), grid));
  }
  if (ranks > drawnDevices) at.append(html("p", { className: "note", textContent: `${ranks - drawnDevices} more devices are not drawn.` }));
}

function showDevices() {
  const s = tensor < 0 ? null : report.shardings[tensor], mine = s ? shardOf(device, s) : -1;
  cells.forEach((b, rank) => {
    const shard = s ? shardOf(rank, s) : -1;
    b.setAttribute("aria-pressed", rank === device);
    b.textContent = s ? (shard < 0 ? "–" : shard) : rank;
    b.setAttribute("aria-label", `device ${rank}` + (s ? (shard < 0 ? ", none of it" : `, shard ${shard}`) : ""));
    b.classList.toggle("mine", s !== null && shard >= 0 && shard === mine);
  });
  for (const b of document.querySelectorAll("[data-tensor]")) b.setAttribute("aria-pressed", +b.dataset.tensor === tensor);
  const place = placeOf(device, mesh), c = report.device_classes[classOf(device)];
  const out = [html("b", { textContent: `Device ${device}` }), mesh.length ? " at " + mesh.map((a) => `${a.name} = ${place[a.name]}`).join(", ") : ""];
  if (c) {
    out.push(": ", html("b", { textContent: bytes(c.arena_bytes) }), " of its memory");
    if (c.host_bytes) out.push(`, ${bytes(c.host_bytes)} of the host`);
    if (c.disk_bytes) out.push(`, ${bytes(c.disk_bytes)} on disk`);
    out.push(`, ${c.instructions} instructions a step`);
  }
  if (s) {
    const shards = new Set(cells.map((_, r) => shardOf(r, s)).filter((n) => n >= 0)).size;
    out.push(". ", html("code", { textContent: s.path }), ` is ${shards === 1 ? "whole on each device that has it" : `in ${shards} shards`}; cells show which`);
    if (mine >= 0) out.push(", and those with the same as this device are filled");
  }
  byID("device-detail").replaceChildren(...out, ".");
}

devices();
for (const b of document.querySelectorAll("[data-tensor]")) {
  b.addEventListener("click", () => {
    tensor = +b.dataset.tensor === tensor ? -1 : +b.dataset.tensor;
    if (tensor >= 0 && shardOf(device, report.shardings[tensor]) < 0) device = Math.max(0, cells.findIndex((_, r) => shardOf(r, report.shardings[tensor]) >= 0));
    showDevices();
  });
}
showDevices();
