// The source next to the pictures: select a line to see its operations.
const lines = new Map(); // gpt.ptl:63 → {element, values, bytes, kernels}

report.texts.forEach((text, f) => {
  text.text.split("\n").forEach((_, n) => {
    const element = byID(`s${f}-${n + 1}`);
    if (element) lines.set(`${text.name}:${n + 1}`, { element, values: 0, bytes: 0, kernels: 0 });
  });
});

function note(source, kind, n, size) {
  const l = lines.get(lineOf(source));
  if (!l) return;
  l[kind] += n;
  l.bytes += size;
}

if (map) for (const g of map.groups) note(map.sites[g.site].source, "values", g.count, g.count * g.bytes);
for (const k of plan.kernels) for (const w of k.where) note(w.source, "kernels", w.launches_per_step, 0);

const heavy = Math.max(1, ...[...lines.values()].map((l) => l.bytes)) / 12;
for (const [name, l] of lines) {
  if (!l.values && !l.kernels) continue;
  l.element.classList.add("has");
  l.element.classList.toggle("heavy", l.bytes > heavy);
  l.element.tabIndex = 0;
  l.element.setAttribute("role", "button");
  l.element.addEventListener("click", () => { now = -1; choose(name === line ? "" : name); });
  l.element.addEventListener("keydown", (e) => {
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      l.element.click();
    }
  });
}

chosen.push((to) => {
  for (const e of document.querySelectorAll(".code .chosen")) e.classList.remove("chosen");
  const l = lines.get(to);
  if (!l) {
    byID("source-detail").textContent = "Choose a line to see its values and kernels.";
    return;
  }
  l.element.classList.add("chosen");
  l.element.closest("details").open = true;
  const pane = byID("source");
  if (pane.scrollHeight > pane.clientHeight + 1) {
    pane.scrollTop += l.element.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
  }
  byID("source-detail").replaceChildren(html("b", { textContent: to }), `: ${l.values} values of ${bytes(l.bytes)} in all, ${l.kernels} launches.`);
});

for (const a of document.querySelectorAll("a[data-line]")) {
  a.addEventListener("click", (e) => {
    now = -1;
    choose(a.dataset.line);
    if (byID("source").scrollHeight > byID("source").clientHeight + 1) e.preventDefault();
  });
}
