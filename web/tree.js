// The stage tree of a study: bars from step to step, as high as trials pass.
import {axes, colour, hint, plot, scale, shown} from "./charts.js";

const PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
  "#aa3377", "#bbbbbb"];

/** @returns {node, set({tree, values, live, marked}), fit()}
 * @param onPick is told the node that was clicked */
export function stageTree(label, onPick) {
  let data = null, boxes = [], rows = 1, last = 1;
  let view = {x: 0, y: 0, w: 1, h: 1}; // the part that is seen, of 1 by 1
  let moved = false, drag = null;

  /** Places nodes: children beside each other, in the order of their ids. */
  function layout() {
    const {tree} = data;
    const children = new Map();
    const place = new Map(tree.id.map((id, i) => [id, i]));
    tree.id.forEach((id, i) => {
      const key = place.has(tree.parent[i]) ? tree.parent[i] : 0;
      if (!children.has(key)) children.set(key, []);
      children.get(key).push(i);
    });
    boxes = [];
    last = tree.end.reduce((a, b) => Math.max(a, b), 1);
    rows = 0;
    // Iterative: a tree may be deep.
    const stack = [...(children.get(0) ?? [])].reverse().map(i => [i, 0]);
    const tops = new Map();
    while (stack.length) {
      const [i, top] = stack.pop();
      const begin = top === 0 && !place.has(tree.parent[i]) ? rows : top;
      if (!place.has(tree.parent[i])) rows += tree.trials[i];
      tops.set(i, begin);
      boxes.push({i, y: begin, h: tree.trials[i]});
      let at = begin;
      const below = children.get(tree.id[i]) ?? [];
      // Those who go on stand below those who end here.
      for (const child of below) {
        stack.push([child, at]);
        at += tree.trials[child];
      }
    }
    rows = Math.max(rows, 1);
  }

  const it = plot(label, (context, svg, width, height) => {
    if (!data || !boxes.length) return;
    const {tree, values, live, marked} = data;
    const field = axes(svg, width, height,
      [view.x * last, (view.x + view.w) * last], [0, 1], {xLabel: "step"});
    svg.querySelectorAll("text[text-anchor=end]").forEach(x => {
      if (Number(x.getAttribute("x")) < field.left) x.remove();
    });
    context.save();
    context.beginPath();
    context.rect(field.left, field.top, field.right - field.left,
      field.bottom - field.top);
    context.clip();
    const yOf = row => field.top + (row / rows - view.y) / view.h
      * (field.bottom - field.top);
    const finite = [...values.values()].filter(Number.isFinite);
    const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
    const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
    const good = data.maximize ? v => (v - low) / (high - low || 1)
      : v => (high - v) / (high - low || 1);
    const border = colour("--card"), glow = colour("--glow");
    const words = colour("--text"), none = colour("--line");
    for (const box of boxes) {
      const x0 = field.x(tree.begin[box.i]), x1 = field.x(tree.end[box.i]);
      const y0 = yOf(box.y), y1 = yOf(box.y + box.h);
      box.place = null;
      if (x1 < field.left || x0 > field.right || y1 < field.top
        || y0 > field.bottom) continue;
      box.place = [x0, y0, x1, y1];
      const value = values.get(tree.id[box.i]);
      const on = !marked || marked.has(tree.id[box.i]);
      context.globalAlpha = on ? 1 : .18;
      context.fillStyle = value === undefined || !Number.isFinite(value)
        ? none : scale(good(value));
      context.fillRect(x0, y0, Math.max(x1 - x0, 1), Math.max(y1 - y0, .6));
      if (y1 - y0 > 5) {
        context.strokeStyle = border;
        context.lineWidth = 1;
        context.strokeRect(x0, y0, x1 - x0, y1 - y0);
      }
      if (live.has(tree.id[box.i])) {
        context.globalAlpha = 1;
        context.strokeStyle = glow;
        context.lineWidth = 3;
        context.strokeRect(x0 + 1.5, y0 + 1.5, Math.max(x1 - x0 - 3, 2),
          Math.max(y1 - y0 - 3, 2));
      }
      const text = tree.label[box.i];
      if (text && y1 - y0 > 13 && x1 - x0 > 44) {
        context.font = "11px system-ui, sans-serif";
        const room = Math.floor((x1 - x0 - 10) / 5.6);
        const whole = text.length > room ? `${text.slice(0, room - 1)}…` : text;
        context.fillStyle = value === undefined ? words
          : good(value) > .55 ? "#10141b" : "#fff";
        context.fillText(whole, x0 + 6, Math.min((y0 + y1) / 2, y0 + 40) + 4);
      }
    }
    context.restore();
  }, {tall: true});

  const boxAt = event => {
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    return boxes.findLast(b => b.place && px >= b.place[0] && px <= b.place[2]
      && py >= b.place[1] && py <= b.place[3]);
  };
  const limit = () => {
    view.w = Math.min(Math.max(view.w, 1e-4), 1);
    view.h = Math.min(Math.max(view.h, 1e-4), 1);
    view.x = Math.min(Math.max(view.x, 0), 1 - view.w);
    view.y = Math.min(Math.max(view.y, 0), 1 - view.h);
    it.redraw();
  };
  const zoom = (factor, cx, cy) => {
    view.x += view.w * cx * (1 - factor);
    view.y += view.h * cy * (1 - factor);
    view.w *= factor;
    view.h *= factor;
    limit();
  };
  it.canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const box = it.canvas.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2,
      (event.clientX - box.left) / box.width,
      (event.clientY - box.top) / box.height);
  }, {passive: false});
  it.canvas.addEventListener("pointerdown", event => {
    drag = {x: event.clientX, y: event.clientY};
    moved = false;
  });
  it.canvas.addEventListener("pointermove", event => {
    if (drag && event.buttons) {
      const box = it.canvas.getBoundingClientRect();
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      moved ||= Math.abs(dx) + Math.abs(dy) > 3;
      view.x -= dx / box.width * view.w;
      view.y -= dy / box.height * view.h;
      drag = {x: event.clientX, y: event.clientY};
      limit();
      return;
    }
    drag = null;
    const box = boxAt(event);
    if (!box) return hint(event, "");
    const {tree, values} = data, i = box.i;
    hint(event, `${tree.label[i] || "as before"}\nsteps ${tree.begin[i]} to ${
      tree.end[i]}, ${tree.trials[i]} trial${tree.trials[i] === 1 ? "" : "s"}${
      values.has(tree.id[i]) ? `\nbest there: ${shown(values.get(tree.id[i]),
        6)}` : ""}${data.live.has(tree.id[i]) ? "\nbeing trained" : ""}`);
  });
  it.canvas.addEventListener("pointerleave", () => hint(null));
  it.canvas.addEventListener("click", event => {
    const box = boxAt(event);
    if (box && !moved) onPick(data.tree.id[box.i]);
  });
  it.canvas.addEventListener("keydown", event => {
    const move = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1],
      ArrowDown: [0, .1]}[event.key];
    if (move) {
      view.x += move[0] * view.w;
      view.y += move[1] * view.h;
      limit();
    } else if (event.key === "+") zoom(1 / 1.3, .5, .5);
    else if (event.key === "-") zoom(1.3, .5, .5);
    else if (event.key === "0") view = {x: 0, y: 0, w: 1, h: 1}, it.redraw();
    else return;
    event.preventDefault();
  });
  return {
    node: it.node,
    set(next) {
      const before = data?.tree;
      data = next;
      if (before !== next.tree) layout();
      it.redraw();
    },
    fit() {
      view = {x: 0, y: 0, w: 1, h: 1};
      it.redraw();
    },
  };
}

export {PALETTE};
