// How hyper-parameters go while trials train: as charts, and small in tables.
import {areLog, colour, drawn, element, ranks, scale, shown} from "./base.js";
import {check, choice, lines} from "./charts.js";
import {legend, panel} from "./panel.js";

const WIDTH = 84, HEIGHT = 20; // of a small one

/** Whether it says of every step what holds in it: then it is drawn so. */
const isWhole = course => course.step.length === course.step.at(-1) + 1;

/** The courses of a study's hyper-parameters: docs/http.md#schedules. */
export class Schedules {
  constructor() {
    this.parameters = {};
    this.places = new Map(); // name -> trial -> the place of its course
  }

  /** @param answer what the service says; null: there is no such answer */
  set(answer) {
    this.parameters = answer?.parameters ?? {};
    this.places = new Map(Object.entries(this.parameters).map(([name, x]) =>
      [name, new Map(x.trial.map((trial, i) => [trial, x.curve[i]]))]));
  }

  get names() {
    return Object.keys(this.parameters);
  }

  /** How a hyper-parameter went in a trial: {step, value}, or null. */
  course(name, trial) {
    const at = this.places.get(name)?.get(trial);
    if (at === undefined) return null;
    const {step, value} = this.parameters[name];
    return {at, step: step[at], value: value[at]};
  }

  /** A small picture of it for a table, what it is as its text; or null. */
  picture(name, trial, words) {
    const it = this.course(name, trial);
    if (!it || it.value.every(x => x === it.value[0])) return null;
    const end = Math.max(it.step.at(-1), 1);
    const low = Math.min(...it.value), high = Math.max(...it.value);
    const points = it.step.map((x, i) => `${(1 + x / end * (WIDTH - 2))
      .toFixed(1)},${(HEIGHT - 3 - (it.value[i] - low) / (high - low)
        * (HEIGHT - 6)).toFixed(1)}`).join(" ");
    const node = drawn("svg", {class: "course", width: WIDTH, height: HEIGHT,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words});
    node.append(drawn("title", {}, words), drawn("polyline", {points}));
    return node;
  }
}

/** How one hyper-parameter went in the trials that are chosen. */
export function schedulesPanel(go) {
  const chart = lines("Schedules", {onPick: s => go(s.trial), xWord: "step"});
  let last = null, courses = null, all = [];
  const redraw = () => draw(true);
  const which = choice("hyper-parameter", [], redraw);
  const log = check("log values", redraw), colours = legend();
  const number = name => ({name, label: name, number: true});
  const card = panel("Schedules", {chart: chart.node, wide: true,
    tools: [which.node, log.node, colours.node],
    columns: [number("trial"), {...number("others"),
      label: "other trials with it"}, number("step"), number("value")],
    rows: () => all.flatMap(x => x.step.map((step, i) => ({trial: x.trial,
      others: x.trials - 1, step, value: x.value[i]})))});
  card.node.hidden = true;
  function draw(now = false) {
    const {names} = courses;
    card.node.hidden = !names.length;
    if (!names.length) return;
    const count = x => courses.parameters[x].all_curves;
    which.offer(names.map(x => [x, x]), names.reduce((x, y) =>
      count(y) > count(x) ? y : x));
    const name = which.value, {study, seen, rank, what} = last;
    const found = new Map(); // the place of a course -> who has it
    let without = 0;
    for (const x of seen) {
      const course = courses.course(name, x.trial);
      if (!course) {
        ++without;
        continue;
      }
      const known = found.get(course.at);
      if (!known) {
        found.set(course.at, {...course, trial: x.trial, best: x, trials: 1});
        continue;
      }
      ++known.trials;
      if ((rank(x.value) || 0) > (rank(known.best.value) || 0)) {
        known.best = x;
        known.trial = x.trial;
      }
    }
    all = [...found.values()].sort((a, b) => (rank(a.best.value) || 0)
      - (rank(b.best.value) || 0));
    const shade = ranks(all.map(x => x.best.value),
      study.direction === "maximize");
    log.offer(areLog(all.flatMap(x => x.value)));
    chart.set(all.map(x => ({trial: x.trial, get name() {
      return `trial ${x.trial}${x.trials > 1 ? ` and ${shown(x.trials - 1)
      } more` : ""}: ${what(x.best)}`;
    }, x: x.step, y: x.value, steps: isWhole(x),
    colour: all.length > 1 ? scale(shade(x.best.value)) : colour("--accent"),
    faint: all.length > 100 && !(shade(x.best.value) > .9)})),
    {xLabel: "step", yLabel: name, logY: log.on}, now);
    const of = courses.parameters[name];
    colours.values(study.metric, all.length > 1 ? shade : {}, all.some(x =>
      x.best.value === null) ? "no value" : "");
    card.note(`${shown(all.length)} different schedules, each in the colour of `
      + `its best trial${of.all_curves > of.step.length
        ? `; the first of ${shown(of.all_curves)}` : ""}${without
        ? `; ${shown(without)} trials have no schedule yet` : ""}`);
    card.refresh();
  }
  return {node: card.node, set(next, schedules, now) {
    last = next;
    courses = schedules;
    draw(now);
  }};
}

/** The schedules of one trial, a chart for each. */
export function schedulesOfTrial() {
  const grid = element("div", {class: "several"});
  const node = element("section", {class: "card wide"},
    element("h2", {}, "Schedules"), grid);
  const charts = new Map();
  node.hidden = true;
  return {node, set(schedules, trial) {
    const mine = schedules.names.map(name => [name,
      schedules.course(name, trial)]).filter(x => x[1]);
    node.hidden = !mine.length;
    for (const [name, course] of mine) {
      if (!charts.has(name)) {
        charts.set(name, lines(`${name} of the trial`, {xWord: "step"}));
        grid.append(charts.get(name).node);
      }
      charts.get(name).set([{x: course.step, y: course.value, name, bold: true,
        steps: isWhole(course), colour: colour("--accent")}],
      {xLabel: "step", yLabel: name});
    }
  }};
}
