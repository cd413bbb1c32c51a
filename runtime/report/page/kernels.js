// Kernels by intensity: under the roofline where there is one, else by their work. Where a run
// was measured, a ring is what each reached.
const measured = report.measured;
const times = new Map(measured ? measured.kernels.map((m) => [plan.kernels[m.kernel], m]) : []);
const kernels = plan.kernels.filter((k) => k.launches_per_step > 0 && k.bytes > 0 && k.flops > 0);
const roof = plan.roofline || (measured && measured.roofline);
const intensity = (k) => k.flops / k.bytes;
const weigh = (k) => (measured ? (times.has(k) ? times.get(k).ms_per_step : 0) : k.launches_per_step * (roof ? k.least_ms : k.bytes));
const allowed = (k) => Math.min(roof.flops_per_s, intensity(k) * roof.bytes_per_s, k.least_ms ? (1e3 * k.flops) / k.least_ms : Infinity);
const reached = (k) => (roof ? allowed(k) : k.flops * k.launches_per_step);
const rings = roof ? kernels.filter((k) => times.has(k) && times.get(k).flops_per_s > 0) : [];

// decades are the powers of ten around values.
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values)) - 0.05), high = Math.ceil(Math.log10(Math.max(...values)) + 0.05);
  return [low, Math.max(high, low + 1)];
}

function roofline(width) {
  const height = Math.round(Math.min(380, Math.max(220, width * 0.34))), top = 12, left = 82, right = 22, bottom = 36;
  const pic = frame(width, height);
  if (!kernels.length) {
    svg("text", { x: 0, y: 20 }, pic, "No kernel computes anything.");
    return pic;
  }
  const xs = kernels.map(intensity).concat(roof ? [roof.flops_per_s / roof.bytes_per_s] : []);
  const [x0, x1] = decades(xs), [y0, y1] = decades(kernels.map(reached).concat(rings.map((k) => times.get(k).flops_per_s), roof ? [roof.flops_per_s] : []));
  const x = (v) => left + ((Math.log10(v) - x0) / (x1 - x0)) * (width - left - right);
  const y = (v) => height - bottom - ((Math.log10(v) - y0) / (y1 - y0)) * (height - bottom - top);
  for (let e = x0; e <= x1; e++) {
    svg("line", { class: "grid", x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: height - bottom }, pic);
    svg("text", { x: x(10 ** e), y: height - bottom + 16, "text-anchor": "middle" }, pic, e < 0 ? (10 ** e).toFixed(-e) : count(10 ** e, "").trim());
  }
  const every = Math.ceil((y1 - y0) / 7);
  for (let e = y0; e <= y1; e += every) {
    svg("line", { class: "grid", x1: left, x2: width - right, y1: y(10 ** e), y2: y(10 ** e) }, pic);
    svg("text", { x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, pic, e < 0 ? "" : count(10 ** e, roof ? "FLOP/s" : "FLOP").replace(/\.\d+/, ""));
  }
  svg("text", { x: width - right, y: height - 4, "text-anchor": "end" }, pic, "FLOP per byte");
  if (roof) {
    const ridge = roof.flops_per_s / roof.bytes_per_s, from = Math.max(10 ** x0, 10 ** y0 / roof.bytes_per_s);
    svg("path", { class: "roof", d: `M${x(from)} ${y(from * roof.bytes_per_s)}L${x(ridge)} ${y(roof.flops_per_s)}H${width - right}` }, pic);
  }
  const all = kernels.reduce((n, k) => n + weigh(k), 0);
  const order = [...kernels].sort((a, b) => weigh(b) - weigh(a));
  for (const k of rings) {
    svg("line", { class: "reach", x1: x(intensity(k)), x2: x(intensity(k)), y1: y(reached(k)), y2: y(times.get(k).flops_per_s) }, pic);
  }
  for (const k of order) {
    const e = svg("circle", { class: "v " + looksOf(k.class), cx: x(intensity(k)), cy: y(reached(k)), r: rings.length ? 2.5 : Math.max(2.5, 34 * Math.sqrt(weigh(k) / all)), "data-kernel": plan.kernels.indexOf(k), "fill-opacity": 0.75 }, pic);
    svg("title", {}, e, k.name);
    if (!rings.includes(k)) continue;
    const ring = svg("circle", { class: "v ring " + looksOf(k.class), cx: x(intensity(k)), cy: y(times.get(k).flops_per_s), r: Math.max(3, 34 * Math.sqrt(weigh(k) / all)), "data-kernel": plan.kernels.indexOf(k) }, pic);
    svg("title", {}, ring, `${k.name}, measured`);
  }
  pic.addEventListener("click", (e) => {
    const i = e.target.getAttribute("data-kernel");
    if (i !== null) showKernel(plan.kernels[i]);
  });
  return pic;
}

// looksOf is the color of a kernel's class: products, attention, and all else.
const looksOf = (name) => (/gemm|product|horizontal/.test(name) ? "params" : /attention/.test(name) ? "optimizer" : "activations");

function showKernel(k) {
  const out = [html("b", { textContent: k.name }), ` (${k.class}): ${k.launches_per_step} launches of ${count(k.flops, "FLOP")} and ${bytes(k.bytes)}, ${digits(intensity(k))} FLOP per byte`];
  if (roof && k.least_ms) out.push(`, at least ${digits(1e3 * k.least_ms)} µs each`);
  const m = times.get(k);
  if (m) out.push(`, measured ${digits(1e3 * m.launch_ms)} µs each${m.roofline_share ? `, ${percent(m.roofline_share)} of the roofline` : ""}, ${percent(m.share_of_step)} of a step of rank ${m.rank}`);
  if (k.where.length) out.push(`, for ${k.where[0].module || "the step"} `, html("code", { textContent: k.where[0].source }));
  byID("kernel-detail").replaceChildren(...out);
  if (k.where.length && k.where[0].source) choose(lineOf(k.where[0].source));
}

const ofLine = (k, to) => to !== "" && k.where.some((w) => lineOf(w.source) === to);

drawn("roofline", roofline);
chosen.push((to) => {
  for (const e of document.querySelectorAll("[data-kernel]")) {
    const hit = ofLine(plan.kernels[e.getAttribute("data-kernel")], to);
    e.classList.toggle("hit", hit);
    if (e.tagName === "circle") e.classList.toggle("now", hit);
  }
});
