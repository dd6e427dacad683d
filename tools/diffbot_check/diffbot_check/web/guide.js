// The guide: shows state.guide, and sends names of steps and answers. What is done, the server decides.

// ms for which a step that moves the robot cannot be begun: a second click was meant for the one before.
const PAUSE = 800;
const guide = { builtAt: 0, chosen: null, built: null, next: undefined, ran: null };
const MARKS = { done: "✓", skipped: "–", failed: "✗", open: "" };
const WORDS = { done: "done", skipped: "skipped", failed: "failed", open: "open" };

function stepNow() {
  const told = state.guide;
  const name = told.running || guide.chosen || told.next || told.steps[told.steps.length - 1].name;
  return told.steps.find((each) => each.name === name);
}

function choose(name) {
  guide.chosen = name;
  guide.picked = true; // the focus stays on its title
  stale = true;
  byId("step-title").focus({ preventScroll: false });
}

// What the person has typed or ticked, per step; the form of a step is built once it is chosen.

function field(parent, text, input) {
  const label = element("label", text);
  label.append(input);
  parent.append(label);
  return input;
}

function control(type, value, attributes = {}) {
  const made = document.createElement("input");
  made.type = type;
  made.value = value;
  Object.assign(made, attributes);
  return made;
}

function build(step) {
  const form = byId("step-form");
  form.replaceChildren();
  if (step.name === "check moving") {
    const box = control("checkbox", "yes", { id: "sure" });
    const label = element("label");
    label.append(box, "The wheels are lifted, or there are 20 cm of room, and I can reach the emergency stop");
    form.append(label);
  } else if (step.name === "room") {
    const [length, width] = (state.guide.arena || "3x3").split("x");
    field(form, "length ahead and behind, m", control("number", length, { id: "length", min: 0.5, step: 0.1 }));
    field(form, "width, m", control("number", width, { id: "width", min: 0.5, step: 0.1 }));
  } else if (step.name === "describe") describe(form);
  for (const each of form.querySelectorAll("input, select")) each.addEventListener("input", () => { stale = true; });
}

const WAYS = [["auto", "from /robot_description"], ["file", "from a file: URDF, xacro or robot file"],
  ["known", "a robot of the suite"], ["by hand", "with numbers that I measure"]];

function describe(form) {
  const told = state.guide_form, ways = element("fieldset");
  ways.append(element("legend", "Where does the description come from?"));
  const first = state.guide.rehearsal ? "known" : "auto";
  for (const [value, text] of WAYS) {
    const label = element("label"), dot = control("radio", value, { name: "way", checked: value === first });
    dot.onchange = ways_shown;
    label.append(dot, text);
    ways.append(label);
  }
  form.append(ways);
  const file = element("div", undefined, "way-file");
  const path = field(file, "path", control("text", "", { id: "path", autocomplete: "off", maxLength: 300 }));
  path.setAttribute("list", "near");
  const near = element("datalist");
  near.id = "near";
  near.append(...told.files.map((each) => { const option = element("option"); option.value = each; return option; }));
  file.append(near);
  const known = element("div", undefined, "way-known"), select = element("select");
  select.id = "known";
  select.append(...told.robots.map((each) => new Option(each, each, false, each === state.guide.rehearsal)));
  field(known, "robot", select);
  const hand = element("div", undefined, "way-hand"), kind = element("select");
  kind.id = "kind";
  kind.append(new Option("velocities (cmd_vel)", "velocity"), new Option("torques of the wheels", "effort"));
  field(hand, "It takes", kind);
  const numbers = element("div", undefined, "numbers");
  for (const each of told.fields) {
    const typed = typeof each.value === "number";
    const input = control(typed ? "number" : "text", each.value, { name: each.name, step: "any" });
    field(numbers, each.meaning, input).dataset.kind = each.kind || "";
  }
  const problem = element("p", "", "caution");
  problem.setAttribute("role", "status");
  hand.append(problem, numbers);
  form.append(file, known, hand);
  hand.addEventListener("input", drawNumbers);
  ways_shown();
}

function way() { const found = byId("step-form").querySelector("input[name=way]:checked"); return found && found.value; }

function ways_shown() {
  const form = byId("step-form"), shown = { file: "file", known: "known", hand: "by hand" };
  for (const [name, value] of Object.entries(shown)) form.querySelector(`.way-${name}`).hidden = way() !== value;
  if (way() === "by hand") drawNumbers();
  stale = true;
}

let drawing = null;
function drawNumbers() {
  const kind = byId("kind").value, values = { "drive.command": kind };
  for (const each of byId("step-form").querySelectorAll(".numbers input")) {
    const fits = !each.dataset.kind || each.dataset.kind === kind;
    each.parentElement.hidden = !fits;
    if (fits) values[each.name] = each.type === "number" ? (each.value === "" ? null : Number(each.value)) : each.value;
  }
  clearTimeout(drawing);
  drawing = setTimeout(() => ask({ do: "draw", values }), 60);
}

// The answer of a step's form; null: it is not complete.
function answer(step) {
  if (step.name === "check moving") return byId("sure").checked ? "yes" : null;
  if (step.name === "room") {
    const [length, width] = [byId("length").value, byId("width").value];
    return length && width ? `${length}x${width}` : null;
  }
  if (step.name !== "describe") return "";
  if (way() === "file") return byId("path").value.trim() || null;
  if (way() === "known") return byId("known").value;
  if (way() === "by hand") return state.guide_drawn && !state.guide_drawn.problem ? "by hand" : null;
  return "auto";
}

const WANTED = { "check moving": "Tick the box first.", room: "Type length and width.", describe: "Complete the description first." };

// Whether a step cannot be begun now.
function blocked(step, given) {
  const early = step.moves && performance.now() - guide.builtAt < PAUSE;
  return Boolean(step.refusal || (step.moves && state.pressed) || early || given === null);
}

function run() {
  const step = stepNow();
  if (guide.built !== step.name) return; // not shown yet
  const given = answer(step);
  if (given === null) byId("step-refusal").textContent = WANTED[step.name];
  if (blocked(step, given)) return;
  guide.ran = step.name;
  ask({ do: "run", step: step.name, answer: given });
}

byId("go").onclick = run;
byId("step-form").onsubmit = (event) => { event.preventDefault(); run(); };
byId("end").onclick = () => ask({ do: "end" });
byId("skip").onclick = () => { ask({ do: "skip", step: stepNow().name }); guide.chosen = null; };
byId("undo").onclick = () => ask({ do: "undo", step: stepNow().name });
byId("back").onclick = () => {
  const names = state.guide.steps.map((each) => each.name);
  choose(names[Math.max(0, names.indexOf(stepNow().name) - 1)]);
};
byId("release").onclick = () => ask({ do: "release" });
byId("before").lastElementChild.onclick = () => choose(guide.before);
byId("mend").onclick = () => ask({ do: "mend" });

// Drawing.

function stepList(told, now) {
  const list = byId("steps");
  if (list.children.length !== told.steps.length) {
    list.replaceChildren(...told.steps.map((each) => {
      const item = element("li"), button = element("button");
      button.type = "button";
      button.append(element("span", "", "mark"), element("span", each.name, "name"));
      button.onclick = () => choose(each.name);
      item.append(button);
      return item;
    }));
  }
  told.steps.forEach((each, k) => {
    const button = list.children[k].firstChild, current = each.name === now.name;
    button.firstChild.textContent = each.name === told.running ? "…" : MARKS[each.outcome] || String(k + 1);
    button.firstChild.className = `mark ${{ done: "good", failed: "bad" }[each.outcome] || "quiet"}`;
    button.setAttribute("aria-label", `${k + 1}: ${each.name}, ${WORDS[each.outcome]}`);
    if (current) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
    button.disabled = Boolean(told.running) && !current;
  });
}

function findingList(step) {
  const signature = JSON.stringify([step.name, step.findings]);
  if (guide.found === signature) return;
  guide.found = signature;
  byId("findings").replaceChildren(...step.findings.map((each) => {
    const item = element("li", undefined, each.severity);
    item.append(element("b", each.what), element("span", each.why));
    if (each.line) item.append(element("code", each.line));
    return item;
  }));
}

// What the step before this one has found: the page has gone on to the next one.
function finished(told, step) {
  const last = told.steps.find((each) => each.name === guide.before);
  const shown = last && last.name !== step.name && last.outcome === "done" && !told.running;
  byId("before").hidden = !shown;
  if (!shown) return;
  const warnings = last.findings.filter((each) => each.severity === "warning").length;
  const found = warnings ? `, with ${warnings} warning${warnings > 1 ? "s" : ""}` : "";
  byId("before").firstElementChild.textContent = `✓ ${last.name} is done${found}.`;
  byId("before").lastElementChild.hidden = !(last.findings.length || last.report);
}

function clock(told, step) {
  const running = told.running === step.name;
  byId("progress").hidden = !running;
  if (!running) return;
  const passed = Math.max(0, Date.now() / 1000 - told.begun);
  byId("bar").value = Math.min(0.97, passed / step.seconds);
  byId("clock").textContent = `${passed.toFixed(0)} s of about ${step.time}`;
}

function drawGuide() {
  const told = state.guide;
  if (!told) return;
  document.body.classList.add("guided");
  byId("guide").hidden = false;
  if (told.next !== guide.next) { // a step has ended well: on to the next one
    if (guide.next !== undefined) {
      guide.chosen = null;
      guide.before = guide.next;
    }
    guide.next = told.next;
  }
  // Where the focus is lost because its button goes, it goes on to what comes next.
  const focused = document.activeElement === document.body || byId("step").contains(document.activeElement);
  const step = stepNow(), running = told.running === step.name, complete = !told.next && !guide.chosen;
  stepList(told, step);
  if (guide.built !== step.name) {
    guide.built = step.name;
    guide.builtAt = performance.now();
    build(step);
    byId("printed").open = false;
  }
  byId("step-title").textContent = complete ? "All steps are done" : step.name[0].toUpperCase() + step.name.slice(1);
  byId("step-text").textContent = complete
    ? `${told.folder} holds the robot's file, the results, the exported files, and commands.txt, which repeats it all.` : step.text;
  const line = told.apply ? `To give the exported values to running controllers: ${told.apply}. ` : "";
  byId("step-needs").textContent = complete ? `${line}Any step can be repeated: choose it in the list.`
    : `Room: ${step.room}. Time: about ${step.time}.${step.moves ? " The robot moves; STOP or Esc stops it." : ""}`;
  byId("step-form").hidden = running || complete;
  const stopped = step.moves && state.pressed;
  const given = complete ? "" : answer(step);
  byId("step-refusal").textContent = complete || running ? "" : step.refusal ? `It cannot begin: ${step.refusal}.`
    : "";
  byId("stopped").hidden = complete || running || !stopped;
  finished(told, step);
  const go = byId("go");
  go.hidden = running || complete;
  go.setAttribute("aria-disabled", String(blocked(step, given)));
  go.textContent = step.name === "room" ? "Use this room" : step.name === "describe" ? "Make the robot's file"
    : step.outcome === "open" ? (step.moves ? "Run: the robot moves" : "Run") : (step.moves ? "Repeat: the robot moves" : "Repeat");
  byId("end").hidden = !running;
  byId("skip").hidden = running || complete || step.outcome === "done";
  byId("undo").hidden = running || complete || step.outcome === "open";
  byId("back").hidden = running;
  byId("mend").hidden = running || !told.rehearsal;
  clock(told, step);
  const said = running ? "" : step.said || told.said;
  byId("step-said").textContent = said;
  byId("step-said").className = step.outcome === "failed" && step.said ? "bad" : "good";
  findingList(running ? { name: step.name, findings: [] } : step);
  const lines = guide.ran === step.name || running ? (state.guide_lines || []).join("\n") : "";
  byId("printed").hidden = !lines;
  if (byId("lines").textContent !== lines) {
    byId("lines").textContent = lines;
    byId("lines").scrollTop = byId("lines").scrollHeight;
  }
  const results = byId("results");
  if (results.dataset.shown !== step.report + step.results) {
    results.dataset.shown = step.report + step.results;
    results.replaceChildren();
    if (step.report) {
      const link = element("a", "Report of this step");
      Object.assign(link, { href: step.report + location.search, target: "_blank", rel: "noreferrer" });
      results.append(link, ` in ${step.results}`);
    }
  }
  byId("typed").hidden = complete || !step.command;
  byId("command").textContent = step.command;
  document.body.classList.toggle("drawing", step.name === "describe" && way() === "by hand" && !byId("step-form").hidden);
  const view = `${step.name} ${running}`;
  if (guide.ran && focused && guide.focusedFor !== view && !guide.picked) {
    // A step that moves the robot is reached by Tab: Enter once too often must not begin it.
    byId(step.moves || running ? "step-title" : "go").focus({ preventScroll: true });
  }
  guide.focusedFor = view;
  guide.picked = false;
  const note = byId("step-form").querySelector(".way-hand p");
  if (note) note.textContent = way() === "by hand" && state.guide_drawn ? state.guide_drawn.problem : "";
}
additions.push(drawGuide);
