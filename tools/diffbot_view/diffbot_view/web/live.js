"use strict";
// Connects to the view's WebSocket, stores the received data, and draws it.

const byId = (id) => document.getElementById(id);
const state = {}, series = {};
let link = null, linked = false, stale = true, tries = 0, lastWord = 0;

// The connection, which is re-established automatically.

function connect() {
  const secure = location.protocol === "https:" ? "wss" : "ws";
  link = new WebSocket(`${secure}://${location.host}/live${location.search}`);
  link.onmessage = (event) => {
    lastWord = performance.now();
    const told = JSON.parse(event.data);
    if (!linked) { // the first message has all data
      for (const name of Object.keys(series)) delete series[name];
      linked = true;
      tries = 0;
      state.left = false;
      stale = true;
    }
    if (told.state) { Object.assign(state, told.state); stale = true; }
    for (const [name, part] of Object.entries(told.series || {})) {
      const rows = series[name] || (series[name] = []);
      rows.length = part.from;
      for (const row of part.rows) rows.push(row);
      stale = true;
    }
  };
  link.onclose = (event) => {
    linked = false;
    stale = true;
    if (event.code === 1001) state.left = true;
    setTimeout(connect, Math.min(2000, 200 * 2 ** tries++));
  };
}

function ask(command) {
  if (!link || link.readyState !== WebSocket.OPEN) return false;
  link.send(JSON.stringify(command));
  return true;
}

// Buttons.

function pressStop() {
  window.stopPressedAt = Date.now();
  if (!ask({ do: "stop" })) byId("note").textContent = "NOT SENT: there is no connection. Use the robot's own emergency stop.";
}

let sureUntil = 0;
function pressEnable() {
  if (performance.now() < sureUntil) {
    sureUntil = 0;
    ask({ do: "enable" });
  } else sureUntil = performance.now() + 4000;
  stale = true;
}

byId("stop").onclick = pressStop;
byId("enable").onclick = pressEnable;
addEventListener("keydown", (event) => { if (event.key === "Escape") pressStop(); });
byId("pause").onclick = () => ask({ do: "pause", on: true });
byId("resume").onclick = () => ask({ do: "pause", on: false });
byId("load").onclick = () => ask({ do: "payload", mass: Number(byId("mass").value), x: Number(byId("place").value) });
byId("mass").oninput = () => { byId("mass-text").textContent = `${byId("mass").value} kg`; };
byId("place").oninput = () => { byId("place-text").textContent = `${byId("place").value} m`; };
byId("window").onchange = () => { stale = true; };

const scene = new Scene(byId("scene"));
for (const mode of ["follow", "whole"]) byId(mode).onclick = () => { scene.mode = mode; stale = true; };
byId("above").onclick = () => { scene.view.elevation = 1.5707; scene.view.azimuth = -Math.PI / 2; stale = true; };

function dress(dark) {
  document.documentElement.classList.toggle("dark", dark);
  byId("dark").textContent = dark ? "Light" : "Dark";
  const css = getComputedStyle(document.documentElement);
  for (const name of ["ink", "quiet", "line", "first", "second", "third", "fourth", "truth", "wanted", "bad"])
    style[name] = css.getPropertyValue(`--${name}`).trim();
  style.dark = dark;
  stale = true;
}
const style = {};
dress(matchMedia("(prefers-color-scheme: dark)").matches);
byId("dark").onclick = () => dress(!style.dark);

// Charts; those without data are hidden.

const charts = [];
function chart(about) { charts.push(new Chart(byId("charts"), about)); }
const K = [["K5", "m"], ["K6", "1/m"], ["K7", "1/(kg m)"], ["K8", "1/(kg m²)"]];
K.forEach(([name, unit], k) => chart({
  title: name, unit, series: "parameters", extra: "in_use", parameter: k,
  curves: [
    { name: "estimate", column: 1 + 2 * k, band: 2 + 2 * k, colour: "first" },
    { name: "in use", column: 1 + k, from: "extra", colour: "third", steps: true },
  ],
}));
chart({ title: "Commanded", unit: "N m", series: "command", what: "command", level: 0, curves: [
  { name: "left", column: 1, colour: "first", steps: true }, { name: "right", column: 2, colour: "second", steps: true }] });
chart({ title: "Torque that acted", unit: "N m", series: "wheels", level: 0, curves: [
  { name: "left", column: 3, colour: "first", steps: true }, { name: "right", column: 4, colour: "second", steps: true }] });
chart({ title: "Forward speed v", unit: "m/s", series: "speed", level: 0, curves: [
  { name: "v", column: 1, colour: "first" }, { name: "wanted", column: 3, colour: "wanted", dashed: true }] });
chart({ title: "Yaw rate ω", unit: "rad/s", series: "speed", level: 0, curves: [
  { name: "ω", column: 2, colour: "first" }, { name: "wanted", column: 4, colour: "wanted", dashed: true }] });
chart({ title: "Information about K5 to K8", unit: "bits", series: "information", level: 0, curves: [
  { name: "gained", column: 1, colour: "first" }, { name: "predicted", column: 2, colour: "wanted", dashed: true }] });

// Texts.

function number(value, digits = 4) {
  if (value === null || value === undefined) return "unknown";
  const text = Number(value).toPrecision(digits);
  return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 || value === 0 ? String(Number(text)) : text;
}

function element(kind, text, name) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function cards() {
  const found = state.parameters || (state.in_use || []).map((value, k) => ({ name: K[k][0], unit: K[k][1], value }));
  byId("cards").replaceChildren(...found.map((each, k) => {
    const card = element("div", undefined, "card"), said = (state.said || [])[k];
    const band = each.half === undefined ? "" : each.half === null ? " ± unknown" : ` ± ${number(each.half, 2)}`;
    card.append(element("span", `${each.name} = `), element("b", number(each.value)), element("span", `${band} ${each.unit}`));
    if (said) {
      const meter = element("div", undefined, "meter"), bar = element("i");
      const share = Math.min(1, said.coverage || 0);
      bar.style.width = `${100 * share}%`;
      meter.append(bar);
      meter.setAttribute("role", "img");
      meter.setAttribute("aria-label", `${Math.round(100 * share)} % of the excitation that it needs`);
      card.append(meter, element("p", share < 1 ? `${Math.round(100 * (1 - share))} % of its excitation still missing` : "excited enough"));
      if (said.reason) card.append(element("p", said.reason));
    } else if (!state.parameters) card.append(element("p", `in use, from ${state.in_use_from || "the controller"}`));
    if (state.truth) card.append(element("p", `true value ${number(state.truth[k])}`));
    return card;
  }));
}

function facts() {
  const found = [], add = (text, tone) => found.push(element("p", text, tone));
  if (state.estimate) {
    const { state: kind, reason, warnings, verification, samples } = state.estimate;
    add(`Estimate: ${kind}${reason ? `: ${reason}` : ""}; ${verification}; ${samples} samples`, kind === "estimated" ? "good" : "caution");
    for (const warning of warnings) add(warning, "caution");
  }
  if (state.verification) add(state.verification.passed ? "Verified by a separate motion" : `Refuted: ${state.verification.reason}`, state.verification.passed ? "good" : "bad");
  if (state.friction && state.friction.some(([value]) => value !== null)) {
    const [vl, vr, cl, cr] = state.friction.map(([value, half]) => `${number(value, 3)} ± ${number(half, 2)}`);
    add(`Friction: viscous left ${vl}, right ${vr} N m s/rad; Coulomb left ${cl}, right ${cr} N m`);
  }
  if (state.gear_loss && state.gear_loss.some(([value]) => value !== null)) {
    const [left, right] = state.gear_loss.map(([value, half]) => `${number(100 * value, 3)} ± ${number(100 * half, 2)}`);
    add(`Gears lose: left ${left}, right ${right} % of the torque; Coulomb friction is that without load`);
  }
  if (state.delay !== null && state.delay !== undefined) add(`Torque delay: ${number(state.delay, 3)} control periods`);
  if (state.delays) add(`Dead time: v ${number(state.delays[0], 3)} s, ω ${number(state.delays[1], 3)} s`);
  if (state.gates) {
    add(`Live parameters: ${state.gates.state}${state.gates.reason ? `: ${state.gates.reason}` : ""}`, state.gates.state === "following" ? "good" : "caution");
    const shut = state.gates.gates.filter(([, passed]) => !passed).map(([name]) => name);
    add(shut.length ? `gates shut: ${shut.join(", ")}` : "all gates open");
  }
  byId("facts").replaceChildren(...found);
}

function nodes() {
  const table = element("table");
  for (const each of state.nodes || []) {
    const row = element("tr"), name = element("td"), dot = element("i", undefined, `dot ${each.level}`);
    name.append(dot, each.name);
    row.append(name, element("td", each.text, each.level));
    table.append(row);
  }
  const parts = (state.nodes || []).length ? [element("h2", "Nodes"), table] : [];
  byId("nodes").replaceChildren(...parts);
}

function head() {
  const live = state.mode === "live", stopped = (state.nodes || []).filter((each) => each.stopped);
  document.title = `${stopped.length || state.pressed ? "STOPPED · " : ""}${state.title || "diffbot"} · live view`;
  byId("title").textContent = state.title || "diffbot";
  const runs = Object.entries(state.runs || {}).map(([name, run]) => {
    const of = run.duration > 0 ? ` of ${number(run.duration, 4)}` : "";
    return `${name}: ${run.phase}${run.message ? ` (${run.message})` : ""}, ${run.elapsed.toFixed(1)}${of} s`;
  });
  byId("run").textContent = runs.join(" · ") || (live ? "no run yet" : "");
  const link = byId("link");
  const cut = !linked || performance.now() - lastWord > 3000;
  link.className = cut || state.silent > 1 ? "bad" : "quiet";
  link.textContent = !linked && state.left ? "the view has ended; this is its last state" : cut ? "NO CONNECTION to the view: the display is old, and STOP may not work"
    : !live ? "a recording" : state.ended ? "the run has ended"
      : state.silent === null ? "connected; no data from a robot yet"
        : state.silent > 1 ? `no data for ${state.silent.toFixed(0)} s` : "connected";
  document.body.classList.toggle("cut", cut);
  const may = state.controls || "none";
  byId("stop").hidden = !live || may === "none";
  byId("stop-help").hidden = byId("stop").hidden;
  // STOP stays enabled: over a connection that is only slow it still gets through, else it says so.
  byId("stop").classList.toggle("pressed", Boolean(state.pressed || stopped.length));
  byId("stop").textContent = state.pressed || stopped.length ? "STOPPED" : "STOP";
  const sure = performance.now() < sureUntil;
  byId("enable").hidden = !live || may !== "all" || !(state.pressed || stopped.length);
  byId("enable").disabled = cut;
  byId("enable").classList.toggle("sure", sure);
  byId("enable").textContent = sure ? "Sure? The robot will move" : "Release and enable";
  if (linked) byId("note").textContent = state.note || "";
  const can = state.can || {};
  byId("changes").hidden = !live || may !== "all" || !(can.pause || can.payload);
  byId("pausing").hidden = !can.pause;
  byId("loading").hidden = !can.payload;
}

// Playing a recording, and drawing.

const player = { time: 0, playing: false, span: [0, 1] };
byId("play").onclick = () => {
  player.playing = !player.playing;
  if (player.playing && player.time >= player.span[1]) player.time = player.span[0];
  stale = true;
};
byId("seek").oninput = () => { player.time = Number(byId("seek").value); stale = true; };

function times() {
  let from = Infinity, to = -Infinity;
  for (const rows of Object.values(series)) if (rows.length) {
    from = Math.min(from, rows[0][0]);
    to = Math.max(to, rows[rows.length - 1][0]);
  }
  return from <= to ? [from, to] : [0, 1];
}

function play(passed) {
  const span = times();
  if (state.mode !== "recording") return [null, span];
  if (player.span[0] !== span[0] || player.span[1] !== span[1]) {
    player.span = span;
    player.time = span[1];
    Object.assign(byId("seek"), { min: span[0], max: span[1] });
  }
  if (player.playing) {
    player.time = Math.min(span[1], player.time + passed * Number(byId("speed").value));
    player.playing = player.time < span[1];
    stale = true;
  }
  byId("player").hidden = false;
  byId("seek").value = player.time;
  byId("play").textContent = player.playing ? "Pause" : "Play";
  byId("when").textContent = `${player.time.toFixed(2)} s`;
  return [player.time, span];
}

function upTo(rows, time) {
  return time === null ? rows : rows.slice(0, Chart.find(rows, time) + 1);
}

// Charts for a robot that takes torques, and for one that takes velocities.
function fit(about) {
  if (about.what === "command") {
    const velocity = state.commanded === "command";
    about.unit = velocity ? "m/s, rad/s" : "N m";
    about.curves.forEach((curve, k) => { curve.name = (velocity ? ["v", "ω"] : ["left", "right"])[k]; });
  } else if (about.parameter !== undefined && state.parameters) {
    const { name, unit } = state.parameters[about.parameter];
    about.title = name;
    about.unit = unit;
  }
}

function draw(cursor, span) {
  const pose = upTo(series.pose || [], cursor), reference = upTo(series.reference || [], cursor);
  const wheels = upTo(series.wheels || [], cursor);
  const last = (rows) => rows.length ? rows[rows.length - 1].slice(1) : null;
  const at = last(pose);
  scene.draw({
    robot: state.robot, pose: at || state.standing, wheels: last(wheels), arena: state.arena,
    path: pose.map((row) => [row[1], row[2]]), whole: (series.pose || []).map((row) => [row[1], row[2]]),
    reference: (series.reference || []).map((row) => [row[1], row[2]]), ghost: last(reference),
  }, style);
  byId("pose").textContent = at ? `x ${at[0].toFixed(3)} m  y ${at[1].toFixed(3)} m  θ ${(at[2] * 180 / Math.PI).toFixed(1)}°` : "no pose yet";
  byId("wanted-key").hidden = !reference.length;
  byId("arena-key").hidden = !state.arena;
  for (const mode of ["follow", "whole"]) byId(mode).setAttribute("aria-pressed", scene.mode === mode);
  const shown = Number(byId("window").value);
  const seen = [Math.max(span[0], span[1] - shown), span[1]];
  for (const each of charts) {
    fit(each.about);
    const truth = each.about.parameter !== undefined && state.truth ? [state.truth[each.about.parameter]] : null;
    const limit = each.about.what === "command" && state.limit ? [state.limit, -state.limit] : null;
    each.draw(series, seen, style, truth || limit, cursor);
    each.stale = false;
  }
}

// What an addition to the page draws.
const additions = [];
let before = performance.now(), headed = 0;
function frame(now) {
  const [cursor, span] = play((now - before) / 1000);
  before = now;
  if (stale || scene.stale || charts.some((each) => each.stale) || now - headed > 500) {
    headed = now;
    stale = scene.stale = false;
    head();
    cards();
    facts();
    nodes();
    draw(cursor, span);
    for (const each of additions) each();
    document.body.dataset.drawn = "true";
  }
  requestAnimationFrame(frame);
}
addEventListener("resize", () => { stale = true; });
connect();
requestAnimationFrame(frame);
