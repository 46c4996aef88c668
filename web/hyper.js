// What hyper-parameters do: parallel coordinates, each alone, two together.
import {element, scale, shown} from "./base.js";
import {choice, points} from "./charts.js";
import {Refused} from "./data.js";
import {legend, panel} from "./panel.js";
import {parallel} from "./parallel.js";
import {percent, progress} from "./studies.js";
import {table} from "./table.js";

const ALONE_MAX = 12; // hyper-parameters that have a chart of their own

const number = (name, label = name) => ({name, label, number: true});

/** What a table says of a hyper-parameter in a trial: a schedule with a curve,
 * and with its first and last value. */
function cellOf(x, name, courses) {
  const value = x.params[name];
  const curve = courses?.picture(name, x.trial, String(value));
  if (!curve) return shown(value);
  const {value: course} = courses.course(name, x.trial);
  return element("span", {}, curve, element("small", {}, ` ${shown(course[0],
    3)} → ${shown(course.at(-1), 3)}`));
}

/** The columns of a table of trials.
 * @param study whose metric's best value it has
 * @param courses the Schedules that are drawn in it, if any
 * @param failed whether it says why trials have failed
 * @param chosen and how their values were chosen */
export function trialColumns(id, study, names,
  {courses, failed, chosen} = {}) {
  return [
    {...number("trial"), cell: x => element("a",
      {href: `#/study/${id}/trial/${x.trial}`}, String(x.trial))},
    {name: "state", label: "state", cell: x => element("span",
      {class: `state ${x.state}`}, x.state)},
    {...number("value", `best ${study.metric}`), best: study.direction,
      cell: x => shown(x.value, 6)},
    number("step", "at step"), number("steps"), number("asked"),
    number("shared"), ...names.map(name => ({name: `param ${name}`, label: name,
      key: x => x.params[name], cell: x => cellOf(x, name, courses)})),
    ...chosen ? [{name: "chosen", label: "chosen", cell: x => x.chosen ?? ""},
      {...number("predicted"), cell: x => shown(x.predicted, 6)},
      number("untrained")] : [],
    ...failed ? [{name: "failure", label: "failure", cell: x =>
      x.failure?.trim().split("\n")[0] ?? ""}] : []];
}

/** The colours of trials by the rank of their values. */
function showRanks(colours, {study, rank}, rows) {
  colours.values(study.metric, rank, rows.some(x => x.value === null)
    ? "no value" : "");
}

const words = (x, metric, names) => `trial ${x.trial}\n${metric} ${
  shown(x.value, 6)}${names.map(n => `\n${n} ${shown(x.params[n])}`).join("")}`;

export function parallelPanel(id, hear) {
  let last = null;
  const chart = parallel("Hyper-parameters of trials", kept => hear(kept));
  const clear = element("button", {type: "button"}, "Show all trials");
  clear.addEventListener("click", () => chart.clear());
  const colours = legend();
  const card = panel("Parallel coordinates", {chart: chart.node, wide: true,
    tools: [element("span", {}, "drag along an axis to choose trials, or use ",
      "the arrow keys; the other charts and the table follow"), clear,
    colours.node],
    columns: () => trialColumns(id, last.study, last.history.varying),
    rows: () => last.seen});
  return {node: card.node, set(next, now) {
    last = next;
    const {study, history, rank} = next;
    const {rows, varying} = history;
    const good = rows.map(x => rank(x.value));
    chart.set([...varying.map(name => ({name, values: rows.map(x =>
      x.params[name])})), {name: study.metric, values: rows.map(x =>
      x.value)}].slice(varying.length ? 0 : 1), good.map(scale),
    rows.map((_, i) => i).sort((a, b) => (good[a] || 0) - (good[b] || 0)),
    now);
    showRanks(colours, next, rows);
    card.refresh();
  }, clear: () => chart.clear()};
}

/** The value over each hyper-parameter alone. */
export function alonePanel(go) {
  const grid = element("div", {class: "several"});
  const charts = new Map();
  let last = null, metric = null;
  const colours = legend();
  const card = panel("Slice plot", {chart: grid, wide: true,
    tools: [colours.node],
    columns: () => trialColumns(last.id, last.study, last.history.varying),
    rows: () => last.seen});
  return {node: card.node, set(next, now) {
    last = next;
    const {study, history, seen, rank} = next;
    const names = history.varying.slice(0, ALONE_MAX);
    if (metric !== study.metric) {
      charts.clear(); // their names say it
      grid.replaceChildren();
    }
    metric = study.metric;
    card.node.hidden = !names.length;
    card.note(history.varying.length > ALONE_MAX
      ? `the first ${ALONE_MAX} of ${history.varying.length}` : "");
    for (const name of names) {
      if (!charts.has(name)) {
        const chart = points(`${study.metric} over ${name}`, {small: true,
          onPick: i => go(last.seen[i].trial)});
        charts.set(name, chart);
        grid.append(chart.node);
      }
      charts.get(name).set({x: seen.map(x => x.params[name]), y: seen.map(x =>
        x.value), colours: seen.map(x => scale(rank(x.value))),
      words: i => words(last.seen[i], study.metric, [name])},
      {xLabel: name, yLabel: study.metric, left: 46,
        few: true}, now);
    }
    showRanks(colours, next, []);
    card.refresh();
  }};
}

/** Two hyper-parameters together: what is known between trials, or how each
 * trial ranks. */
export function pairPanel(go) {
  let last = null;
  const redraw = () => draw(true);
  const chart = points("Two hyper-parameters", {tall: true, onPick: i =>
    go(last.seen[i].trial)});
  const xs = choice("x axis", [], redraw), ys = choice("y axis", [], redraw);
  const how = choice("colour", [["field", "mean value"], ["rank", "rank"]],
    redraw);
  const colours = legend();
  const card = panel("Contour plot", {chart: chart.node, wide: true,
    tools: [xs.node, ys.node, how.node, colours.node],
    columns: () => trialColumns(last.id, last.study, [xs.value, ys.value]),
    rows: () => last.seen});
  function draw(now = false) {
    const {study, seen, rank} = last;
    const a = xs.value, b = ys.value;
    const good = seen.map(x => rank(x.value));
    let place = null;
    if (how.value === "rank") {
      const order = seen.map((_, i) => i).filter(i =>
        Number.isFinite(seen[i].value)).sort((i, j) =>
        (seen[i].value - seen[j].value)
        * (study.direction === "maximize" ? 1 : -1));
      place = new Map(order.map((i, k) => [i, k / Math.max(order.length - 1,
        1)]));
    }
    const shade = place ? i => place.get(i) ?? NaN : i => good[i];
    chart.set({x: seen.map(x => x.params[a]), y: seen.map(x => x.params[b]),
      colours: seen.map((_, i) => scale(shade(i))),
      field: place ? null : good, shade: scale,
      words: i => words(last.seen[i], study.metric, [a, b])},
    {xLabel: a, yLabel: b, logY: "auto", few: true, fewY: true}, now);
    if (place) colours.ramp("last", "first", "rank");
    else showRanks(colours, last, seen);
    card.note(place ? "each trial by its rank among all"
      : "mean of the trials nearby; empty where there are none");
    card.refresh();
  }
  return {node: card.node, set(next, now) {
    last = next;
    const names = next.history.varying;
    card.node.hidden = names.length < 2;
    if (names.length < 2) return;
    const first = next.important ?? names;
    xs.offer(names.map(x => [x, x]), first[0]);
    ys.offer(names.map(x => [x, x]), first.find(x => x !== xs.value));
    draw(now);
  }};
}

/** How much hyper-parameters tell the best trials from all others. */
export function commonPanel(id) {
  const grid = table([
    {name: "parameter", label: "hyper-parameter", wrap: true},
    {name: "share", label: "importance", cell: x => element("span", {},
      progress(x.share, 1), ` ${percent(x.share, 1)}`)},
    {name: "trials", label: "trials", number: true},
  ], {label: "Importance of hyper-parameters"});
  const card = panel("Parameter importance", {chart: grid.node});
  return {node: card.node,
    /** @param metric whose best; none: the objective
     * @returns its rows, or null if nothing can be said */
    async set(ask, metric = "") {
      let found = null, why = "";
      try {
        found = await ask(`api/studies/${id}/importance${metric
          ? `?metric=${encodeURIComponent(metric)}` : ""}`);
      } catch (refused) {
        if (!(refused instanceof Refused)) throw refused;
        why = refused.message.replace(/^\w+: /, "");
      }
      grid.node.hidden = !found;
      grid.set(found?.importance ?? []);
      card.note(found ? [`PED-ANOVA: the best ${shown(found.best)} of the ${
        shown(found.trials)} trials with ${found.metric} at step ${
        shown(found.step)}, compared with all of them;`,
      "importance tells where to look next, not which value is good"].join(" ")
        : why);
      return found?.importance ?? null;
    }};
}
