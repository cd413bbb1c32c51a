"use strict";
(() => {
  const plan = JSON.parse(document.getElementById("document").textContent);
  const byID = (id) => document.getElementById(id);
  const most = 4096; // steps that are kept; of more, every other one is forgotten
  let start = null, steps = [], validations = [], last = null, ended = false, drawing = false, every = 1;

  function svg(name, attributes, parent, text) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  }

  function html(name, properties, ...children) {
    const e = Object.assign(document.createElement(name), properties);
    e.append(...children);
    return e;
  }

  const short = (v) => (v === null || v === undefined ? "–" : Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(4)));

  // behind is the metrics of a train block as they stand behind a loss.
  const behind = (metrics) => Object.entries(metrics || {}).map(([name, v]) => `, ${name} ${short(v)}`).join("");

  function count(v) {
    if (v === null || v === undefined) return "–";
    if (v === 0) return "0";
    let unit = "";
    for (const u of ["k", "M", "G", "T", "P"]) {
      if (v < 1000) break;
      v /= 1000;
      unit = u;
    }
    return v.toPrecision(3) + unit;
  }

  // bytes is a size as the report writes it.
  function bytes(n) {
    let unit = "B";
    for (const u of ["KiB", "MiB", "GiB", "TiB"]) {
      if (n < 1024) break;
      n /= 1024;
      unit = u;
    }
    return n.toPrecision(3) + " " + unit;
  }

  // median is robust where a step waited for something.
  function median(list) {
    const s = [...list].sort((a, b) => a - b);
    return s.length ? s[s.length >> 1] : null;
  }

  function figures() {
    const ms = median(steps.slice(-50).map((s) => s.ms).filter((v) => v !== null));
    const rows = [["step", last ? `${last.step} of ${start ? start.last_step : "?"}` : "–"], ["a step takes", ms === null ? "–" : short(ms) + " ms"]];
    if (plan.least_ms > 0) {
      rows.push(["predicted at least", short(plan.least_ms) + " ms"]);
      if (ms) rows.push(["predicted of measured", ((100 * plan.least_ms) / ms).toFixed(1) + "%"]);
    }
    if (start && start.peak_flops && start.flops_per_step && ms) rows.push(["share of peak", ((100 * start.flops_per_step) / (ms / 1e3) / start.peak_flops).toFixed(1) + "%"]);
    if (start && start.flops_per_step && ms) rows.push(["arithmetic", count(start.flops_per_step / (ms / 1e3)).replace(/([kMGTP]?)$/, " $1FLOP/s")]);
    if (plan.arena_bytes > 0) rows.push(["memory of a device", bytes(plan.arena_bytes)]);
    if (plan.idle_share > 0) rows.push(["pipeline idle, predicted", (100 * plan.idle_share).toFixed(1) + "%"]);
    if (ms && start && last && !ended && start.last_step > last.step) {
      const s = Math.round(((start.last_step - last.step) * ms) / 1e3);
      rows.push(["left", s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min` : s >= 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s} s`]);
    }
    byID("figures").replaceChildren(...rows.map(([name, value]) => html("div", {}, html("dt", { textContent: name }), html("dd", { textContent: value }))));
  }

  // waits draws a bar for each rank, of steps that were told of late.
  function waits() {
    const recent = steps.slice(-20).filter((s) => s.wait_ms), ranks = recent.length ? recent[recent.length - 1].wait_ms.length : 0;
    byID("waits").hidden = ranks === 0;
    if (ranks === 0) return;
    const all = Array.from({ length: ranks }, (_, r) => median(recent.map((s) => s.wait_ms[r])));
    const least = Math.min(...all), most = Math.max(...all), slowest = most > least ? all.indexOf(least) : -1;
    const step = median(recent.map((s) => s.ms).filter((v) => v !== null));
    byID("waits-now").textContent = slowest < 0 ? short(most) + " ms" : `${short(least)} to ${short(most)} ms, the slowest is rank ${slowest}`;
    byID("ranks").replaceChildren(...all.map((v, r) => {
      const bar = html("i", {});
      bar.style.width = `${most ? (90 * v) / most : 0}%`;
      const name = html("th", { scope: "row", className: "n", textContent: r });
      return html("tr", { className: r === slowest ? "slowest" : "" }, name, html("td", { className: "n", textContent: short(v) }),
        html("td", { className: "n", textContent: step ? ((100 * v) / step).toFixed(1) + "%" : "–" }), html("td", { className: "bar" }, bar, r === slowest ? "slowest" : ""));
    }));
  }

  // ticks are about four round numbers around a range.
  function ticks(low, high) {
    const raw = (high - low) / 4, ten = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 2.5, 5, 10].find((n) => n * ten >= raw * 0.999) * ten;
    const out = [];
    for (let n = Math.floor(low / step + 1e-9); ; n++) {
      out.push(n * step);
      if (n * step >= high - step * 1e-9) return out;
    }
  }

  // curve draws values over steps, upwards from zero where that says more; what is not
  // finite leaves a gap.
  function curve(id, value, more, zero) {
    const place = byID(id), width = Math.max(200, place.clientWidth), height = 220, left = 58, bottom = 20, top = 8;
    const pic = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const all = steps.map(value).concat(more.map((v) => v.val_loss)).filter((v) => v !== null && v !== undefined);
    if (all.length) {
      let low = Math.min(...all), high = Math.max(...all);
      if (zero) low = Math.min(0, low);
      if (high === low) { high += Math.abs(high) / 10 || 1; low -= Math.abs(low) / 10; }
      const at = ticks(low, high);
      low = at[0];
      high = at[at.length - 1];
      const from = steps.length ? steps[0].step : more[0].step, to = Math.max(from + 1, last ? last.step : from + 1);
      const x = (s) => left + ((s - from) / (to - from)) * (width - left - 6), y = (v) => height - bottom - ((v - low) / (high - low)) * (height - bottom - top);
      for (const v of at) {
        svg("line", { class: "grid", x1: left, x2: width, y1: y(v), y2: y(v) }, pic);
        svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, pic, id === "rate" ? count(v) : short(v));
      }
      svg("text", { x: left, y: height - 4 }, pic, from);
      svg("text", { x: width - 2, y: height - 4, "text-anchor": "end" }, pic, to);
      let d = "", pen = "M";
      for (const s of steps) {
        const v = value(s);
        if (v === null || v === undefined) { pen = "M"; continue; }
        d += `${pen}${x(s.step).toFixed(1)} ${y(v).toFixed(1)}`;
        pen = "L";
      }
      svg("path", { class: "curve params", d }, pic);
      for (const v of more) if (v.val_loss !== null) svg("circle", { class: "dot grads", cx: x(v.step), cy: y(v.val_loss), r: 3.5 }, pic);
    }
    place.replaceChildren(pic);
  }

  function draw() {
    drawing = false;
    figures();
    waits();
    curve("loss", (s) => s.loss, validations, false);
    curve("rate", (s) => s.tokens_per_s, [], true);
    curve("lr", (s) => s.lr, [], true);
    curve("norm", (s) => s.grad_norm, [], true);
    if (last) {
      const v = validations.length ? `, validation ${short(validations[validations.length - 1].val_loss)}${behind(validations[validations.length - 1].metrics)}` : "";
      byID("loss-now").textContent = short(last.loss) + behind(last.metrics) + v;
      byID("rate-now").textContent = count(last.tokens_per_s);
      byID("lr-now").textContent = short(last.lr);
      byID("norm-now").textContent = short(last.grad_norm);
      byID("progress").value = start && start.last_step > 0 ? last.step / start.last_step : 0;
      if (!ended) byID("state").replaceChildren("Step ", html("b", { textContent: last.step }), ": loss ", html("b", { textContent: short(last.loss) }), `${v}.`);
    }
    byID("steps").replaceChildren(...steps.slice(-20).reverse().map((s) => html("tr", {}, ...[s.step, short(s.loss), short(s.grad_norm), short(s.lr), short(s.ms), count(s.tokens_per_s)].map((t) => html("td", { className: "n", textContent: t })))));
  }

  function soon() {
    if (!drawing) {
      drawing = true;
      setTimeout(() => requestAnimationFrame(draw), 200);
    }
  }

  function told(text) {
    byID("told").prepend(html("li", { textContent: text }));
    while (byID("told").children.length > 100) byID("told").lastChild.remove();
  }

  function take(e) {
    switch (e.event) {
      case "start":
        start = e;
        byID("on").textContent = [e.devices ? ` · ${e.devices} devices` : "", e.params ? ` · ${count(e.params)} parameters` : "", e.on ? ` · ${e.on}` : ""].join("");
        if (e.data) told(e.data);
        if (e.resumed) told(`resumed from ${e.resumed}`);
        break;
      case "step":
        last = e;
        if (e.step % every === 0 || steps.length < 2) steps.push(e);
        if (steps.length > most) { steps = steps.filter((_, i) => i % 2 === 0); every *= 2; }
        break;
      case "validation":
        validations.push(e);
        told(`step ${e.step}: validation loss ${short(e.val_loss)}${behind(e.metrics)}`);
        break;
      case "checkpoint":
        told(`step ${e.step}: saved ${e.dir}`);
        break;
      case "warning":
        told(`warning: ${e.message}`);
        break;
      case "end":
        ended = true;
        byID("state").replaceChildren("Done: ", html("b", { textContent: e.steps }), " steps, loss ", html("b", { textContent: short(e.loss) }), e.val_loss === null ? "." : `, validation ${short(e.val_loss)}${behind(e.metrics)}.`, e.why ? ` It ${e.why}.` : "");
        break;
    }
    soon();
  }

  const source = new EventSource("/events");
  source.addEventListener("again", () => {
    start = last = null;
    steps = [];
    validations = [];
    ended = false;
    every = 1;
    byID("told").replaceChildren();
  });
  source.addEventListener("message", (e) => take(JSON.parse(e.data)));
  source.addEventListener("done", () => {
    source.close();
    if (!ended) byID("state").textContent = "The run has ended.";
    ended = true;
    soon();
  });
  source.addEventListener("error", () => {
    if (!ended) byID("state").textContent = "The run does not answer.";
  });
  new ResizeObserver(soon).observe(document.body);
})();
