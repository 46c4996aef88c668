// The stage tree of a study: bars from step to step, as high as trials pass.
import {axes, colour, hint, plot, scale, shown} from "./charts.js";

/** @returns {node, set({tree, values, live, marked}), fit()}
 * @param onPick is told the node that was clicked */
export function stageTree(label, onPick) {
  let data = null, boxes = [], rows = 1, last = 1;
  let view = {x: 0, y: 0, w: 1, h: 1}; // the part that is seen, of 1 by 1
  let moved = false, drag = null;

  /** Places nodes: at the top of a node those who stay in it, below them its
   * children, those that part last above. So at any step the rows of who is
   * still in it are one block, which grows lower where a child parts. */
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
    const stack = [...(children.get(0) ?? [])].reverse().map(i => [i, 0, undefined]);
    while (stack.length) {
      const [i, top, above] = stack.pop();
      const begin = above === undefined ? rows : top;
      if (above === undefined) rows += tree.trials[i];
      const below = [...(children.get(tree.id[i]) ?? [])].sort((a, b) =>
        tree.begin[b] - tree.begin[a] || a - b);
      const parting = below.reduce((sum, x) => sum + tree.trials[x], 0);
      let at = begin + tree.trials[i] - parting;
      for (const child of below) {
        stack.push([child, at, tree.id[i]]);
        at += tree.trials[child];
      }
      const parts = [];
      let from = tree.begin[i], height = tree.trials[i];
      for (const child of [...below].reverse()) {
        const step = tree.begin[child];
        if (step > from) parts.push([from, step, height]);
        from = Math.max(from, step);
        height -= tree.trials[child];
      }
      if (height > 0 && tree.end[i] > from)
        parts.push([from, tree.end[i], height]);
      boxes.push({i, y: begin, parts});
    }
    rows = Math.max(rows, 1);
  }

  const it = plot(label, (context, svg, width, height) => {
    if (!data || !boxes.length) return;
    const {tree, values, live, marked} = data;
    const field = axes(svg, width, height,
      [view.x * last, (view.x + view.w) * last], [0, 1],
      {xLabel: "step", yLabel: null});
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
    const good = v => high === low ? 1
      : (data.maximize ? v - low : high - v) / (high - low);
    const glow = colour("--glow"), words = colour("--text");
    const none = colour("--line");
    for (const box of boxes) {
      const id = tree.id[box.i], value = values.get(id);
      const isNumber = Number.isFinite(value);
      box.places = [];
      for (const [from, to, height] of box.parts) {
        const x0 = field.x(from), x1 = field.x(to);
        const y0 = yOf(box.y), y1 = yOf(box.y + height);
        if (x1 < field.left || x0 > field.right || y1 < field.top
          || y0 > field.bottom) continue;
        box.places.push([x0, y0, x1, y1]);
        context.globalAlpha = !marked || marked.has(id) ? 1 : .18;
        context.fillStyle = isNumber ? scale(good(value)) : none;
        // A seam of a pixel, where there is room for one.
        const seam = y1 - y0 > 4 ? 1 : 0;
        context.fillRect(x0, y0, Math.max(x1 - x0 - (x1 < field.x(tree.end[
          box.i]) ? 0 : seam), 1), Math.max(y1 - y0 - seam, .6));
        if (live.has(id) && to === box.parts.at(-1)[1]) {
          context.globalAlpha = 1;
          context.strokeStyle = glow;
          context.lineWidth = 3;
          context.strokeRect(x0 + 1.5, y0 + 1.5, Math.max(x1 - x0 - 4, 2),
            Math.max(y1 - y0 - 4, 2));
        }
      }
      if (!box.places.length) continue;
      const [x0, y0, x1, y1] = box.places[0];
      const text = tree.label[box.i];
      if (text && y1 - y0 > 13 && x1 - x0 > 40) {
        context.save();
        context.beginPath();
        context.rect(x0, y0, x1 - x0 - 4, y1 - y0);
        context.clip();
        context.font = "11px system-ui, sans-serif";
        context.fillStyle = !isNumber ? words
          : good(value) > .55 ? "#10141b" : "#fff";
        context.fillText(text.replaceAll(";", "  "), x0 + 6,
          Math.min((y0 + y1) / 2, y0 + 40) + 4);
        context.restore();
      }
    }
    context.restore();
  }, {tall: true});

  const boxAt = event => {
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    return boxes.find(b => b.places?.some(([x0, y0, x1, y1]) =>
      px >= x0 && px <= x1 && py >= y0 && py <= y1));
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
