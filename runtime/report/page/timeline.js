// The timeline of a pipeline: a row for each device. In a forecast it is in true time, else in forward passes.
const timing = report.forecast && report.forecast.timing;
const time = timing || report.timeline;

// looks is how a task looks: forward, backward, the gradients of weights alone, or what a step does once.
const looks = (name) => (name.startsWith("forward") ? "forward" : name.startsWith("backward_weight") ? "weight" : name.startsWith("backward") ? "backward" : "once");

// letter is a task's in its slots: none of what a step does once.
const letter = (name) => ({ forward: "F", backward: "B", backward_input: "I", backward_weight: "W" })[name.replace(/_\d+$/, "")];

// when is a time of the timeline in words.
function when(v) {
  if (!timing) return String(v);
  const [unit, name] = time.end < 1e4 ? [1, "ns"] : time.end < 1e7 ? [1e3, "µs"] : time.end < 1e10 ? [1e6, "ms"] : [1e9, "s"];
  return +(v / unit).toPrecision(4) + " " + name;
}

// least is how wide the timeline is at least, so that a slot can be seen.
const least = () => (timing ? 6 * Math.max(...time.rows.map((r) => r.slots.length)) : (time.end > 400 ? 3 : 9) * time.end);

function gantt(width) {
  const names = Math.max(...time.rows.map((r) => r.device.length)) * 6.4 + 12;
  const unit = Math.max(least(), width - names - 1) / time.end, row = 26;
  const pic = frame(Math.ceil(names + unit * time.end + 1), time.rows.length * row + 22);
  const hatch = svg("pattern", { id: "idle-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("defs", {}, pic));
  svg("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 6 }, hatch);
  time.rows.forEach((r, n) => {
    const y = n * row;
    const bar = (from, until, attributes) => svg("rect", { x: names + unit * from, y: y + 1, width: unit * (until - from), height: row - 4, ...attributes }, pic);
    svg("text", { x: 0, y: y + 16 }, pic, r.device);
    bar(0, time.end, { fill: "url(#idle-hatch)" });
    for (const [task, micro, from, until, exposed] of r.slots) {
      const e = bar(from, until, { class: "v slot " + looks(time.tasks[task]) });
      const which = letter(time.tasks[task]) ? ` of microbatch ${micro}` : "", more = exposed ? `, ${when(exposed)} of exposed communication` : "";
      svg("title", {}, e, `${time.tasks[task]}${which}, ${when(from)} to ${when(until)}${more}`);
    }
    for (const [from, until] of r.idle || []) {
      bar(from, until, { class: "gap" });
      bar(from, until, { fill: "url(#idle-hatch)" });
    }
    for (const [task, micro, from, until, exposed] of r.slots) {
      if (exposed) bar(until - exposed, until, { class: "exposed", y: y + row - 6, height: 3 });
      const begin = Math.max(from, ...(r.idle || []).filter((w) => from < w[1] && w[1] <= until).map((w) => w[1]));
      const w = unit * (until - begin), known = letter(time.tasks[task]), text = known ? known + micro : time.tasks[task];
      if (w > text.length * 7 + 4) svg("text", { class: "on", x: names + unit * begin + w / 2, y: y + 16, "text-anchor": "middle", "pointer-events": "none" }, pic, text);
    }
  });
  const bottom = time.rows.length * row + 13;
  for (const v of steps(time.end, Math.max(4, width / 90), false)) {
    if (unit * (time.end - v) > (timing ? 90 : 30) || v === 0) svg("text", { x: names + unit * v, y: bottom }, pic, when(v));
  }
  svg("text", { x: names + unit * time.end, y: bottom, "text-anchor": "end" }, pic, when(time.end));
  return pic;
}

if (time) drawn("gantt", gantt);
