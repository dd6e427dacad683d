"use strict";
// Draws what Python put into #data: charts, matrices and strips by Plotly, scenes on a canvas.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const colour = (role) => getComputedStyle(root).getPropertyValue(`--${role}`).trim();
  const unpack = (packed) => {
    const bytes = Uint8Array.from(atob(packed.bdata), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  const settings = {
    responsive: true, displaylogo: false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function layout(chart) {
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line") };
    return {
      margin: { l: 56, r: 10, t: 24, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("ink"), size: 12 },
      hovermode: "x unified", showlegend: (chart.curves || []).length > 1,
      hoverlabel: { bgcolor: colour("panel") },
      modebar: { bgcolor: colour("panel"), color: colour("quiet"), activecolor: colour("first") },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      // Each makes room on its own side only: labels that overhang at another one, or turn where
      // it is narrow, change the room that they are given, and so on without end.
      xaxis: { ...axis, automargin: "bottom", tickangle: 0,
        title: { text: chart.x_unit || "", standoff: 4 } },
      yaxis: { ...axis, automargin: "left", title: { text: chart.unit || "", standoff: 4 } },
    };
  }

  function traces(chart) {
    const found = [];
    for (const curve of chart.curves) {
      const x = unpack(curve.x), y = unpack(curve.y), shade = colour(curve.role);
      const shape = curve.steps ? "hv" : "linear";
      if (curve.band) {
        const half = unpack(curve.band);
        const edge = (sign) => Array.from(y, (v, i) => v + sign * half[i]);
        const hidden = { x, mode: "lines", line: { width: 0, shape }, hoverinfo: "skip",
          showlegend: false };
        found.push({ ...hidden, y: edge(-1) },
          { ...hidden, y: edge(1), fill: "tonexty", fillcolor: shade + "33" });
      }
      const mode = curve.dots ? "markers" : curve.marks ? "lines+markers" : "lines";
      found.push({ x, y, name: curve.name, mode,
        connectgaps: false, marker: { color: shade, size: x.length > 200 ? 3.5 : 6 },
        line: { color: shade, width: 1.6, shape, dash: curve.dashed ? "dash" : "solid" } });
    }
    return found;
  }

  function drawChart(chart, place) {
    const plan = layout(chart);
    if (chart.logarithmic) plan.yaxis.type = "log";
    if (chart.logarithmic_x) {
      const ticks = [...new Set(chart.curves.flatMap((curve) => Array.from(unpack(curve.x))))];
      const ticktext = ticks.map((x) => `${+x.toPrecision(6)}`);
      Object.assign(plan.xaxis, { type: "log", tickvals: ticks, ticktext });
    }
    if (chart.y_range) {
      plan.yaxis.range = chart.logarithmic ? chart.y_range.map(Math.log10) : chart.y_range;
    }
    if (chart.equal) {
      plan.yaxis.scaleanchor = "x";
      plan.hovermode = "closest";
      place.style.height = "36rem";
    }
    const line = { xref: "paper", x0: 0, x1: 1, type: "line" };
    plan.shapes = chart.limits.map((y) => ({ ...line, y0: y, y1: y,
      line: { color: colour("quiet"), width: 1, dash: "dot" } }));
    for (const [x] of chart.events) {
      plan.shapes.push({ type: "line", yref: "paper", y0: 0, y1: 1, x0: x, x1: x,
        line: { color: colour("quiet"), width: 1, dash: "dash" } });
    }
    plan.annotations = chart.events.map(([x, text]) => ({ x, text, yref: "paper", y: 1,
      showarrow: false, xanchor: "left", bgcolor: colour("panel"),
      font: { color: colour("quiet"), size: 11 } }));
    Plotly.react(place, traces(chart), plan, settings);
    // Said aloud by screen readers and shown where nothing can be drawn.
    if (!chart.curves.length) place.textContent = "nothing was recorded";
  }

  function drawIntervals(chart, place) {
    const plan = layout({ x_unit: chart.unit });
    place.style.setProperty("--rows", chart.names.length);
    plan.hovermode = "closest";
    plan.yaxis.autorange = "reversed";
    plan.yaxis.type = "category";
    plan.yaxis.categoryarray = chart.names;
    plan.xaxis.nticks = 6;
    if (chart.truth !== null) {
      plan.shapes = [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: chart.truth,
        x1: chart.truth, line: { color: colour("truth"), width: 1.4, dash: "dash" } }];
    }
    Plotly.react(place, [{ type: "scatter", mode: "markers", x: chart.values, y: chart.names,
      name: chart.unit, marker: { color: colour("first"), size: 9 },
      error_x: { type: "data", array: chart.half_widths, symmetric: chart.below === null,
        arrayminus: chart.below, color: colour("first"), width: 6 } }],
      plan, settings);
  }

  function drawMatrix(chart, place) {
    const plan = layout(chart);
    plan.hovermode = "closest";
    plan.yaxis.autorange = "reversed";
    plan.xaxis.type = plan.yaxis.type = "category"; // names may be numbers
    plan.margin.l = 80;
    plan.xaxis.tickangle = "auto"; // names may be long
    const [low, high] = chart.limits;
    const scale = low < 0
      ? [[0, colour("second")], [0.5, colour("panel")], [1, colour("first")]]
      : [[0, colour("panel")], [1, colour("first")]];
    Plotly.react(place, [{ type: "heatmap", z: chart.values, x: chart.columns, y: chart.rows,
      zmin: low, zmax: high, colorscale: scale, showscale: false, xgap: 2, ygap: 2,
      texttemplate: "%{z:.2f}", hoverongaps: false }], plan, settings);
  }

  function drawStrips(chart, place) {
    const x = Array.from(unpack(chart.x)), plan = layout({ x_unit: "time, s" });
    plan.yaxis.autorange = "reversed";
    plan.hovermode = "closest";
    // One time more than cells: a cell lasts from its time to the next one. Were there as many,
    // they would be middles, and the last cell would go on after the end of the run.
    const cells = Math.max(x.length - 1, 1);
    if (x.length === 1) x.push(x[0]);
    Plotly.react(place, [{ type: "heatmap", x, y: chart.names,
      z: chart.holds.map((row) => Array.from(unpack(row)).slice(0, cells)), zmin: 0, zmax: 1,
      ygap: 3,
      colorscale: [[0, colour("line")], [1, colour("third")]], showscale: false }],
      plan, settings);
  }

  // Scenes.
  function makeScene(scene, place) {
    const canvas = document.createElement("canvas");
    place.append(canvas);
    const tools = place.parentElement.querySelector(".tools");
    const play = tools.querySelector(".play"), at = tools.querySelector(".at");
    const speed = tools.querySelector(".speed"), said = tools.querySelector("output");
    const time = unpack(scene.time), pose = scene.pose.map(unpack);
    const reference = scene.reference && scene.reference.map(unpack);
    const paths = scene.paths.map((p) => ({ ...p, places: p.places.map(unpack) }));
    const end = time.length ? time[time.length - 1] : 0, begin = time.length ? time[0] : 0;
    let now = end, running = false, before = 0, zoom = 1, shift = [0, 0];

    const box = [Infinity, Infinity, -Infinity, -Infinity];
    const grow = (x, y, room) => {
      if (!Number.isFinite(x) || !Number.isFinite(y)) return;
      box[0] = Math.min(box[0], x - room); box[1] = Math.min(box[1], y - room);
      box[2] = Math.max(box[2], x + room); box[3] = Math.max(box[3], y + room);
    };
    const reach = Math.max(...scene.silhouette.flat().map(([x, y]) => Math.hypot(x, y)), 0.1);
    for (let i = 0; i < time.length; i += 1) grow(pose[0][i], pose[1][i], 1.2 * reach);
    for (const p of paths) p.places[0].forEach((x, i) => grow(x, p.places[1][i], 0.3 * reach));
    if (scene.arena) {
      grow(-scene.arena[0] / 2, -scene.arena[1] / 2, 0.1);
      grow(scene.arena[0] / 2, scene.arena[1] / 2, 0.1);
    }
    if (!Number.isFinite(box[0])) grow(0, 0, 1);

    const index = () => {
      let low = 0, high = time.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (time[middle] <= now) low = middle; else high = middle - 1;
      }
      return low;
    };
    function draw() {
      const ratio = window.devicePixelRatio || 1;
      const width = place.clientWidth, height = place.clientHeight;
      canvas.width = width * ratio; canvas.height = height * ratio;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const scale = zoom * Math.min(width / (box[2] - box[0]), height / (box[3] - box[1]));
      const middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
      const place2 = (x, y) => [width / 2 + (x - middle[0]) * scale + shift[0],
        height / 2 - (y - middle[1]) * scale + shift[1]];
      const stroke = (xs, ys, count, shade, thick, dash) => {
        pen.beginPath(); pen.setLineDash(dash || []);
        for (let i = 0; i < count; i += 1) {
          const [px, py] = place2(xs[i], ys[i]);
          if (i) pen.lineTo(px, py); else pen.moveTo(px, py);
        }
        pen.strokeStyle = shade; pen.lineWidth = thick; pen.stroke(); pen.setLineDash([]);
      };
      drawGrid(pen, place2, box, width, height, scale);
      if (scene.arena) {
        const [a, b] = scene.arena.map((s) => s / 2);
        stroke([-a, a, a, -a, -a], [-b, -b, b, b, -b], 5, colour("ink"), 1.5);
      }
      for (const p of paths) {
        const wide = p.role === "wanted";
        pen.globalAlpha = wide ? 0.3 : 1;
        stroke(p.places[0], p.places[1], p.places[0].length, colour(p.role), wide ? 6 : 1.4);
        pen.globalAlpha = 1;
      }
      if (!time.length) return;
      const i = index();
      stroke(pose[0], pose[1], i + 1, colour("first"), 2.2);
      if (reference && Number.isFinite(reference[0][i])) {
        outline(pen, place2, reference.map((r) => r[i]), null);
      }
      outline(pen, place2, pose.map((p) => p[i]), scene.colour);
      said.textContent = `${now.toFixed(2)} s`;
      at.value = end > begin ? String(1000 * (now - begin) / (end - begin)) : "0";
    }
    function outline(pen, place2, [x, y, turn], shade) {
      const c = Math.cos(turn), s = Math.sin(turn);
      scene.silhouette.forEach((polygon, number) => {
        pen.beginPath();
        polygon.forEach(([a, b], i) => {
          const [px, py] = place2(x + c * a - s * b, y + s * a + c * b);
          if (i) pen.lineTo(px, py); else pen.moveTo(px, py);
        });
        pen.closePath();
        if (!shade) {
          if (number === 0) {
            pen.setLineDash([4, 3]); pen.strokeStyle = colour("wanted"); pen.lineWidth = 1;
            pen.stroke(); pen.setLineDash([]);
          }
          return;
        }
        pen.fillStyle = number === 0 ? `rgb(${shade.join(",")})`
          : number === 1 ? colour("paper") : colour("ink");
        pen.globalAlpha = number === 0 ? 0.85 : 1;
        pen.fill(); pen.globalAlpha = 1;
      });
    }
    function tick(stamp) {
      if (!running) return;
      now = Math.min(now + (stamp - before) / 1000 * Number(speed.value), end);
      before = stamp;
      if (now >= end) toggle();
      draw();
      if (running) requestAnimationFrame(tick);
    }
    function toggle() {
      running = !running;
      play.textContent = running ? "❚❚" : "▶";
      if (!running) return;
      if (now >= end) now = begin;
      before = performance.now();
      requestAnimationFrame(tick);
    }
    function closer(factor) {
      zoom = Math.min(50, Math.max(0.5, zoom * factor));
      draw();
    }
    play.addEventListener("click", toggle);
    tools.querySelector(".closer").addEventListener("click", () => closer(1.5));
    tools.querySelector(".farther").addEventListener("click", () => closer(1 / 1.5));
    at.addEventListener("input", () => {
      now = begin + (end - begin) * Number(at.value) / 1000;
      draw();
    });
    place.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // scrolling stays scrolling
      event.preventDefault();
      closer(Math.exp(-event.deltaY / 400));
    }, { passive: false });
    let held = null;
    place.addEventListener("pointerdown", (e) => { held = [e.clientX, e.clientY]; });
    window.addEventListener("pointerup", () => { held = null; });
    window.addEventListener("pointermove", (e) => {
      if (!held) return;
      shift = [shift[0] + e.clientX - held[0], shift[1] + e.clientY - held[1]];
      held = [e.clientX, e.clientY];
      draw();
    });
    place.addEventListener("dblclick", () => { zoom = 1; shift = [0, 0]; draw(); });
    new ResizeObserver(draw).observe(place);
    return { draw, toggle, closer, state: () => ({ now, running, begin, end, zoom }),
      last: time.length ? pose.map((p) => p[time.length - 1]) : null };
  }
  function drawGrid(pen, place2, box, width, height, scale) {
    let step = 10 ** Math.ceil(Math.log10(40 / scale));
    if (step * scale > 200) step /= 5; else if (step * scale > 100) step /= 2;
    pen.strokeStyle = colour("line"); pen.lineWidth = 1; pen.fillStyle = colour("quiet");
    pen.font = "11px sans-serif";
    const span = 40;
    const reachX = width / scale, reachY = height / scale;
    const text = (value) => `${Number(value.toPrecision(6))} m`;
    for (let k = Math.floor((box[0] - reachX) / step); k * step < box[2] + reachX; k += 1) {
      const [x] = place2(k * step, 0);
      if (x < 0 || x > width) continue;
      pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, height); pen.stroke();
      if (x > span) pen.fillText(text(k * step), x + 3, height - 4);
    }
    for (let k = Math.floor((box[1] - reachY) / step); k * step < box[3] + reachY; k += 1) {
      const [, y] = place2(0, k * step);
      if (y < 0 || y > height) continue;
      pen.beginPath(); pen.moveTo(0, y); pen.lineTo(width, y); pen.stroke();
      if (y < height - 20) pen.fillText(text(k * step), 3, y - 3);
    }
  }

  // One look, light or dark.
  const scenes = {};
  const draws = { chart: drawChart, intervals: drawIntervals, matrix: drawMatrix,
    strips: drawStrips };
  function drawAll() {
    for (const chart of data.charts) {
      const place = document.getElementById(chart.key);
      if (chart.kind === "scene") {
        scenes[chart.key] ??= makeScene(chart, place);
        scenes[chart.key].draw();
      } else {
        draws[chart.kind](chart, place);
      }
    }
  }
  function setTheme(dark) {
    root.classList.toggle("dark", dark);
    drawAll();
  }
  const wish = window.matchMedia("(prefers-color-scheme: dark)");
  wish.addEventListener("change", () => setTheme(wish.matches));
  document.getElementById("theme").addEventListener("click", () =>
    setTheme(!root.classList.contains("dark")));

  // Charts of one group zoom together.
  function link() {
    const groups = {};
    for (const chart of data.charts) {
      if (chart.group) (groups[chart.group] ??= []).push(document.getElementById(chart.key));
    }
    for (const places of Object.values(groups)) {
      let busy = false;
      for (const place of places) {
        if (!place.on) continue;
        place.on("plotly_relayout", (change) => {
          const range = change["xaxis.range"]
            || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
          const whole = change["xaxis.autorange"];
          if (busy || (range[0] === undefined && !whole)) return;
          busy = true;
          const update = whole ? { "xaxis.autorange": true } : { "xaxis.range": range };
          Promise.all(places.filter((p) => p !== place && p.on)
            .map((p) => Plotly.relayout(p, update))).finally(() => { busy = false; });
        });
      }
    }
  }

  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON", "TEXTAREA"].includes(event.target.tagName)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const first = Object.values(scenes)[0];
    if (event.key === "d") setTheme(!root.classList.contains("dark"));
    if (event.key === " " && first) { event.preventDefault(); first.toggle(); }
    if (event.key === "+" && first) first.closer(1.5);
    if (event.key === "-" && first) first.closer(1 / 1.5);
  });

  // Rows that hold all the words in the field above them.
  for (const label of document.querySelectorAll(".filter")) {
    const field = label.querySelector("input"), said = label.querySelector("output");
    const rows = [...label.parentElement.querySelectorAll("tbody tr")];
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let count = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        count += row.hidden ? 0 : 1;
      }
      said.textContent = `${count} of ${rows.length}`;
    };
    field.addEventListener("input", filter);
    filter();
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => {
      const text = button.closest("figure").querySelector("pre");
      const done = () => {
        button.textContent = "copied";
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      };
      const select = () => {
        window.getSelection().selectAllChildren(text);
        document.execCommand("copy");
        done();
      };
      // A page from a file may not have the clipboard's interface.
      if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(done, select);
      else select();
    });
  }
  window.addEventListener("beforeprint", () => setTheme(false));
  setTheme(wish.matches);
  link();
  window.diffbot = { data, scenes };
  document.body.dataset.drawn = "true";
})();
