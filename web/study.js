// A study: its results, hyper-parameters, tree and trials.
import {ago, element, ranks, renew, shown, span} from "./base.js";
import {choice} from "./charts.js";
import {History} from "./data.js";
import {alonePanel, commonPanel, pairPanel, parallelPanel, trialColumns} from
  "./hyper.js";
import {paced, whileSeen} from "./panel.js";
import {bestPanel, curvesPanel, frontPanel, spreadPanel, wishes} from
  "./results.js";
import {Schedules, schedulesPanel} from "./schedules.js";
import {costs, figures, isOfSeveral, mergeRate, percent, progress, state,
  wanted, workFor} from "./studies.js";
import {table} from "./table.js";
import {treePanel} from "./tree.js";

const IMPORTANCE_PAUSE = 20000; // milliseconds; it takes the service a while
const FRONT_PAUSE = 10000;
const TREE_REST = 20; // the tree comes whole: times as long as it took

/** Reads what somebody wants to see: `state=RUNNING lr<0.01 value>=0.9`.
 * @returns a test of rows, or a text that says what is wrong */
export function condition(text) {
  const tests = [];
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const found = /^([^<>=!]+)(<=|>=|!=|=|<|>)(.+)$/.exec(part);
    if (!found)
      return `'${part}' is no condition: say name=value, name<value…`;
    const [, name, sign, wanted] = found;
    const least = Number(wanted);
    tests.push(row => {
      const x = name in row.params ? row.params[name]
        : {best: row.value, metric: row.value}[name] ?? row[name];
      if (sign === "=" || sign === "!=") {
        const same = typeof x === "number" ? x === least
          : String(x).toLowerCase().startsWith(wanted.toLowerCase());
        return same === (sign === "=");
      }
      return typeof x === "number" && (sign === "<" ? x < least : sign === ">"
        ? x > least : sign === "<=" ? x <= least : x >= least);
    });
  }
  return row => tests.every(f => f(row));
}

/** What the charts of a study show.
 * @param seen of the trials, those that are chosen */
export function look(study, history, seen) {
  const kept = seen.length < history.rows.length
    ? new Set(seen.map(x => x.trial)) : null;
  const what = x => history.varying.filter(name => x.params[name] !== null
    && x.params[name] !== undefined).map(name =>
    `${name}=${shown(x.params[name], 4)}`).join(" ");
  return {id: study.id, study, history, seen, kept, what,
    failed: history.rows.some(x => x.failure),
    chosen: history.rows.some(x => x.chosen !== null),
    rank: ranks(history.rows.map(x => x.value),
      study.direction === "maximize")};
}

export function studyView(id, act) {
  const go = trial => { location.hash = `#/study/${id}/trial/${trial}`; };
  const history = new History(id);
  const head = element("div");
  let brushed = null, last = null, filter = () => true, important = null;
  let nodes = null, nodesOf = null, trainers = [];
  const best = bestPanel(), curves = curvesPanel(go), spread = spreadPanel();
  const common = commonPanel(id), front = frontPanel(id, go);
  const many = parallelPanel(id, kept => {
    brushed = kept;
    again();
  });
  const alone = alonePanel(go), pair = pairPanel(go), tree = treePanel(id);
  const courses = new Schedules(), schedules = schedulesPanel(go);
  // By which all but the front and the tree is looked at.
  const metric = choice("metric", [], () =>
    many.clear()); // a brush on the axis of the one before means nothing now
  const betterSaid = element("span");
  const search = element("input", {type: "search", size: 34,
    "aria-describedby": "search-said",
    placeholder: "state=complete lr<0.01 best>0.9"});
  const searchSaid = element("span", {id: "search-said", role: "status"});
  search.addEventListener("input", () => {
    const found = condition(search.value);
    searchSaid.textContent = typeof found === "string" ? found : "";
    filter = typeof found === "string" ? () => true : found;
    again();
  });
  const grid = element("div");
  let rows = null, shape = null;
  const trials = {node: element("section", {class: "card wide"},
    element("h2", {}, "Trials"), element("div", {class: "tools"},
      element("label", {}, "show only ", search), searchSaid), grid)};

  const showTree = () => tree.set({...last, nodes, history, trainers});
  const readTree = paced(async () => {
    const of = history.changes;
    nodes = await last.ask(`api/studies/${id}/tree`);
    nodesOf = of;
    showTree();
  }, {rest: TREE_REST});
  const ofAll = () => ({...last.it, study: last.study});
  const readFront = paced(() => front.read(ofAll(), last.ask),
    {pause: FRONT_PAUSE});
  let reading = null, commonOf = null;
  /** Asks at once what the best have in common by another metric. */
  function readCommon() {
    const of = metric.value;
    if (of !== commonOf) reading = paced(async () => {
      const found = metric.value === of ? await common.set(last.ask, of) : null;
      if (metric.value !== of) return;
      important = found?.map(x => x.parameter).filter(x =>
        history.varying.includes(x)) ?? null;
      if (important && important.length < 2) important = null;
    }, {pause: IMPORTANCE_PAUSE});
    commonOf = of;
    return reading();
  }
  const readCourses = paced(async () => // two cards show them
    courses.set(await last.ask(`api/studies/${id}/schedules`)));

  /** How each card is drawn; `now`: somebody has asked for it. */
  const draws = new Map([
    ...[best, curves, spread, many, alone].map(x =>
      [x, now => x.set(last.it, now)]),
    [pair, async now => {
      await readCommon();
      pair.set({...last.it, important}, now);
    }],
    [schedules, async now => {
      await readCourses();
      schedules.set(last.it, courses, now);
    }],
    [trials, async () => {
      await readCourses();
      const some = [...history.varying, last.it.failed, last.it.chosen,
        last.it.study.metric].join("\n");
      if (shape !== some) {
        shape = some;
        rows = table(trialColumns(id, last.it.study.metric, history.varying,
          {courses, ...last.it}),
          {label: "Trials", id: "trial"});
        grid.replaceChildren(rows.node);
      }
      rows.set(last.it.seen);
    }],
    [front, now => now ? front.set(ofAll(), now) : readFront()],
    [common, readCommon],
    [tree, async () => {
      if (nodesOf !== history.changes) await readTree();
      if (nodes) showTree();
    }],
  ]);
  const parts = [["results", "Results", [best, curves, spread, common, front]],
    ["parameters", "Hyper-parameters", [many, schedules, alone, pair]],
    ["tree", "Stage tree", [tree]], ["trials", "Trials", [trials]]];
  const later = new Map(); // card -> when it is drawn
  const body = element("div", {}, ...parts.map(([key, name, cards]) => {
    const group = element("div", {class: "grid", role: "group",
      "aria-label": name, "data-part": key}, ...cards.map(x => x.node));
    for (const x of cards) later.set(x, whileSeen(x.node, group));
    return group;
  }));
  const jump = element("div", {class: "jump"}, ...parts.map(([key, name]) => {
    const button = element("button", {type: "button"}, name);
    button.addEventListener("click", () => {
      const to = body.querySelector(`[data-part=${key}]`);
      to.scrollIntoView({block: "start", behavior: matchMedia(
        "(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
    });
    return button;
  }));
  jump.append(metric.node, betterSaid);
  const node = element("div", {}, head, jump, body);

  /** The study and its history by the metric that was chosen. */
  async function judged() {
    const {study, ask} = last;
    metric.node.hidden = history.metrics.length < 2;
    metric.offer(history.metrics.map(x => [x, x]), study.metric);
    const name = metric.value, wanted = wishes(study);
    betterSaid.textContent = !name || wanted.knows(name) ? ""
      : `${wanted.up(name) ? "more" : "less"} is taken as better`;
    if (!name || name === study.metric) return [study, history];
    const maximize = wanted.up(name);
    return [{...study, metric: name, direction: maximize ? "maximize"
      : "minimize"}, await history.by(ask, name, maximize)];
  }
  async function draw(now = false) {
    const [study, by] = await judged();
    const seen = by.rows.filter((x, i) => (!brushed || brushed.has(i))
      && filter(x));
    last.it = look(study, by, seen);
    return Promise.all([...draws].map(([card, f]) => later.get(card)(
      () => f(now), now)));
  }
  /** Draws what somebody has chosen. */
  function again() {
    if (last) draw(true).catch(() => {}); // what asks next says why
  }

  return {
    node,
    title: `Study ${id}`,
    async update(ask) {
      const [study, there, changed] = await Promise.all([
        ask(`api/studies/${id}`), ask("api/trainers"), history.refresh(ask)]);
      this.title = study.name;
      trainers = there;
      const done = study.delivered_steps, rate = mergeRate(study);
      const work = workFor(study, trainers);
      renew(head,
        element("h1", {}, study.name, " ", state(study.state)),
        element("p", {class: "sub"}, `study ${study.id}, ${study.algorithm}, ${
          wanted(study)}, weight ${shown(study.weight)}`),
        study.reason ? element("p", {class: "note bad"}, study.reason)
          : study.waiting ? element("p", {class: "note"},
            `waits: ${study.waiting}`) : "",
        figures([
          ...isOfSeveral(study) ? [["front",
            shown(study.front.points.length),
            `results that none beats${study.front.hypervolume === null ? ""
            : `, hypervolume ${shown(study.front.hypervolume, 6)}`}`]]
            : [["best", shown(study.best?.best?.value, 6), study.best
              ? `trial ${study.best.trial}, step ${study.best.best?.step}, ${
                study.improved === null ? "" : ago(study.improved)}` : ""]],
          ["trials", `${shown(study.finished)} / ${shown(study.trials)}`,
            Object.entries(study.trials_by_state).filter(([x]) =>
              x !== "COMPLETE").map(([x, count]) => `${shown(count)} ${
              x.toLowerCase()}`).join(", ")],
          ["steps", shown(done), `of ${shown(study.asked_steps)} asked`],
          ["shared", percent(study.shared_steps, done),
            rate ? `p = ${rate.toFixed(2)}` : ""],
          ["device time", span(study.cost_seconds), "spent"],
          ["saved", span(study.saved_seconds + study.stopped_seconds),
            "by merging and stopping"],
          ["active for", span(study.active_seconds)],
          ...work ? [["being trained by", element("small", {}, work)]] : [],
          ...study.seconds_left === null ? [] : [["left", `about ${
            span(study.seconds_left)}`]],
        ]), progress(done, study.asked_steps),
        element("p", {class: "sub"}, costs(study)), act.ofStudy(study));
      const first = !last;
      last = {...last, study, ask};
      // What others do is seen in the tree also while nothing is new here.
      if (changed || first) await draw();
      else await later.get(tree)(() => draws.get(tree)());
    },
  };
}
