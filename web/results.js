// What came out: the best value over time, learning curves, how values are
// spread, and metrics against each other.
import {colour, element, KINDS, ranks, scale, shown, sorted, span, timeUnit}
  from "./base.js";
import {check, choice, lines, points} from "./charts.js";
import {column, Refused} from "./data.js";
import {legend, panel} from "./panel.js";

const CURVES_MAX = 1000; // that are drawn

const number = (name, label = name) => ({name, label, number: true});

/** Each trial's best value, and the best so far: over trials, time, or cost. */
export function historyPanel(go) {
  const chart = lines("History", {onPick: (s, i) => go(s.trials[i])});
  let last = null, rows = [];
  const over = choice("x axis", [["trial", "trial"], ["seconds", "time"],
    ["steps", "steps trained"], ["device", "device time"]], () => draw(true));
  const log = check("log values", () => draw(true));
  const colours = legend();
  const card = panel("History", {chart: chart.node,
    tools: [over.node, log.node, colours.node], columns: () => [
      number("trial"), number("step"), {...number("value", `best ${
        last.study.metric}`), best: last.study.direction},
      {...number("at", LABELS[over.value][0]), cell: x =>
        LABELS[over.value][1] ? span(x.at) : shown(x.at)},
      number("so_far", "best so far")], rows: () => rows});

  /** Where trials are on the axis, in its order: [{trial, step, value, at}]. */
  function placed() {
    const {study, history, seen} = last;
    const some = seen.filter(x => Number.isFinite(x.value));
    if (over.value === "trial")
      return some.map(x => ({trial: x.trial, step: x.step, value: x.value,
        at: x.trial})).sort((a, b) => a.at - b.at);
    const {trial, step, seconds, shared} = history.results;
    const rowOf = new Map(some.map(x => [x.trial, x])), reached = new Map();
    const result = [];
    let trained = 0;
    for (let i = 0; i < trial.length; ++i) {
      // Steps that another trial had before were not trained for this one.
      trained += Math.max(step[i] - (reached.get(trial[i]) ?? 0) - shared[i],
        0);
      reached.set(trial[i], step[i]);
      const row = rowOf.get(trial[i]);
      if (row?.step === step[i]) result.push({trial: row.trial, step: step[i],
        value: row.value, at: over.value === "seconds" ? seconds[i]
          : over.value === "steps" ? trained : trained * study.step_seconds});
    }
    return result;
  }
  function draw(now = false) {
    const {study} = last;
    const better = study.direction === "maximize" ? Math.max : Math.min;
    rows = placed();
    let found = null;
    for (const x of rows)
      x.so_far = found = found === null ? x.value : better(found, x.value);
    const [label, isTime] = LABELS[over.value];
    const [unit, name] = isTime ? timeUnit(rows.at(-1)?.at ?? 0) : [1, ""];
    const x = rows.map(row => row.at / unit), trials = rows.map(row =>
      row.trial);
    chart.set(rows.length ? [{x, y: rows.map(row => row.value), trials,
      dots: true, colour: colour("--quiet"), words: i => over.value === "trial"
        ? study.metric : `${study.metric} of trial ${trials[i]}`,
      name: "trials"}, {x, y: rows.map(row => row.so_far), trials, steps: true,
      bold: true, colour: colour("--accent"), name: "best so far"}] : [],
    {xLabel: isTime ? `${label} in ${name}` : label, yLabel: study.metric,
      logY: log.on, whole: over.value === "trial", padX: .01,
      xShown: v => isTime ? span(v * unit) : shown(v)}, now);
    colours.show([{colour: "var(--quiet)", text: "each trial"},
      {colour: "var(--accent)", text: "best so far"}]);
    card.note([`${shown(rows.length)} trials with a value`,
      ...study.front ? [`${study.metric} alone, without the other goals`] : [],
      ...over.value === "device" ? ["by the mean time of a step"] : []]
      .join("; "));
    card.refresh();
  }
  return {node: card.node, set(next, now) {
    last = next;
    draw(now);
  }};
}

// What the axis of the history says, and whether it is of seconds.
const LABELS = {trial: ["trial", false], seconds: ["time", true],
  steps: ["steps trained for the study", false], device: ["device time", true]};

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
  const rung = choice("trials", [], redraw);
  const colours = legend();
  const card = panel("Learning curves", {chart: chart.node,
    tools: [rung.node, logX.node, logY.node,
      element("label", {}, "smoothing ", slider), colours.node],
    columns: () => [number("trial"), number("step"),
      {...number("value", last.study.metric), best: last.study.direction}],
    rows: () => last.seen.slice(0, CURVES_MAX).flatMap(x => {
      const curve = last.history.curves.get(x.trial);
      return curve ? curve.step.map((step, i) => ({trial: x.trial, step,
        value: curve.value[i]})) : [];
    })});
  function draw(now = false) {
    const {study, history, seen, what} = last;
    const rungs = rungsOf(history);
    rung.node.hidden = !rungs.length;
    rung.offer([["", "all"], ...rungs.map(([step, count]) =>
      [String(step), `the ${shown(count)} at step ${shown(step)}`])]);
    // Of a rung: the trials that were measured there, up to it.
    const at = rung.value ? Number(rung.value) : null;
    const place = x => history.curves.get(x.trial).step.indexOf(at);
    const drawn = seen.filter(x => history.curves.has(x.trial)
      && (at === null || place(x) >= 0));
    const valueOf = at === null ? x => x.value
      : x => history.counts(x.trial)
        ? history.curves.get(x.trial).value[place(x)] : NaN;
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
    const grey = some.some(x => !Number.isFinite(valueOf(x)));
    colours.values(study.metric, some.length > 1 ? shade : {},
      grey ? "failed" : "");
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

/** The empirical distribution of the trials' best values. */
export function spreadPanel() {
  const chart = lines("Share of trials with at most this value");
  let values = [];
  const share = i => (i + 1) / values.length;
  const card = panel("Empirical distribution", {chart: chart.node,
    note: "share of trials with at most this value",
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

/** What a study wants of its metrics: its own directions and constraints, and a
 * guess by the name of what it does not speak of. */
export function wishes(study) {
  const goals = new Map((study.front?.goals ?? [study]).map(x =>
    [x.metric, x.direction]));
  const limits = (study.front?.constraints ?? []).map(text => {
    const [, metric, sign, limit] = /^(.*) (<=|>=) (.+)$/.exec(text);
    return {metric, text, least: sign === ">=", limit: Number(limit)};
  });
  return {
    goals: [...goals.keys()], limits,
    knows: name => goals.has(name) || limits.some(x => x.metric === name),
    /** Whether more of a metric is better. */
    up: name => goals.has(name) ? goals.get(name) === "maximize"
      : limits.find(x => x.metric === name)?.least ?? !small.test(name),
    /** Whether values keep the constraints. */
    keeps: valueOf => limits.every(x => {
      const v = valueOf(x.metric);
      return Number.isFinite(v) && (x.least ? v >= x.limit : v <= x.limit);
    }),
  };
}

/** Metrics against each other, and the study's own front: the results that
 * none beats in all of its goals. Of metrics that are no goals, those that none
 * beats in both. */
export function frontPanel(id, go) {
  let last = null, found = null, shape = null;
  const chart = points("Pareto front", {onPick: i => go(shape.rows[i].trial)});
  const redraw = () => draw(true);
  const xs = choice("x axis", [], redraw), ys = choice("y axis", [], redraw);
  const colours = legend();
  const columns = () => [number("trial"), number("step"),
    ...Object.keys(found.values).map(name => ({...number(name),
      key: x => x.values[name], cell: x => shown(x.values[name])})),
    {name: "front", label: "on the front", cell: x => x.front ? "yes" : ""},
    ...found.front?.constraints.length ? [{name: "keeps",
      label: "keeps the constraints", cell: x => x.keeps ? "yes" : "no"}] : []];
  const card = panel("Pareto front", {chart: chart.node, wide: true,
    tools: [xs.node, ys.node, colours.node], columns,
    rows: () => shape?.rows ?? []});
  card.node.hidden = true;

  /** All results that are shown: each trial's best, and those of the front. */
  function rowsOf(study, kept, want) {
    const names = Object.keys(found.values);
    const rows = found.trial.map((trial, i) => ({trial, step: found.step[i],
      values: Object.fromEntries(names.map(name => [name,
        found.values[name][i]])), front: false}));
    const place = new Map(rows.map((x, i) => [`${x.trial} ${x.step}`, i]));
    // A trial may have several in the front, and its last one is its best.
    for (const {trial, step, values} of study.front?.points ?? []) {
      const key = `${trial} ${step}`;
      if (!place.has(key)) place.set(key, rows.push({trial, step, values}) - 1);
      rows[place.get(key)].front = true;
    }
    for (const x of rows) x.keeps = want.keeps(name => x.values[name]);
    return rows.filter(x => !kept || kept.has(x.trial));
  }
  /** Of two metrics that are not the goals: those that none beats in both. */
  function beatenByNone(rows, a, b, want) {
    const [sa, sb] = [want.up(a) ? 1 : -1, want.up(b) ? 1 : -1];
    const order = rows.filter(x => x.keeps && Number.isFinite(x.values[a])
      && Number.isFinite(x.values[b])).sort((x, y) =>
      sa * (y.values[a] - x.values[a]) || sb * (y.values[b] - x.values[b]));
    let most = -Infinity;
    for (const x of order) {
      x.front = sb * x.values[b] > most;
      most = Math.max(most, sb * x.values[b]);
    }
  }
  function draw(now = false) {
    const {kept} = last, study = {...last.study, front: found.front};
    const want = wishes(study), a = xs.value, b = ys.value;
    const rows = rowsOf(study, kept, want);
    const own = want.goals.length > 1 && want.goals.includes(a)
      && want.goals.includes(b);
    if (!own) {
      for (const x of rows) x.front = false;
      beatenByNone(rows, a, b, want);
    }
    shape = {rows};
    // Of more than two goals the front is no line between two of them.
    const front = rows.map((_, i) => i).filter(i => rows[i].front)
      .sort((i, j) => rows[i].values[a] - rows[j].values[a]);
    const breaks = rows.some(x => !x.keeps);
    const shades = [colour("--quiet"), KINDS[7]];
    chart.set({x: rows.map(x => x.values[a]), y: rows.map(x => x.values[b]),
      colours: rows.map(x => shades[x.keeps ? 0 : 1]), front,
      loose: own && want.goals.length > 2, words: k => `trial ${
        rows[k].trial}, step ${rows[k].step}\n${Object.entries(rows[k].values)
        .map(([name, v]) => `${name} ${shown(v)}`).join(", ")}${
        rows[k].front ? "\non the front" : ""}${
        rows[k].keeps ? "" : `\nbreaks ${want.limits.map(x => x.text)
          .join(", ")}`}`},
    {xLabel: `${a} (${says(want, a)})`, yLabel: `${b} (${says(want, b)})`,
      logX: false}, now);
    colours.show([{colour: "var(--accent)", text: own ? "Pareto front"
      : "not dominated"}, {colour: "var(--quiet)", text: "other results"},
    ...breaks ? [{colour: KINDS[7], text: `breaks ${want.limits.map(x =>
      x.text).join(", ")}`}] : []]);
    const volume = own ? study.front.hypervolume : null;
    card.note(`${shown(front.length)} of ${shown(rows.length)} results are ${
      own && want.goals.length > 2 ? `not dominated in ${
        want.goals.join(", ")}` : "not dominated"}${volume === null ? ""
      : `, hypervolume ${shown(volume, 6)}`}`);
    card.refresh();
  }
  const says = (want, name) => `${want.up(name) ? "maximize" : "minimize"}${
    want.knows(name) ? "" : ", guessed"}`;
  function set(next, now = false) {
    last = next;
    const names = Object.keys(found?.values ?? {});
    card.node.hidden = names.length < 2;
    if (names.length < 2) return;
    // Its goals first, then what it has constraints on.
    const want = wishes({...next.study, front: found.front});
    const first = [...new Set([...want.goals, ...want.limits.map(x =>
      x.metric), ...names])].filter(x => names.includes(x));
    ys.offer(names.map(x => [x, x]), first[0]);
    xs.offer(names.map(x => [x, x]), first.find(x => x !== ys.value));
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
