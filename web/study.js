// One study: its best value, curves, hyper-parameters, tree and trials.
import {clock, colour, element, lines, parallel, scale,
  shown} from "./charts.js";
import {Refused} from "./data.js";
import {figures, percent, progress, state} from "./studies.js";
import {table} from "./table.js";
import {stageTree} from "./tree.js";

const CURVES_MAX = 1000; // that are drawn
const IMPORTANCE_PAUSE = 20000; // milliseconds; it takes the service a while

/** Groups rows of columns by trial: Map of trial -> {step: [], value: []}. */
function byTrial(curves) {
  const result = new Map();
  curves.trial.forEach((trial, i) => {
    let known = result.get(trial);
    if (!known) result.set(trial, known = {step: [], value: []});
    known.step.push(curves.step[i]);
    known.value.push(curves.value[i]);
  });
  return result;
}

/** How good values are, from 0 to 1. */
function ranks(values, maximize) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  const low = finite[0];
  // The worst tenth is one: an outlier must not hide all else.
  const from = maximize ? finite[Math.floor(finite.length / 10)] : low;
  const to = maximize ? finite.at(-1)
    : finite[Math.ceil(finite.length * .9) - 1] ?? low;
  return x => {
    if (!Number.isFinite(x)) return NaN;
    const r = to === from ? 1 : (x - from) / (to - from);
    return Math.min(Math.max(maximize ? r : 1 - r, 0), 1);
  };
}

const card = (title, ...nodes) => element("section", {class: "card"},
  element("h2", {}, title), ...nodes);
const wide = node => (node.classList.add("wide"), node);

export function studyView(id) {
  const go = trial => { location.hash = `#/study/${id}/trial/${trial}`; };
  const head = element("div");
  const best = lines("Best value over time",
    {xLabel: "seconds", yLabel: ""});
  const curves = lines("Learning curves", {xLabel: "step",
    onPick: s => go(s.trial)});
  let kept = null, rowsOf = [], last = null;
  const many = parallel("Hyper-parameters of trials", next => {
    kept = next;
    draw();
  });
  const tree = stageTree("Stage tree of the study", node => {
    marked = node;
    drawTree();
  });
  let marked = null;
  const log = element("input", {type: "checkbox"});
  log.addEventListener("change", () => draw());
  const clear = element("button", {type: "button"}, "Show all trials");
  clear.addEventListener("click", () => many.clear());
  const fit = element("button", {type: "button"}, "Whole tree");
  fit.addEventListener("click", () => {
    marked = null;
    tree.fit();
    drawTree();
  });
  const count = element("span");
  const trials = table([
    {name: "trial", label: "trial", number: true, cell: x => element("a",
      {href: `#/study/${id}/trial/${x.trial}`}, String(x.trial))},
    {name: "state", label: "state", cell: x => state(x.state)},
    {name: "value", label: "best", number: true, cell: x => shown(x.value, 6)},
    {name: "step", label: "at step", number: true},
    {name: "steps", label: "steps", number: true},
    {name: "shared", label: "shared", number: true},
    {name: "what", label: "what differs"},
  ], {label: "Trials"});
  const common = table([
    {name: "parameter", label: "hyper-parameter"},
    {name: "share", label: "share", cell: x => progress(x.share, 1)},
    {name: "percent", label: "%", number: true, key: x => x.share,
      cell: x => percent(x.share, 1)},
    {name: "trials", label: "trials with it", number: true},
  ], {label: "Importance of hyper-parameters"});
  const commonNote = element("span");
  let commonAt = -Infinity;
  const treeNote = element("span", {class: "quiet"});
  const body = element("div", {class: "grid"},
    card("Best value over time", best.node),
    card("Learning curves", element("div", {class: "tools"},
      element("label", {}, log, " logarithmic"), count), curves.node),
    wide(card("Hyper-parameters", element("div", {class: "tools"},
      element("span", {}, "drag along an axis to choose; the other charts ",
        "and the table follow"), clear), many.node)),
    wide(card("What the best have in common", element("div",
      {class: "tools"}, commonNote), common.node)),
    wide(card("Stage tree", element("div", {class: "tools"},
      element("span", {}, "a bar is training that is done once, as high as ",
        "the trials that share it; wheel and drag to move, click to mark"),
      fit, treeNote), tree.node)),
    wide(card("Trials", trials.node)));
  const node = element("div", {}, head, body);

  function drawTree() {
    if (!last?.tree) return;
    const {tree: nodes, values, live, study} = last;
    let on = null;
    if (marked !== null) {
      on = new Set();
      const parents = new Map(nodes.id.map((x, i) => [x, nodes.parent[i]]));
      const below = new Map();
      nodes.id.forEach((x, i) => {
        if (!below.has(nodes.parent[i])) below.set(nodes.parent[i], []);
        below.get(nodes.parent[i]).push(x);
      });
      for (let x = marked; parents.has(x); x = parents.get(x)) on.add(x);
      const stack = [marked];
      while (stack.length) {
        const x = stack.pop();
        on.add(x);
        stack.push(...(below.get(x) ?? []));
      }
    }
    tree.set({tree: nodes, values, live, marked: on,
      maximize: study.direction === "maximize"});
    treeNote.textContent = nodes.all_nodes > nodes.id.length
      ? `the first ${nodes.id.length} of ${nodes.all_nodes} stages` : "";
  }

  function draw() {
    if (!last) return;
    const {study, data, names, results} = last;
    const maximize = study.direction === "maximize";
    const rank = ranks(rowsOf.map(x => x.value), maximize);
    const seen = kept ? rowsOf.filter((_, i) => kept.has(i)) : rowsOf;
    trials.set(seen);
    const drawnRows = [...seen].sort((a, b) => (rank(b.value) || 0)
      - (rank(a.value) || 0)).slice(0, CURVES_MAX).reverse();
    curves.set(drawnRows.filter(x => results.has(x.trial)).map(x => ({
      trial: x.trial, name: `trial ${x.trial}${x.what ? `: ${x.what}` : ""}`,
      x: results.get(x.trial).step,
      y: results.get(x.trial).value.map(v => v === null ? NaN : v),
      colour: scale(rank(x.value)), faint: seen.length > 300
        && !(rank(x.value) > .95),
    })), {logY: log.checked});
    count.textContent = `${shown(seen.length)} of ${shown(rowsOf.length)} trials`
      + (seen.length > CURVES_MAX ? `, the best ${CURVES_MAX} drawn` : "");
    many.set([...names.map(name => ({name, values: data.params[name]})),
      {name: study.metric, values: data.value}],
    rowsOf.map(x => scale(rank(x.value))));
  }

  /** Where the best tenth of the trials differ from all of them. */
  async function drawCommon(ask) {
    if (performance.now() - commonAt < IMPORTANCE_PAUSE) return;
    commonAt = performance.now();
    let found = null, why = "";
    try {
      found = await ask(`api/studies/${id}/importance`);
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      why = refused.message.replace(/^\w+: /, "");
    }
    common.node.hidden = !found;
    common.set(found?.importance ?? []);
    commonNote.textContent = found ? `the best ${shown(found.best)} of the ${
      shown(found.trials)} trials with ${found.metric} at step ${shown(found.step)
    }, beside all of them (PED-ANOVA): where to look next, not what a value does`
      : why;
  }

  return {
    node,
    title: `Study ${id}`,
    async update(ask) {
      const [study, data, curve, nodes, trainers] = await Promise.all([
        ask(`api/studies/${id}`), ask(`api/studies/${id}/table`),
        ask(`api/studies/${id}/curves`), ask(`api/studies/${id}/tree`),
        ask("api/trainers")]);
      this.title = study.name;
      const done = study.delivered_steps;
      const unique = Math.max(done - study.shared_steps, 0);
      head.replaceChildren(
        element("h1", {}, study.name, " ", state(study.state)),
        element("p", {class: "sub"}, `study ${study.id}, ${study.algorithm}, ${
          study.direction} ${study.metric}, weight ${shown(study.weight)}`),
        study.reason ? element("p", {class: "note bad"}, study.reason)
          : study.waiting ? element("p", {class: "note"},
            `waits: ${study.waiting}`) : "",
        figures([
          ["best", shown(study.best?.best?.value, 6), study.best
            ? `trial ${study.best.trial}, step ${study.best.best?.step}` : ""],
          ["trials", `${shown(study.finished)} / ${shown(study.trials)}`],
          ["steps", shown(done), `of ${shown(study.asked_steps)} asked`],
          ["shared", percent(study.shared_steps, done),
            unique ? `p = ${(done / unique).toFixed(2)}` : ""],
          ["device time saved", clock(study.saved_seconds)],
          ["active for", clock(study.active_seconds)],
        ]), progress(done, study.asked_steps));
      const names = Object.keys(data.params).filter(name =>
        new Set(data.params[name]).size > 1);
      rowsOf = data.trial.map((trial, i) => ({
        trial, state: data.state[i], value: data.value[i],
        step: data.step[i], steps: data.steps[i], shared: data.shared_steps[i],
        what: names.filter(name => data.params[name][i] !== null
          && data.params[name][i] !== undefined)
          .map(name => `${name}=${shown(data.params[name][i], 4)}`).join(" "),
      }));
      const results = byTrial(curve);
      // The best value by when it was measured.
      const maximize = study.direction === "maximize";
      const start = curve.time[0] ?? 0;
      const line = {x: [], y: [], steps: true, bold: true, colour:
        colour("--accent"),
      name: `best ${study.metric}`};
      let found = null;
      curve.value.forEach((v, i) => {
        if (v === null || (found !== null && (maximize ? v <= found
          : v >= found))) return;
        found = v;
        line.x.push(curve.time[i] - start);
        line.y.push(v);
      });
      if (line.x.length) {
        line.x.push(curve.time.at(-1) - start);
        line.y.push(found);
      }
      best.set(line.x.length ? [line] : []);
      // The best result of those who are at or below a node.
      const values = new Map();
      const place = new Map(nodes.id.map((x, i) => [x, i]));
      const bestOf = new Map(data.trial.map((t, i) => [t, data.value[i]]));
      nodes.at.trial.forEach((trial, i) => {
        const v = bestOf.get(trial);
        if (v === null || v === undefined) return;
        for (let x = nodes.at.node[i]; place.has(x);
          x = nodes.parent[place.get(x)]) {
          const known = values.get(x);
          if (known === undefined || (maximize ? v > known : v < known))
            values.set(x, v);
        }
      });
      // What runs now: the deepest nodes of trials that are trained.
      const live = new Set();
      if (trainers.some(t => t.lease?.studies.includes(study.name))) {
        const running = new Set(rowsOf.filter(x => x.state === "RUNNING")
          .map(x => x.trial));
        nodes.at.trial.forEach((trial, i) => {
          if (running.has(trial)) live.add(nodes.at.node[i]);
        });
      }
      last = {study, data, names, results, values, live,
        tree: nodes};
      draw();
      drawTree();
      await drawCommon(ask);
    },
  };
}

export function trialView(id, no) {
  const head = element("div");
  const chart = lines("Values of the trial", {xLabel: "step"});
  const params = element("dl", {class: "figures"});
  const path = table([
    {name: "begin", label: "from step", number: true},
    {name: "end", label: "to", number: true},
    {name: "label", label: "what changes"},
    {name: "trials", label: "trials that share it", number: true},
  ], {label: "Stages of the trial"});
  const failure = element("div");
  const tree = stageTree("Way of the trial through the stage tree", () => {});
  const node = element("div", {}, head, failure, element("div", {class: "grid"},
    card("Values", chart.node), card("Hyper-parameters", params),
    wide(card("Its way through the stage tree", tree.node, path.node))));
  return {
    node,
    title: `Trial ${no}`,
    async update(ask) {
      const [study, data, curve, nodes] = await Promise.all([
        ask(`api/studies/${id}`), ask(`api/studies/${id}/table`),
        ask(`api/studies/${id}/curves`), ask(`api/studies/${id}/tree`)]);
      const i = data.trial.indexOf(no);
      if (i < 0) throw new Error(`study ${study.name} has no trial ${no}`);
      head.replaceChildren(
        element("h1", {}, `Trial ${no} `, state(data.state[i])),
        element("p", {class: "sub"}, "of ", element("a",
          {href: `#/study/${id}`}, study.name)),
        figures([["best", shown(data.value[i], 6), data.step[i] === null ? ""
          : `at step ${data.step[i]}`],
        ["steps", shown(data.steps[i]), `of ${shown(data.asked_steps[i])}`],
        ["shared", shown(data.shared_steps[i]), "trained for others before"]]));
      const why = data.failures[no];
      failure.replaceChildren(...(why ? [element("section",
        {class: "card"}, element("h2", {}, "Why it failed"),
        element("pre", {}, why))] : []));
      params.replaceChildren(...Object.entries(data.params)
        .filter(([, column]) => column[i] !== null)
        .map(([name, column]) => element("div", {}, element("dt", {}, name),
          element("dd", {}, element("small", {}, shown(column[i], 8))))));
      const mine = byTrial(curve).get(no) ?? {step: [], value: []};
      chart.set(mine.step.length ? [{x: mine.step, y: mine.value.map(v =>
        v === null ? NaN : v), name: `trial ${no}`, bold: true, marks: true,
      colour: colour("--accent")}] : []);
      const place = new Map(nodes.id.map((x, k) => [x, k]));
      const at = nodes.at.trial.indexOf(no);
      const way = [];
      for (let x = nodes.at.node[at]; place.has(x);
        x = nodes.parent[place.get(x)]) way.unshift(place.get(x));
      const end = nodes.at.step[at];
      path.set(way.map((k, depth) => ({begin: nodes.begin[k],
        end: depth + 1 < way.length ? nodes.begin[way[depth + 1]] : end,
        label: nodes.label[k], trials: nodes.trials[k]})));
      tree.set({tree: nodes, values: new Map(way.map(k => [nodes.id[k],
        1])), live: new Set(), marked: new Set(way.map(k => nodes.id[k])),
      maximize: true});
    },
  };
}
