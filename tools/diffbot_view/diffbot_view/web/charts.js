"use strict";
// Curves over time on canvases, with bands; light enough to be drawn while a robot drives.

class Chart {
  // about: {title, unit, series, curves: [{name, column, band, colour, dashed, steps}], zero, limit}
  constructor(parent, about) {
    this.about = about;
    this.figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    this.title = document.createElement("b");
    this.readout = document.createElement("span");
    caption.append(this.title, this.readout);
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.figure.append(caption, this.canvas);
    parent.append(this.figure);
    this.pointer = null;
    this.canvas.addEventListener("pointermove", (event) => { this.pointer = event.offsetX; this.stale = true; });
    this.canvas.addEventListener("pointerleave", () => { this.pointer = null; this.stale = true; });
  }

  // series: rows by name; span: [from, to] in s; limits: dashed lines; cursor: a time, or null.
  draw(series, span, style, limits, cursor) {
    const rows = Chart.between(series[this.about.series] || [], span);
    const extra = this.about.extra ? Chart.between(series[this.about.extra] || [], span) : [];
    const sources = { main: rows, extra };
    const shown = this.about.curves.filter((curve) => Chart.any(sources[curve.from || "main"], curve.column));
    // Parameters in use that do not change are not drawn as a curve.
    const still = !rows.length && extra.length && extra.every((row) => row.every((each, k) => !k || each === extra[0][k]));
    this.figure.hidden = !shown.length || still;
    if (this.figure.hidden) return;
    this.title.textContent = this.about.title;
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const box = { left: 52, right: width - 16, top: 8, bottom: height - 20 };
    const [low, high] = this.range(shown, sources, limits);
    const x = (t) => box.left + (box.right - box.left) * (t - span[0]) / (span[1] - span[0] || 1);
    const y = (v) => box.bottom - (box.bottom - box.top) * (v - low) / (high - low);
    this.axes(pen, box, span, low, high, x, y, style);
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    pen.clip();
    for (const limit of limits || []) Chart.level(pen, box, y(limit), style.bad);
    for (const curve of shown) this.band(pen, sources[curve.from || "main"], curve, x, y, style);
    for (const curve of shown) this.curve(pen, sources[curve.from || "main"], curve, x, y, style);
    const time = this.pointer === null ? cursor : span[0] + (this.pointer - box.left) / (box.right - box.left) * (span[1] - span[0]);
    if (time !== null && time >= span[0] && time <= span[1]) {
      pen.strokeStyle = style.quiet;
      pen.beginPath();
      pen.moveTo(x(time), box.top);
      pen.lineTo(x(time), box.bottom);
      pen.stroke();
    }
    pen.restore();
    this.say(shown, sources, time);
  }

  static between(rows, [from, to]) {
    if (!rows.length || (rows[0][0] >= from && rows[rows.length - 1][0] <= to)) return rows;
    return rows.slice(Math.max(0, Chart.find(rows, from) - 1), Chart.find(rows, to) + 1);
  }

  // Index of the first row that is not before a time.
  static find(rows, time) {
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle][0] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  static any(rows, column) {
    return rows.some((row) => row[column] !== null && row[column] !== undefined);
  }

  // Range of the values; of an estimate only the later two thirds, as it may begin with wild ones.
  range(shown, sources, limits) {
    let low = Infinity, high = -Infinity;
    const take = (value) => { if (value !== null && isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); } };
    for (const curve of shown) {
      const rows = sources[curve.from || "main"];
      const settled = curve.band ? rows.slice(Math.floor(rows.length / 3)) : rows;
      for (const row of settled) take(row[curve.column]);
      const last = rows[rows.length - 1];
      if (curve.band && last && last[curve.band] !== null && last[curve.column] !== null) {
        take(last[curve.column] + 3 * last[curve.band]);
        take(last[curve.column] - 3 * last[curve.band]);
      }
    }
    if (this.about.level !== undefined) take(this.about.level);
    for (const limit of limits || []) if (Math.abs(limit) < 3 * Math.max(Math.abs(low), Math.abs(high))) take(limit);
    if (!isFinite(low)) return [0, 1];
    const least = 0.004 * Math.max(Math.abs(low), Math.abs(high)) || 0.1; // more than the rounding
    const room = Math.max(0.06 * (high - low), 0.5 * (least - (high - low)));
    return [low - room, high + room];
  }

  axes(pen, box, span, low, high, x, y, style) {
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.fillStyle = style.quiet;
    pen.strokeStyle = style.line;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of Chart.ticks(low, high, 5)) {
      pen.beginPath();
      pen.moveTo(box.left, y(value));
      pen.lineTo(box.right, y(value));
      pen.stroke();
      pen.fillText(Chart.text(value), box.left - 6, y(value));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const value of Chart.ticks(span[0], span[1], 6)) pen.fillText(`${Chart.text(value)} s`, x(value), box.bottom + 5);
  }

  static ticks(low, high, count) {
    const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
    return found;
  }

  static text(value) {
    return Math.abs(value) < 1e-12 ? "0" : String(Number(value.toPrecision(6)));
  }

  static level(pen, box, at, colour) {
    pen.strokeStyle = colour;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(box.left, at);
    pen.lineTo(box.right, at);
    pen.stroke();
    pen.setLineDash([]);
  }

  band(pen, rows, curve, x, y, style) {
    if (!curve.band) return;
    const inside = rows.filter((row) => row[curve.band] !== null && row[curve.column] !== null);
    if (inside.length < 2) return;
    pen.beginPath();
    inside.forEach((row, k) => pen[k ? "lineTo" : "moveTo"](x(row[0]), y(row[curve.column] + 1.96 * row[curve.band])));
    for (let k = inside.length - 1; k >= 0; k--) pen.lineTo(x(inside[k][0]), y(inside[k][curve.column] - 1.96 * inside[k][curve.band]));
    pen.closePath();
    pen.globalAlpha = 0.22;
    pen.fillStyle = style[curve.colour];
    pen.fill();
    pen.globalAlpha = 1;
  }

  curve(pen, rows, curve, x, y, style) {
    pen.beginPath();
    let drawing = false, before = null;
    for (const row of rows) {
      const value = row[curve.column];
      if (value === null || value === undefined) { drawing = false; continue; }
      if (!drawing) pen.moveTo(x(row[0]), y(value));
      else {
        if (curve.steps) pen.lineTo(x(row[0]), y(before));
        pen.lineTo(x(row[0]), y(value));
      }
      drawing = true;
      before = value;
    }
    pen.strokeStyle = style[curve.colour];
    pen.lineWidth = 1.7;
    pen.setLineDash(curve.dashed ? [5, 4] : []);
    pen.stroke();
    pen.setLineDash([]);
  }

  say(shown, sources, time) {
    const words = shown.map((curve) => {
      const rows = sources[curve.from || "main"];
      const row = time === null ? rows[rows.length - 1] : rows[Math.min(rows.length - 1, Chart.find(rows, time))];
      const value = row && row[curve.column];
      return value === null || value === undefined ? "" : `${curve.name} ${Number(value.toPrecision(4))}`;
    });
    this.readout.textContent = `${words.filter(Boolean).join("  ")} ${this.about.unit}`;
    this.canvas.setAttribute("aria-label", `${this.about.title}: ${this.readout.textContent}`);
  }
}
