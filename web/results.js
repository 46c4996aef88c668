// What came out: the best value over time, learning curves, how values are
// spread, and metrics against each other.
import {colour, element, ranks, scale, shown, sorted, span} from "./base.js";
import {check, choice, lines, points} from "./charts.js";
import {column, Refused} from "./data.js";
import {panel} from "./panel.js";

const CURVES_MAX = 1000; // that are drawn

const number = (name, label = name) => ({name, label, number: true});

/** The best value over time, trials, or what it took. */
export function bestPanel() {
  const chart = lines("Best value over time");
  let last = null, rows = [];
  const over = choice("over", [["seconds", "time"], ["trials", "trials"],
    ["steps", "steps trained"], ["device", "device time"]], () => draw(true));
  const log = check("logarithmic", () => draw(true));
  const card = panel("Best value", {chart: chart.node,
    tools: [over.node, log.node], columns: () => [number("trial"),
      number("step"), number("value"), {...number("at", over.value),
        cell: x => shown(x.at)}], rows: () => rows});
  function draw(now = false) {
    const {study, history} = last;
    const maximize = study.direction === "maximize";
    const {trial, step, value, seconds, shared} = history.results;
    const reached = new Map(), line = {x: [], y: [], steps: true, bold: true,
      colour: colour("--accent"), name: `best ${study.metric}`};
    let found = null, trained = 0, at = 0;
    rows = [];
    for (let i = 0; i < trial.length; ++i) {
      // What another trial had got before was not trained for this one.
      trained += Math.max(step[i] - (reached.get(trial[i]) ?? 0) - shared[i],
        0);
      reached.set(trial[i], step[i]);
      at = over.value === "seconds" ? seconds[i]
        : over.value === "trials" ? reached.size
          : over.value === "steps" ? trained : trained * study.step_seconds;
      const v = value[i];
      if (v === null || (found !== null && (maximize ? v <= found
        : v >= found))) continue;
      found = v;
      line.x.push(at);
      line.y.push(v);
      rows.push({trial: trial[i], step: step[i], value: v, at});
    }
    if (line.x.length) {
      line.x.push(at);
      line.y.push(found);
    }
    const estimate = over.value === "device";
    chart.set(line.x.length ? [line] : [], {xLabel: {seconds: "seconds",
      trials: "trials", steps: "steps trained for it",
      device: "seconds of device time"}[over.value], yLabel: study.metric,
    logY: log.on, xShown: over.value === "seconds" || estimate ? span
      : shown}, now);
    card.note(estimate ? "by the mean time of a step" : "");
    card.refresh();
  }
  return {node: card.node, set(next) {
    last = next;
    draw();
  }};
}

function smooth(values, weight) {
  if (!weight) return values;
  let sum = 0, mass = 0;
  return values.map(v => {
    if (!Number.isFinite(v)) return v;
    sum = sum * weight + v * (1 - weight);
    mass = mass * weight + (1 - weight);
    return sum / mass;
  });
}

const RUNGS_MAX = 12; // that can be chosen

/** Steps at which trials were left, and how many were measured there: the rungs
 * of what prunes. @returns [[step, trials]], by step */
function rungsOf(history) {
  const left = new Set(history.rows.filter(x => x.state === "PRUNED"
    || x.state === "PAUSED").map(x => x.steps));
  left.delete(0);
  if (!left.size) return [];
  const counts = new Map();
  for (const step of history.results.step)
    counts.set(step, (counts.get(step) ?? 0) + 1);
  const last = history.results.step.reduce((a, b) => Math.max(a, b), 0);
  return [...left.add(last)].filter(x => counts.has(x)).map(x =>
    [x, counts.get(x)]).sort((a, b) => b[1] - a[1]).slice(0, RUNGS_MAX)
    .sort((a, b) => a[0] - b[0]);
}

/** Learning curves of the trials that are chosen. */
export function curvesPanel(go) {
  const chart = lines("Learning curves", {onPick: s => go(s.trial),
    xWord: "step"});
  let last = null;
  const redraw = () => draw(true);
  const logX = check("log steps", redraw), logY = check("log values", redraw);
  const slider = element("input", {type: "range", min: 0, max: .95, step: .05,
    value: 0});
  slider.addEventListener("input", redraw);
  const rung = choice("of", [], redraw);
  const card = panel("Learning curves", {chart: chart.node,
    tools: [rung.node, logX.node, logY.node, element("label", {}, "smoothing ",
      slider)],
    columns: [number("trial"), number("step"), number("value")],
    rows: () => last.seen.slice(0, CURVES_MAX).flatMap(x => {
      const curve = last.history.curves.get(x.trial);
      return curve ? curve.step.map((step, i) => ({trial: x.trial, step,
        value: curve.value[i]})) : [];
    })});
  function draw(now = false) {
    const {study, history, seen, what} = last;
    const rungs = rungsOf(history);
    rung.node.hidden = !rungs.length;
    rung.offer([["", "all trials"], ...rungs.map(([step, count]) =>
      [String(step), `the ${shown(count)} at step ${shown(step)}`])]);
    // Of a rung: the trials that were measured there, up to it.
    const at = rung.value ? Number(rung.value) : null;
    const place = x => history.curves.get(x.trial).step.indexOf(at);
    const drawn = seen.filter(x => history.curves.has(x.trial)
      && (at === null || place(x) >= 0));
    const valueOf = at === null ? x => x.value
      : x => history.curves.get(x.trial).value[place(x)];
    const rank = at === null ? last.rank : ranks(drawn.map(valueOf),
      study.direction === "maximize");
    const good = x => rank(valueOf(x)) || 0;
    const least = sorted(drawn.map(good)).at(-CURVES_MAX) ?? 0;
    const some = drawn.filter(x => good(x) >= least).sort((a, b) =>
      good(b) - good(a)).slice(0, CURVES_MAX).reverse();
    const weight = Number(slider.value);
    const shade = ranks(some.map(valueOf), study.direction === "maximize");
    chart.set(some.map(x => {
      const all = history.curves.get(x.trial);
      const curve = at === null ? all : {step: all.step.slice(0,
        place(x) + 1), value: all.value.slice(0, place(x) + 1)};
      return {trial: x.trial, get name() {
        return `trial ${x.trial}${what(x) ? `: ${what(x)}` : ""}`;
      }, x: curve.step, y: smooth(curve.value, weight),
      colour: some.length > 1 ? scale(shade(valueOf(x))) : colour("--accent"),
      faint: some.length > 100 && !(shade(valueOf(x)) > .9)};
    }), {xLabel: "step", yLabel: study.metric, logX: logX.on, logY: logY.on},
    now);
    card.note(`${shown((at === null ? seen : drawn).length)} of ${
      shown(history.rows.length)} trials${
      some.length === CURVES_MAX ? `, the best ${CURVES_MAX} drawn` : ""}`);
    card.refresh();
  }
  return {node: card.node, set(next, now) {
    last = next;
    draw(now);
  }};
}

/** How the trials' best values are spread. */
export function spreadPanel() {
  const chart = lines("Share of trials with at most this value");
  let values = [];
  const share = i => (i + 1) / values.length;
  const card = panel("Distribution of values", {chart: chart.node,
    note: "the share of trials that are no better or no worse",
    columns: [number("value"), number("share")],
    rows: () => Array.from(values, (value, i) => ({value, share: share(i)}))});
  return {node: card.node, set({study, seen}, now) {
    values = sorted(seen.map(x => x.value));
    // More than these cannot be told apart.
    const every = Math.max(1, Math.floor(values.length / 2000));
    const some = [...values.keys()].filter(i => i % every === 0
      || i === values.length - 1);
    chart.set(some.length ? [{x: some.map(i => values[i]), y: some.map(share),
      steps: true, bold: true, colour: colour("--accent"), name: "trials"}]
      : [], {xLabel: study.metric, yLabel: "share of trials", pad: .02}, now);
    card.refresh();
  }};
}

const small = /loss|error|time|seconds|latency|size|bytes|params|cost/i;

/** Metrics against each other, and those trials that none beats in both. */
export function frontPanel(id, go) {
  let last = null, found = null, shape = null;
  const chart = points("Pareto front", {onPick: i => go(shape.trials[i])});
  const redraw = () => draw(true);
  const xs = choice("across", [], redraw), ys = choice("up", [], redraw);
  const columns = () => [number("trial"), number("step"),
    ...Object.keys(found.values).map(name => ({...number(name),
      key: x => x[name], cell: x => shown(x[name])})),
    {name: "front", label: "on the front"}];
  const card = panel("Pareto front", {chart: chart.node, wide: true,
    tools: [xs.node, ys.node], columns,
    rows: () => found.trial.map((trial, i) => ({trial, step: found.step[i],
      front: shape?.on.has(trial) ? "yes" : "",
    ...Object.fromEntries(Object.entries(found.values).map(([name, v]) =>
      [name, v[i]]))}))});
  card.node.hidden = true;
  function draw(now = false) {
    const {study, kept} = last;
    const up = name => name === study.metric ? study.direction === "maximize"
      : !small.test(name);
    const a = found.values[xs.value], b = found.values[ys.value];
    const at = found.trial.map((_, i) => i).filter(i => !kept
      || kept.has(found.trial[i]));
    const [sa, sb] = [up(xs.value) ? 1 : -1, up(ys.value) ? 1 : -1];
    const order = at.filter(i => Number.isFinite(a[i])
      && Number.isFinite(b[i])).sort((i, j) => sa * (a[j] - a[i])
      || sb * (b[j] - b[i]));
    const front = [];
    for (const i of order)
      if (!front.length || sb * b[i] > sb * b[front.at(-1)]) front.push(i);
    const place = new Map(at.map((i, k) => [i, k]));
    shape = {trials: at.map(i => found.trial[i]),
      on: new Set(front.map(i => found.trial[i]))};
    chart.set({x: at.map(i => a[i]), y: at.map(i => b[i]),
      colours: new Array(at.length).fill(colour("--quiet")),
      front: front.map(i => place.get(i)), words: k => `trial ${
        shape.trials[k]}\n${xs.value} ${shown(a[at[k]])}, ${ys.value} ${
        shown(b[at[k]])}`},
    {xLabel: `${xs.value} (${sa > 0 ? "more" : "less"} is better)`,
      yLabel: `${ys.value} (${sb > 0 ? "more" : "less"} is better)`,
      logX: false}, now);
    const all = shown(at.length);
    card.note(`${front.length} of ${all} trials are beaten by none`);
    card.refresh();
  }
  function set(next, now = false) {
    last = next;
    const names = Object.keys(found?.values ?? {});
    card.node.hidden = names.length < 2;
    if (names.length < 2) return;
    const {metric} = next.study;
    ys.offer(names.map(x => [x, x]), names.includes(metric) ? metric
      : names[0]);
    xs.offer(names.map(x => [x, x]), names.find(x => x !== ys.value));
    draw(now);
  }
  return {node: card.node, set, async read(next, ask) {
    try {
      const answer = await ask(`api/studies/${id}/front`);
      found = {...answer, values: Object.fromEntries(Object.entries(
        answer.values).map(([name, x]) => [name, column(x)]))};
    } catch (why) {
      if (!(why instanceof Refused)) throw why;
    }
    set(next);
  }};
}
