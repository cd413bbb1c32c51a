// The timeline of a pipeline: a row for each device.
const time = report.timeline;

// looks is how a task looks: forward, backward, or the gradients of weights alone.
const looks = (name) => (name.startsWith("forward") ? "forward" : name.startsWith("backward_weight") ? "weight" : "backward");

function gantt(width) {
  const names = Math.max(...time.rows.map((r) => r.device.length)) * 6.4 + 12;
  const unit = Math.max(time.end > 400 ? 3 : 9, (width - names - 1) / time.end), row = 26;
  const pic = frame(Math.ceil(names + unit * time.end + 1), time.rows.length * row + 22);
  const hatch = svg("pattern", { id: "idle-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("defs", {}, pic));
  svg("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 6 }, hatch);
  time.rows.forEach((r, n) => {
    const y = n * row;
    svg("text", { x: 0, y: y + 16 }, pic, r.device);
    svg("rect", { x: names, y: y + 1, width: unit * time.end, height: row - 4, fill: "url(#idle-hatch)" }, pic);
    for (const [task, micro, from, until] of r.slots) {
      const w = unit * (until - from);
      const e = svg("rect", { class: "v slot " + looks(time.tasks[task]), x: names + unit * from, y: y + 1, width: w, height: row - 4 }, pic);
      svg("title", {}, e, `${time.tasks[task]} of microbatch ${micro}, ${from} to ${until}`);
      const text = "FBIW"[["forward", "backward", "backward_input", "backward_weight"].indexOf(time.tasks[task].replace(/_\d+$/, ""))] + micro;
      if (w > text.length * 7 + 4) svg("text", { class: "on", x: names + unit * from + w / 2, y: y + 16, "text-anchor": "middle", "pointer-events": "none" }, pic, text);
    }
  });
  const bottom = time.rows.length * row + 13;
  for (const v of steps(time.end, Math.max(4, width / 90), false)) {
    if (unit * (time.end - v) > 30 || v === 0) svg("text", { x: names + unit * v, y: bottom }, pic, v);
  }
  svg("text", { x: names + unit * time.end, y: bottom, "text-anchor": "end" }, pic, time.end);
  return pic;
}

if (time) drawn("gantt", gantt);
