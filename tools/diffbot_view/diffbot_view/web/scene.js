"use strict";
// The robot, its path, reference and arena in three dimensions, drawn on a 2-D canvas: lines on the
// ground first, then the robot's faces from far to near. x forward, y left, z up, m.

class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.view = { azimuth: -2.2, elevation: 0.62, distance: 2.6, x: 0, y: 0 };
    this.mode = "follow";
    this.drag();
  }

  drag() {
    const canvas = this.canvas, view = this.view;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { from = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const dx = event.clientX - from[0], dy = event.clientY - from[1];
      from = [event.clientX, event.clientY];
      if (event.shiftKey) this.move(dx, dy); else this.turn(0.008 * dx, 0.008 * dy);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (step) this.turn(step[0], step[1]);
      else if (event.key === "+") this.zoom(0.85);
      else if (event.key === "-") this.zoom(1.18);
      else return;
      event.preventDefault();
    });
  }

  turn(azimuth, elevation) {
    this.view.azimuth -= azimuth;
    this.view.elevation = Math.min(1.5707, Math.max(0.08, this.view.elevation + elevation));
    this.stale = true;
  }

  move(dx, dy) {
    const view = this.view, scale = view.distance / 700;
    const s = Math.sin(view.azimuth), c = Math.cos(view.azimuth);
    view.x += scale * (dx * s + dy * c * -1);
    view.y += scale * (-dx * c + dy * s * -1);
    this.mode = "free";
    this.stale = true;
  }

  zoom(factor) {
    this.view.distance = Math.min(200, Math.max(0.4, this.view.distance * factor));
    if (this.mode === "whole") this.mode = "free";
    this.stale = true;
  }

  // Content: {robot, pose, wheels, path, whole, reference, arena, ghost}: path is the part of the
  // whole path that has been driven; poses are [x, y, theta], wheels the wheel angles in rad.
  draw(shown, style) {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.pen = pen;
    this.aim(shown, width, height);
    this.look(width, height);
    this.ground(style);
    if (shown.arena) this.rectangle(shown.arena, style.bad);
    this.line(shown.reference, style.wanted, 1.5, [7, 5]);
    this.line(shown.path, style.first, 2.5, []);
    if (shown.robot && shown.ghost) this.outline(shown.robot.hull, shown.ghost, style.wanted);
    if (shown.robot && shown.pose) this.robot(shown, style);
    this.scale(width, height, style);
  }

  aim(shown, width, height) {
    const view = this.view, pose = shown.pose, robot = shown.robot;
    const size = robot ? Math.max(robot.top, ...robot.hull.map(([x, y]) => Math.hypot(x, y))) : 0.3;
    if (robot && robot.name !== this.known) { // far enough away for a tall one
      this.known = robot.name;
      view.distance = Math.max(2.6, 5 * size);
    }
    if (this.mode === "follow" && pose) {
      view.x = pose[0];
      view.y = pose[1];
    } else if (this.mode === "whole") {
      const all = [...shown.whole, ...shown.reference];
      if (shown.arena) all.push([shown.arena[0] / 2, shown.arena[1] / 2], [-shown.arena[0] / 2, -shown.arena[1] / 2]);
      if (pose) all.push(pose);
      if (!all.length) return;
      let [a, b, c, d] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const [x, y] of all) {
        a = Math.min(a, x); b = Math.max(b, x); c = Math.min(c, y); d = Math.max(d, y);
      }
      view.x = (a + b) / 2;
      view.y = (c + d) / 2;
      view.distance = Math.max(1.2, 4 * size, 1.25 * Math.hypot(b - a, d - c) * Math.max(1, 0.8 * height / width) + 0.8);
    }
  }

  look(width, height) {
    const { azimuth, elevation, distance, x, y } = this.view;
    const ce = Math.cos(elevation), se = Math.sin(elevation), ca = Math.cos(azimuth), sa = Math.sin(azimuth);
    this.eye = [x + distance * ce * ca, y + distance * ce * sa, distance * se];
    this.forward = [-ce * ca, -ce * sa, -se];
    this.right = [-sa, ca, 0];
    this.up = [-se * ca, -se * sa, ce];
    this.focal = 1.25 * Math.min(width, 1.4 * height);
    this.centre = [width / 2, height / 2];
  }

  // [right, up, depth] of a point in the camera's frame, m.
  seen(p) {
    const d = [p[0] - this.eye[0], p[1] - this.eye[1], (p[2] || 0) - this.eye[2]];
    const dot = (a) => a[0] * d[0] + a[1] * d[1] + a[2] * d[2];
    return [dot(this.right), dot(this.up), dot(this.forward)];
  }

  place(q) {
    const scale = this.focal / q[2];
    return [this.centre[0] + q[0] * scale, this.centre[1] - q[1] * scale];
  }

  // Lines are clipped in front of the camera.
  line(points, colour, width, dashes) {
    if (!points || points.length < 2) return;
    const pen = this.pen, near = 0.05;
    pen.beginPath();
    let before = null;
    for (const point of points) {
      const q = this.seen([point[0], point[1], 0.001]);
      if (before) {
        let a = before, b = q;
        if (a[2] >= near || b[2] >= near) {
          if (a[2] < near) a = Scene.cut(a, b, near);
          if (b[2] < near) b = Scene.cut(b, a, near);
          const from = this.place(a), to = this.place(b);
          if (a !== before || before.fresh) pen.moveTo(from[0], from[1]);
          pen.lineTo(to[0], to[1]);
          q.fresh = b !== q;
        } else q.fresh = true;
      } else q.fresh = true;
      before = q;
    }
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dashes);
    pen.lineJoin = "round";
    pen.stroke();
    pen.setLineDash([]);
  }

  static cut(behind, before, near) {
    const t = (near - behind[2]) / (before[2] - behind[2]);
    return [0, 1, 2].map((k) => behind[k] + t * (before[k] - behind[k]));
  }

  ground(style) {
    const { x, y, distance } = this.view;
    const step = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25].find((each) => each * 14 > distance * 1.6) || 50;
    this.step = step;
    const reach = step * 16, left = Math.round(x / step) * step, low = Math.round(y / step) * step;
    for (let k = -16; k <= 16; k++) {
      const strong = (value) => (Math.abs(value) < 1e-9 ? style.quiet : style.line);
      this.line([[left + k * step, low - reach], [left + k * step, low + reach]], strong(left + k * step), 1, []);
      this.line([[left - reach, low + k * step], [left + reach, low + k * step]], strong(low + k * step), 1, []);
    }
  }

  rectangle([length, width], colour) {
    const a = length / 2, b = width / 2;
    this.line([[a, b], [-a, b], [-a, -b], [a, -b], [a, b]], colour, 2, []);
  }

  outline(polygon, pose, colour) {
    const at = Scene.at(pose);
    this.line([...polygon, polygon[0]].map(([x, y]) => at([x, y, 0])), colour, 1.5, [4, 3]);
  }

  // From the robot's frame to the ground's.
  static at([x, y, theta]) {
    const c = Math.cos(theta), s = Math.sin(theta);
    return ([a, b, z]) => [x + c * a - s * b, y + s * a + c * b, z];
  }

  robot(shown, style) {
    const robot = shown.robot, faces = [], body = Scene.rgb(robot.body), accent = Scene.rgb(robot.accent);
    const tyre = style.dark ? [70, 74, 80] : [58, 60, 64];
    const deck = this.prism(faces, robot.hull, robot.bottom, robot.top, body);
    faces.push({ points: robot.nose.map(([x, y]) => [x, y, robot.top + 0.001]), normal: [0, 0, 1], colour: accent, on: deck });
    const half = robot.separation / 2;
    [half, -half].forEach((y, side) => this.wheel(faces, y, robot, tyre, accent, (shown.wheels || [0, 0])[side]));
    for (const [x, y, radius, clearance] of robot.casters) {
      const ring = Scene.circle(10).map(([c, s]) => [x + radius * c, y + radius * s]);
      this.prism(faces, ring, clearance, Math.max(robot.bottom, 2 * radius), tyre);
    }
    this.shadow(robot.hull, shown.pose, style);
    const at = Scene.at(shown.pose);
    const drawn = [];
    for (const face of faces) {
      const points = face.points.map(at);
      const [c, s] = [Math.cos(shown.pose[2]), Math.sin(shown.pose[2])];
      const n = [c * face.normal[0] - s * face.normal[1], s * face.normal[0] + c * face.normal[1], face.normal[2]];
      const p = points[0], towards = [0, 1, 2].reduce((sum, k) => sum + n[k] * (this.eye[k] - p[k]), 0);
      if (towards <= 0) continue;
      const seen = points.map((point) => this.seen(point));
      if (seen.some((q) => q[2] < 0.05)) continue;
      // Details painted on a face are drawn right after it.
      const depth = face.on ? face.on.depth - 1e-4 : seen.reduce((sum, q) => sum + q[2], 0) / seen.length;
      face.depth = depth;
      const light = 0.62 + 0.38 * Math.max(0, 0.35 * n[0] + 0.25 * n[1] + 0.9 * n[2]);
      drawn.push({ depth, seen, colour: face.colour.map((part) => Math.round(part * light)) });
    }
    drawn.sort((a, b) => b.depth - a.depth);
    for (const { seen, colour } of drawn) this.fill(seen.map((q) => this.place(q)), `rgb(${colour})`);
  }

  wheel(faces, y, robot, tyre, accent, angle) {
    const r = robot.radius, h = robot.width / 2, ring = Scene.circle(28);
    for (const side of [-1, 1]) {
      const points = ring.map(([c, s]) => [r * c, y + side * h, r + r * s]);
      const disc = { points, normal: [0, side, 0], colour: tyre };
      faces.push(disc);
      for (let k = 0; k < 3; k++) { // spokes, so that one sees it turn
        const turn = angle + k * Math.PI * 2 / 3, c = Math.cos(turn), s = -Math.sin(turn), w = 0.09 * r;
        const spoke = [[-s * w, c * w], [s * w, -c * w], [0.86 * r * c + s * w, 0.86 * r * s - c * w], [0.86 * r * c - s * w, 0.86 * r * s + c * w]];
        faces.push({ points: spoke.map(([a, b]) => [a, y + side * (h + 0.001), r + b]), normal: [0, side, 0], colour: accent, on: disc });
      }
    }
    ring.forEach(([c, s], k) => {
      const [c1, s1] = ring[(k + 1) % ring.length];
      faces.push({
        points: [[r * c, y - h, r + r * s], [r * c, y + h, r + r * s], [r * c1, y + h, r + r * s1], [r * c1, y - h, r + r * s1]],
        normal: [(c + c1) / 2, 0, (s + s1) / 2], colour: tyre,
      });
    });
  }

  prism(faces, polygon, bottom, top, colour) {
    const deck = { points: polygon.map(([x, y]) => [x, y, top]), normal: [0, 0, 1], colour };
    faces.push(deck);
    polygon.forEach(([x, y], k) => {
      const [x1, y1] = polygon[(k + 1) % polygon.length], length = Math.hypot(x1 - x, y1 - y) || 1;
      const turned = Scene.area(polygon) > 0 ? 1 : -1;
      faces.push({
        points: [[x, y, bottom], [x1, y1, bottom], [x1, y1, top], [x, y, top]],
        normal: [turned * (y1 - y) / length, -turned * (x1 - x) / length, 0], colour,
      });
    });
    return deck;
  }

  static area(polygon) {
    return polygon.reduce((sum, [x, y], k) => {
      const [x1, y1] = polygon[(k + 1) % polygon.length];
      return sum + x * y1 - x1 * y;
    }, 0);
  }

  shadow(hull, pose, style) {
    const at = Scene.at(pose), seen = hull.map(([x, y]) => this.seen(at([x, y, 0])));
    if (seen.every((q) => q[2] > 0.05)) this.fill(seen.map((q) => this.place(q)), style.dark ? "rgba(0,0,0,.5)" : "rgba(0,0,0,.18)");
  }

  fill(points, colour) {
    const pen = this.pen;
    pen.beginPath();
    points.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = 0.7;
    pen.fill();
    pen.stroke();
  }

  scale(width, height, style) {
    this.pen.fillStyle = style.quiet;
    this.pen.font = "12px system-ui, sans-serif";
    this.pen.fillText(`grid ${this.step} m`, 8, height - 8);
  }

  static circle(count) {
    return Array.from({ length: count }, (_, k) => [Math.cos(k * Math.PI * 2 / count), Math.sin(k * Math.PI * 2 / count)]);
  }

  static rgb(colour) {
    return colour.map((part) => Math.round(255 * part));
  }
}
