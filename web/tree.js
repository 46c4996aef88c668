// The stage tree of a study: bars from step to step, as high as trials pass.
import {axes, colour, element, hint, KINDS, plot, range, ranks, say,
  scale, shown, span, tone} from "./base.js";
import {check, choice} from "./charts.js";
import {column} from "./data.js";
import {legend, panel} from "./panel.js";

/** How a stage looks between bad (0) and good (1); null: it has no value. */
const shade = x => Number.isFinite(x)
  ? {colour: scale(x), words: tone(x) > .55 ? "#10141b" : "#fff"} : null;
const kindOf = i => ({colour: KINDS[Math.min(i, KINDS.length - 1)],
  words: "#10141b"});

const AROUND = .08; // of a stage that is zoomed to, on each side
const LETTER = 6; // pixels that a letter takes, about

/** @returns {node, set({tree, look, words, live, marked}), fit()}; look(i) is
 * how a stage looks: shade or kindOf
 * @param onPick is told the node that was clicked */
export function stageTree(label, onPick) {
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
    const stack = [...(children.get(0) ?? [])].reverse().map(i =>
      [i, 0, undefined]);
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
    if (!data || !boxes.length) return data?.empty ?? "Nothing was trained yet";
    const {tree, look, live, marked} = data;
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
      const id = tree.id[box.i], how = look(box.i);
      box.places = [];
      for (const [from, to, height] of box.parts) {
        const x0 = field.x(from), x1 = field.x(to);
        const y0 = yOf(box.y), y1 = yOf(box.y + height);
        if (x1 < field.left || x0 > field.right || y1 < field.top
          || y0 > field.bottom) continue;
        box.places.push([x0, y0, x1, y1]);
        context.globalAlpha = !marked || marked.has(id) ? 1 : how ? .25 : .7;
        context.fillStyle = how?.colour ?? none;
        // A seam of a pixel, where there is room for one.
        const seam = y1 - y0 > 4 ? 1 : 0;
        context.fillRect(x0, y0, Math.max(x1 - x0 - (x1 < field.x(tree.end[
          box.i]) ? 0 : seam), 1), Math.max(y1 - y0 - seam, .6));
        if (live.has(id) && to === box.parts.at(-1)[1]) {
          // Of two colours, one of which is seen on any other.
          context.globalAlpha = 1;
          for (const [line, wide] of [[words, 5], [glow, 2]]) {
            context.strokeStyle = line;
            context.lineWidth = wide;
            context.strokeRect(x0 + 2.5, y0 + 2.5, Math.max(x1 - x0 - 6, 2),
              Math.max(y1 - y0 - 6, 1));
          }
        }
      }
      if (!box.places.length) continue;
      // As far as what is seen of the stage is high enough for a line of it.
      const text = tree.label[box.i];
      const high = box.places.map(([x0, y0, x1, y1]) => [
        Math.max(x0, field.left), Math.max(y0, field.top),
        Math.min(x1, field.right), Math.min(y1, field.bottom)])
        .filter(([, top, , low]) => low - top > 13);
      const wide = high.length ? high.at(-1)[2] - high[0][0] - 10 : 0;
      if (text && wide >= LETTER * text.split(";")[0].length) {
        const [x0, y0] = high[0], [, , x1, y1] = high.at(-1);
        context.save();
        context.beginPath();
        context.rect(x0, y0, x1 - x0 - 4, y1 - y0);
        context.clip();
        context.font = "11px system-ui, sans-serif";
        context.fillStyle = how?.words ?? words;
        const low = Math.min((y0 + y1) / 2, y0 + 40) + 4;
        context.fillText(text.replaceAll(";", "  "), x0 + 6, low);
        context.restore();
      }
    }
    context.restore();
  }, {tall: true});

  const words = i => `${data.tree.label[i] || "no change"}\nsteps ${
    data.tree.begin[i]} to ${data.tree.end[i]}, ${data.tree.trials[i]} trial${
    data.tree.trials[i] === 1 ? "" : "s"}${data.words(i)}${
    data.live.has(data.tree.id[i]) ? `\nbeing trained${data.by(i)}` : ""}`;
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
  /** Shows a stage, and a little of what is around it. */
  const zoomTo = box => {
    const {begin, end, trials} = data.tree, {i} = box;
    const wide = Math.max(end[i] - begin[i], 1) / last;
    const high = trials[i] / rows;
    view = {x: begin[i] / last - wide * AROUND, y: box.y / rows - high * AROUND,
      w: wide * (1 + 2 * AROUND), h: high * (1 + 2 * AROUND)};
    limit();
  };
  it.canvas.addEventListener("dblclick", event => {
    const box = boxAt(event);
    if (box) zoomTo(box);
  });
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
    else if (event.key === "Enter" && boxes[stage]) zoomTo(boxes[stage]);
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

/** The values that a label says: hyper-parameter -> its value, as text. What
 * is in quotes may hold the characters that part them. */
const QUOTED = '"(?:\\\\.|[^"\\\\])*"';
const VALUE = new RegExp(`((?:${QUOTED}|[^";=])+)=((?:${QUOTED}|[^";])*)`, "g");
const valuesIn = label =>
  [...label.matchAll(VALUE)].map(([, name, value]) => [name, value]);

/** Those trainers that train a stage: what they train is what holds in it, and
 * they have come to it. */
function atWorkOn(tree, place, trainers, i) {
  if (i === undefined) return [];
  const values = new Map(wayTo(tree, place, tree.id[i]).flatMap(k =>
    valuesIn(tree.label[k])));
  return trainers.filter(({lease}) => lease.step >= tree.begin[i]
    && valuesIn(lease.values).every(([name, value]) =>
      (values.get(name) ?? value) === value));
}

const UNKNOWN = "not known";

/** Who has trained stages, by the stage. @param work docs/http.md#columns */
export function workOf(work) {
  const result = new Map();
  work.node.forEach((node, i) => {
    if (!result.has(node)) result.set(node, []);
    result.get(node).push({trainer: work.trainer[i], from: work.from_step[i],
      to: work.to_step[i], begin: work.begin[i], end: work.end[i]});
  });
  return result;
}

const LEFT = new Set(["PRUNED", "FAILED", "CANCELLED"]);

/** The part of a tree that some trials pass. @param keeps(trial) */
function partOf(nodes, keeps) {
  const place = new Map(nodes.id.map((x, i) => [x, i]));
  const trials = nodes.id.map(() => 0), end = nodes.id.map(() => 0);
  const at = {trial: [], node: [], step: []};
  nodes.at.trial.forEach((trial, i) => {
    if (!keeps(trial)) return;
    for (const name of ["trial", "node", "step"])
      at[name].push(nodes.at[name][i]);
    let last = nodes.at.step[i];
    for (const k of wayTo(nodes, place, nodes.at.node[i]).reverse()) {
      ++trials[k];
      end[k] = Math.max(end[k], last);
      last = nodes.begin[k];
    }
  });
  const some = nodes.id.map((_, i) => i).filter(i => trials[i]);
  const of = name => some.map(i => nodes[name][i]);
  const value = column(nodes.value), seconds = column(nodes.seconds);
  return {...nodes, id: of("id"), parent: of("parent"), begin: of("begin"),
    label: of("label"), end: some.map(i => end[i]),
    trials: some.map(i => trials[i]), value: some.map(i => value[i]),
    seconds: some.map(i => seconds[i]), at, all_nodes: some.length,
    of_nodes: nodes.all_nodes};
}

/** The tree of a study in its card. set({study, nodes, history, trainers, ask,
 * kept: the trials that are shown, or null: all}) */
export function treePanel(id) {
  let last = null, values = new Map(), marked = null, of = null, place = null;
  let kinds = null; // what was asked for: {by, nodes, names, at(i), words(i)}
  const chart = stageTree("Stage tree of the study", node => {
    marked = node;
    trial.value = "";
    draw(true);
  });
  const by = choice("colour", [["best", "best value of its trials"],
    ["value", "value at its end"], ["trials", "number of trials"],
    ["seconds", "time of training"], ["device", "device time"],
    ["trainer", "trainer"], ["study", "other studies"]], () => draw(true));
  const colours = legend();
  let whole = null; // what was set last
  const include = check("include pruned and failed", () => {
    last = null;
    set(whole, true);
  });
  const fit = element("button", {type: "button"}, "Whole tree");
  fit.addEventListener("click", () => {
    marked = null;
    trial.value = "";
    chart.fit();
    draw(true);
  });
  // The way of a trial, by its number.
  const trial = element("input", {type: "number", min: 0, step: 1,
    class: "narrow", placeholder: "number"});
  const ofTrial = () => last.nodes.at.trial.indexOf(
    trial.value === "" ? -1 : Number(trial.value));
  trial.addEventListener("input", () => {
    marked = null;
    draw(true);
  });
  const number = (name, label = name) => ({name, label, number: true});
  const card = panel("Stage tree", {chart: chart.node, wide: true,
    tools: [element("span", {}, "a bar is a stage: steps that are trained ",
      "once, as high as the number of trials that share them; wheel and drag ",
      "to move, click to mark a stage, double-click to zoom to it"),
    by.node, element("label", {}, "path of trial ", trial), include.node, fit,
    colours.node],
    columns: () => [number("id", "stage"), number("begin", "from step"),
      number("end", "to"), number("trials"),
      ...[["best", "best value"], ["value", "value at end"]].map(x =>
        ({...number(...x), best: last.study.direction})),
      {name: "label", label: "changes"}],
    rows: () => last.nodes.id.map((id, i) => ({id, begin: last.nodes.begin[i],
      end: last.nodes.end[i], trials: last.nodes.trials[i],
      best: values.get(id) ?? null, value: of.value[i],
      label: last.nodes.label[i]}))});

  /** The best result of the trials at or below a node. A stage that only failed
   * trials have passed has no value. */
  function gather() {
    const {study, nodes, history} = last;
    const maximize = study.direction === "maximize";
    const counts = new Set();
    nodes.at.trial.forEach((trial, i) => {
      if (!history.counts(trial)) return;
      for (let x = nodes.at.node[i]; place.has(x) && !counts.has(x);
        x = nodes.parent[place.get(x)]) counts.add(x);
    });
    of = {value: column(nodes.value).map((x, i) => counts.has(nodes.id[i]) ? x
      : null), seconds: column(nodes.seconds)};
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
    const {nodes} = last, at = ofTrial();
    if (marked === null && at >= 0)
      return new Set(wayTo(nodes, place, nodes.at.node[at]).map(i =>
        nodes.id[i]));
    if (marked === null || !place.has(marked)) return null;
    const on = new Set(wayTo(nodes, place, marked).map(i => nodes.id[i]));
    const below = new Set([marked]);
    nodes.id.forEach((x, i) => { // parents come first
      if (!below.has(nodes.parent[i])) return;
      on.add(x);
      below.add(x);
    });
    return on;
  }
  /** Asks who trained the stages, or which studies pass them. */
  async function know() {
    const {study, nodes, ask} = last;
    const what = by.value;
    kinds = {by: what, nodes, names: [], at: () => null, words: () => ""};
    const found = new Map(); // stage -> its kind, or several
    try {
      if (what === "trainer") {
        for (const [node, all] of workOf(await ask(`api/studies/${id}/work`)))
          found.set(node, [...new Set(all.map(x => x.trainer ?? UNKNOWN))]);
      } else {
        const passed = await ask(`api/studies/${id}/sharing`);
        passed.node.forEach((node, i) => {
          found.set(node, passed.studies[i].filter(x => x !== study.id));
        });
      }
    } catch (why) {
      if (why.name === "AbortError") throw why;
      return; // the page says already that nobody answers
    }
    const of = x => what === "trainer" ? x : `study ${x}`;
    const text = list => list.length > 1 ? what === "study" ? "several others"
      : "several, one after the other"
      : list.length ? `${what === "study" ? "and " : ""}${of(list[0])}`
        : "this study only";
    const names = [...new Set(nodes.id.filter(x => found.has(x)).map(x =>
      text(found.get(x))))].sort();
    kinds = {by: what, nodes, names,
      at: x => found.has(x) ? names.indexOf(text(found.get(x))) : null,
      words: x => !found.has(x) || !found.get(x).length ? ""
        : `\n${what === "study" ? "with " : "trained by "}${
          found.get(x).map(of).join(", ")}`};
    draw(true);
  }
  /** How stages look, and what that says. */
  function looks() {
    const {study, nodes} = last;
    if (by.value === "trainer" || by.value === "study") {
      if (kinds?.by !== by.value || kinds.nodes !== nodes) know();
      const at = nodes.id.map(x => kinds.at(x));
      colours.show([...kinds.names.map((text, i) => ({text,
        colour: kindOf(i).colour})).slice(0, KINDS.length),
      ...at.includes(null) ? [{text: by.value === "trainer"
        ? "not measured" : "…", colour: "var(--line)"}] : []]);
      return i => at[i] === null ? null : kindOf(at[i]);
    }
    const isValue = by.value === "best" || by.value === "value";
    const raw = {best: nodes.id.map(x => values.get(x)), value: of.value,
      trials: nodes.trials, seconds: of.seconds,
      device: nodes.id.map((_, i) => deviceOf(i))}[by.value];
    const ends = range(raw);
    const [text, name] = {trials: [shown, "trials"], seconds: [span,
      "time after the start"], device: [span, "device time"]}[by.value]
      ?? [shown, study.metric];
    if (isValue) {
      const good = ranks(raw, study.direction === "maximize");
      colours.values(name, good, raw.some(x => !Number.isFinite(x))
        ? "no value" : "", "var(--line)");
      return i => shade(good(raw[i] ?? NaN));
    }
    colours.node.hidden = !ends;
    if (ends) colours.ramp(text(ends[0]), text(ends[1]), name);
    // A few stages may have most of it: by magnitude, but for moments.
    const f = by.value === "seconds" ? x => x : x => Math.log1p(x / unit);
    const unit = by.value === "trials" ? 1 : study.step_seconds || 1;
    const [low, high] = (ends ?? [0, 1]).map(f);
    return i => shade(raw[i] === null ? NaN : high > low
      ? (f(raw[i]) - low) / (high - low) : 1);
  }
  /** The seconds that a stage took, by the mean step of its workload. */
  const deviceOf = i => (last.nodes.end[i] - last.nodes.begin[i])
    * last.study.step_seconds;
  function trainersOf(i) {
    const some = atWorkOn(last.nodes, place, last.work, i);
    return some.length ? ` by ${some.map(x => `${x.name} (at step ${
      shown(x.lease.step)} of ${shown(x.lease.to_step)})`).join(", ")}` : "";
  }
  function draw(now = false) {
    if (!last) return;
    const {study, nodes, live} = last;
    const look = looks();
    chart.set({tree: nodes, live, by: trainersOf, marked: around(), look,
      empty: nodes.of_nodes ? "No stage of the trials that are shown" : null,
      words: i => `${values.has(nodes.id[i]) ? `\nbest value: ${
        shown(values.get(nodes.id[i]), 6)}` : ""}${of.value[i] === null ? ""
        : `\nvalue at its end: ${shown(of.value[i], 6)}`}${
        of.seconds[i] === null ? "" : `\nlast trained ${
          span(of.seconds[i])} after the start`}${
        study.step_seconds ? `\nabout ${span(deviceOf(i))} of device time`
          : ""}${kinds?.by === by.value ? kinds.words(nodes.id[i]) : ""}`},
    now);
    const all = nodes.of_nodes ?? nodes.all_nodes;
    const some = shown(nodes.id.length);
    const asked = trial.value !== "" && ofTrial() < 0
      ? `; trial ${trial.value} is not among the trials that are shown` : "";
    card.note(`${nodes.all_nodes > nodes.id.length ? `the first ${some} of `
      : nodes.id.length < all ? `${some} of ` : ""}${shown(all)} stage${
      all === 1 ? "" : "s"}${asked}`);
    card.refresh();
  }
  function set(next, now = false) {
    const {study, history, trainers, ask} = next;
    const live = new Set();
    const isNew = !last || whole.nodes !== next.nodes
      || whole.kept !== next.kept;
    whole = next;
    const {kept} = next, goesOn = no => include.on
      || !LEFT.has(history.rows[history.place.get(no)]?.state);
    const nodes = !isNew ? last.nodes : include.on && !kept ? next.nodes
      : partOf(next.nodes, no => goesOn(no) && (!kept || kept.has(no)));
    const places = isNew ? new Map(nodes.id.map((x, i) => [x, i])) : place;
    const work = trainers.filter(x => !x.lost
      && x.lease?.study_ids.includes(study.id));
    // What runs now: of the last nodes of trials, those that one is at.
    if (work.length)
      nodes.at.trial.forEach((trial, i) => {
        const node = nodes.at.node[i];
        if (!live.has(node) && history.rows[history.place.get(trial)]?.state
          === "RUNNING" && atWorkOn(nodes, places, work, places.get(node))
          .length) live.add(node);
      });
    if (last) Object.assign(last, {trainers, work});
    const same = last && !isNew && live.size === last.live.size
      && [...live].every(x => last.live.has(x));
    last = {study, nodes, history, live, trainers, work, ask};
    if (isNew) {
      place = places;
      gather();
    }
    if (!same) draw(now);
  }
  return {node: card.node, set};
}

/** The trials that pass each stage of a trial's way, but for itself. */
function sharersOf(nodes, place, way, trial) {
  const depths = new Map(way.map((k, depth) => [nodes.id[k], depth]));
  const deepest = new Map(); // stage -> how far those below it come on the way
  const found = way.map(() => []);
  nodes.at.trial.forEach((other, i) => {
    if (other === trial) return;
    const climbed = [];
    let x = nodes.at.node[i];
    while (place.has(x) && !depths.has(x) && !deepest.has(x)) {
      climbed.push(x);
      x = nodes.parent[place.get(x)];
    }
    const to = depths.get(x) ?? deepest.get(x) ?? -1;
    for (const y of climbed) deepest.set(y, to);
    for (let depth = 0; depth <= to; ++depth) found[depth].push(other);
  });
  return found;
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
      look: i => shade(on.has(nodes.id[i]) ? 1 : NaN), words: () => ""});
    const value = column(nodes.value), seconds = column(nodes.seconds);
    const others = sharersOf(nodes, place, way, trial);
    return way.map((k, depth) => ({id: nodes.id[k], value: value[k],
      seconds: seconds[k], begin: nodes.begin[k],
      end: depth + 1 < way.length ? nodes.begin[way[depth + 1]]
        : nodes.at.step[at], label: nodes.label[k], others: others[depth]}));
  }};
}
