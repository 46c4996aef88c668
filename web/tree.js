// The stage tree of a study: bars from step to step, as high as trials pass.
import {axes, clock, colour, element, hint, plot, range, ranks, say, scale,
  shown} from "./base.js";
import {choice} from "./charts.js";
import {column} from "./data.js";
import {panel} from "./panel.js";

/** @returns {node, set({tree, shade, words, live, marked}), fit()}
 * @param onPick is told the node that was clicked */
function stageTree(label, onPick) {
  let data = null, boxes = [], rows = 1, last = 1;
  let view = {x: 0, y: 0, w: 1, h: 1}; // the part that is seen, of 1 by 1
  let moved = false, drag = null, stage = -1;

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

  const it = plot(label, function* (context, svg, width, height) {
    if (!data || !boxes.length) return "Nothing was trained yet";
    const {tree, shade, live, marked} = data;
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
    const glow = colour("--glow"), words = colour("--text");
    const none = colour("--line");
    let count = 0;
    for (const box of boxes) {
      if (++count % 1000 === 0) yield;
      const id = tree.id[box.i], good = shade(box.i);
      const isNumber = Number.isFinite(good);
      box.places = [];
      for (const [from, to, height] of box.parts) {
        const x0 = field.x(from), x1 = field.x(to);
        const y0 = yOf(box.y), y1 = yOf(box.y + height);
        if (x1 < field.left || x0 > field.right || y1 < field.top
          || y0 > field.bottom) continue;
        box.places.push([x0, y0, x1, y1]);
        context.globalAlpha = !marked || marked.has(id) ? 1 : .18;
        context.fillStyle = isNumber ? scale(good) : none;
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
          : good > .55 ? "#10141b" : "#fff";
        context.fillText(text.replaceAll(";", "  "), x0 + 6,
          Math.min((y0 + y1) / 2, y0 + 40) + 4);
        context.restore();
      }
    }
    context.restore();
  }, {tall: true});

  const words = i => `${data.tree.label[i] || "as before"}\nsteps ${
    data.tree.begin[i]} to ${data.tree.end[i]}, ${data.tree.trials[i]} trial${
    data.tree.trials[i] === 1 ? "" : "s"}${data.words(i)}${
    data.live.has(data.tree.id[i]) ? "\nbeing trained" : ""}`;
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
    hint(event, words(box.i));
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
    else if (event.key === "n" || event.key === "p") {
      // From stage to stage, and what it is.
      stage = Math.min(Math.max(stage + (event.key === "n" ? 1 : -1), 0),
        boxes.length - 1);
      if (!boxes[stage]) return;
      say(words(boxes[stage].i).replaceAll("\n", ", "));
      onPick(data.tree.id[boxes[stage].i]);
    } else return;
    event.preventDefault();
  });
  return {
    node: it.node,
    set(next, now = false) {
      const before = data?.tree;
      data = next;
      if (before !== next.tree) layout();
      if (now) it.redraw();
      else it.update();
    },
    fit() {
      view = {x: 0, y: 0, w: 1, h: 1};
      it.redraw();
    },
  };
}

/** The stages on the way to a node, the node last, by their places. */
function wayTo(tree, place, node) {
  const way = [];
  for (let x = node; place.has(x); x = tree.parent[place.get(x)])
    way.unshift(place.get(x));
  return way;
}

/** The tree of a study in its card. */
export function treePanel() {
  let last = null, values = new Map(), marked = null, of = null, place = null;
  const chart = stageTree("Stage tree of the study", node => {
    marked = node;
    draw(true);
  });
  const by = choice("colour", [["best", "best that came of it"],
    ["value", "value at its end"], ["trials", "trials that share it"],
    ["seconds", "when it was trained"]], () => draw(true));
  const fit = element("button", {type: "button"}, "Whole tree");
  fit.addEventListener("click", () => {
    marked = null;
    chart.fit();
    draw(true);
  });
  const number = (name, label = name) => ({name, label, number: true});
  const card = panel("Stage tree", {chart: chart.node, wide: true,
    tools: [element("span", {}, "a bar is training that is done once, as high ",
      "as the trials that share it; wheel and drag to move, click to mark"),
    by.node, fit],
    columns: [number("id", "stage"), number("begin", "from step"),
      number("end", "to"), number("trials", "trials that share it"),
      number("best", "best of it"), number("value", "at its end"),
      {name: "label", label: "what changes"}],
    rows: () => last.nodes.id.map((id, i) => ({id, begin: last.nodes.begin[i],
      end: last.nodes.end[i], trials: last.nodes.trials[i],
      best: values.get(id) ?? null, value: of.value[i],
      label: last.nodes.label[i]}))});

  /** The best result of those who are at or below a node. */
  function gather() {
    const {study, nodes, history} = last;
    const maximize = study.direction === "maximize";
    values = new Map();
    nodes.at.trial.forEach((trial, i) => {
      const v = history.rows[history.place.get(trial)]?.value;
      if (v === null || v === undefined) return;
      for (let x = nodes.at.node[i]; place.has(x);
        x = nodes.parent[place.get(x)]) {
        const known = values.get(x);
        if (known !== undefined && (maximize ? v <= known : v >= known)) break;
        values.set(x, v);
      }
    });
  }
  /** What is marked: all that leads to it and comes after it. */
  function around() {
    if (marked === null || !place.has(marked)) return null;
    const {nodes} = last;
    const on = new Set(wayTo(nodes, place, marked).map(i => nodes.id[i]));
    const below = new Set([marked]);
    nodes.id.forEach((x, i) => { // parents come first
      if (!below.has(nodes.parent[i])) return;
      on.add(x);
      below.add(x);
    });
    return on;
  }
  function draw(now = false) {
    if (!last) return;
    const {study, nodes, live} = last;
    const maximize = study.direction === "maximize";
    const raw = {best: nodes.id.map(x => values.get(x)), value: of.value,
      trials: nodes.trials.map(x => Math.log(x)), seconds: of.seconds}[
      by.value];
    const isValue = by.value === "best" || by.value === "value";
    const span = range(raw) ?? [0, 1];
    const good = isValue ? ranks(raw, maximize)
      : x => span[1] > span[0] ? (x - span[0]) / (span[1] - span[0]) : 1;
    chart.set({tree: nodes, live, marked: around(),
      shade: i => raw[i] === null || raw[i] === undefined ? NaN : good(raw[i]),
      words: i => `${values.has(nodes.id[i]) ? `\nbest of it: ${
        shown(values.get(nodes.id[i]), 6)}` : ""}${of.value[i] === null ? ""
        : `\nat its end: ${shown(of.value[i], 6)}`}${of.seconds[i] === null
        ? "" : `\nlast trained ${clock(of.seconds[i])} after the beginning`}`},
    now);
    card.note(nodes.all_nodes > nodes.id.length
      ? `the first ${shown(nodes.id.length)} of ${shown(nodes.all_nodes)} stages`
      : `${shown(nodes.id.length)} stages`);
    card.refresh();
  }
  return {node: card.node, set({study, nodes, history, trainers}) {
    const live = new Set();
    const isNew = last?.nodes !== nodes;
    // What runs now: the last nodes of trials that are trained.
    if (trainers.some(t => t.lease?.studies.includes(study.name)))
      nodes.at.trial.forEach((trial, i) => {
        if (history.rows[history.place.get(trial)]?.state === "RUNNING")
          live.add(nodes.at.node[i]);
      });
    const same = last && !isNew && live.size === last.live.size
      && [...live].every(x => last.live.has(x));
    last = {study, nodes, history, live};
    if (isNew) {
      place = new Map(nodes.id.map((x, i) => [x, i]));
      of = {value: column(nodes.value), seconds: column(nodes.seconds)};
      gather();
    }
    if (!same) draw();
  }};
}

/** The way of one trial. set(nodes, trial) @returns its stages */
export function wayTree() {
  const chart = stageTree("Way of the trial through the stage tree", () => {});
  return {node: chart.node, set(nodes, trial) {
    const place = new Map(nodes.id.map((x, i) => [x, i]));
    const at = nodes.at.trial.indexOf(trial);
    const way = wayTo(nodes, place, nodes.at.node[at]);
    const on = new Set(way.map(k => nodes.id[k]));
    chart.set({tree: nodes, live: new Set(), marked: on,
      shade: i => on.has(nodes.id[i]) ? .6 : NaN, words: () => ""});
    return way.map((k, depth) => ({begin: nodes.begin[k],
      end: depth + 1 < way.length ? nodes.begin[way[depth + 1]]
        : nodes.at.step[at], label: nodes.label[k], trials: nodes.trials[k]}));
  }};
}
