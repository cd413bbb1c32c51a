// The map of memory: the arena upwards, the instructions of a step to the right.
const map = report.memory_map;
const left = 64, live = 54;
let now = -1; // the group that is shown

function memory(width) {
  const height = Math.round(Math.min(560, Math.max(260, width * 0.46)));
  const top = live + 14, bottom = 24;
  const pic = frame(width, top + height + bottom);
  const x = (t) => left + (t / map.instructions) * (width - left - 1);
  const y = (at) => top + height - (at / map.arena_bytes) * height;
  for (const v of steps(map.arena_bytes, 8, true)) {
    svg("line", { class: "grid", x1: left, x2: width, y1: y(v), y2: y(v) }, pic);
    if (y(v) - top > 12) svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, pic, bytes(v));
  }
  for (const v of steps(map.instructions, Math.max(3, width / 110), false)) {
    if (x(v) < width - 130) svg("text", { x: x(v), y: top + height + 15 }, pic, v);
  }
  svg("text", { x: width - 1, y: top + height + 15, "text-anchor": "end" }, pic, map.instructions + (width > 500 ? " instructions" : ""));
  const values = svg("g", { id: "values" }, pic);
  const order = map.groups.map((_, i) => i).sort((a, b) => map.groups[b].bytes - map.groups[a].bytes);
  for (const i of order) {
    const thin = (map.groups[i].bytes / map.arena_bytes) * height < 3;
    svg("path", { class: "v " + map.groups[i].space + (thin ? " thin" : ""), "data-group": i, d: outline(map.groups[i], x, y, thin) }, values);
  }
  svg("line", { class: "edge", id: "arena", x1: left, x2: width, y1: y(map.arena_bytes), y2: y(map.arena_bytes) }, pic);
  svg("text", { x: left - 6, y: top + 4, "text-anchor": "end" }, pic, bytes(map.arena_bytes));
  curve(pic, x, width);
  const p = x(map.peak.instruction + 0.5);
  svg("line", { class: "peak", x1: p, x2: p, y1: 10, y2: top + height }, pic);
  const end = p > width - 150;
  svg("text", { class: "peak-label", x: p + (end ? -5 : 5), y: 10, "text-anchor": end ? "end" : "start" }, pic, "peak " + bytes(map.peak.bytes));
  pic.addEventListener("click", (e) => {
    const i = e.target.getAttribute("data-group");
    if (i !== null) show(+i, true);
  });
  marked(pic);
  return pic;
}

// outline is the rectangles of a group; thin ones lie on whole pixels, so that what is
// full looks full.
function outline(g, x, y, thin) {
  let d = "";
  for (let k = 0; k < g.count; k++) {
    const from = x(g.from + k * (g.step_from || 0)), until = x(g.until + k * (g.step_until || 0));
    const at = g.at + k * (g.step_at || 0);
    let low = y(at), high = y(at + g.bytes);
    if (thin) {
      high = Math.floor(high);
      low = Math.max(high + 1, Math.floor(low));
    }
    d += `M${from.toFixed(2)} ${low.toFixed(2)}H${until.toFixed(2)}V${high.toFixed(2)}H${from.toFixed(2)}Z`;
  }
  return d;
}

// curve is how much is live, over the map.
function curve(pic, x, width) {
  const n = map.live_bytes.length, h = (v) => live - (v / map.arena_bytes) * (live - 14);
  let d = `M${left} ${live}`;
  for (let i = 0; i < n; i++) {
    const a = x((i * map.instructions) / n).toFixed(1), b = x(((i + 1) * map.instructions) / n).toFixed(1), v = h(map.live_bytes[i]).toFixed(1);
    d += `L${a} ${v}L${b} ${v}`;
  }
  svg("path", { class: "live", d: d + `L${width - 1} ${live}Z` }, pic);
  svg("text", { x: left - 6, y: live, "text-anchor": "end" }, pic, "live");
}

// show tells of a group, and goes to its line.
function show(i, go) {
  now = i;
  const g = map.groups[i], s = map.sites[g.site];
  const parts = [html("b", { textContent: bytes(g.bytes) }), ` ${g.space}: `, html("code", { textContent: s.name + " " + s.type })];
  if (s.module) parts.push(" in ", html("b", { textContent: s.module }));
  if (s.source) parts.push(" ", html("code", { textContent: s.source }));
  parts.push(`, instructions ${g.from} to ${g.until}, from byte ${g.at} on`);
  if (g.count > 1) parts.push(`; the first of ${g.count} alike`);
  byID("memory-detail").replaceChildren(...parts);
  choose(go && s.source ? lineOf(s.source) : "");
  marked(byID("memory-map").firstChild);
}

// marked shows which rectangles are of the line, and which one is shown.
function marked(pic) {
  let any = false;
  for (const e of pic.querySelectorAll(".v")) {
    const i = +e.getAttribute("data-group"), hit = line !== "" && lineOf(map.sites[map.groups[i].site].source) === line;
    any = any || hit;
    e.classList.toggle("hit", hit || i === now);
    e.classList.toggle("now", i === now);
  }
  pic.classList.toggle("chosen", any || now >= 0);
}

if (map) {
  drawn("memory-map", memory);
  const order = map.groups.map((_, i) => i).sort((a, b) => map.groups[a].from - map.groups[b].from || map.groups[a].at - map.groups[b].at);
  byID("memory-map").addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (step) {
      const n = order.indexOf(now);
      show(order[(n + step + order.length) % order.length], false);
      e.preventDefault();
    } else if (e.key === "Enter" && now >= 0) {
      show(now, true);
    } else if (e.key === "Escape") {
      now = -1;
      choose("");
    }
  });
  chosen.push((to) => {
    if (now >= 0 && lineOf(map.sites[map.groups[now].site].source) !== to && to !== "") now = -1;
    if (byID("memory-map").firstChild) marked(byID("memory-map").firstChild);
  });
}
