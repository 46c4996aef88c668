// A study: its results, hyper-parameters, tree and trials.
import {ago, element, ranks, renew, shown, span} from "./base.js";
import {choice} from "./charts.js";
import {History, rootOf} from "./data.js";
import {alonePanel, commonPanel, pairPanel, parallelPanel, trialColumns} from
  "./hyper.js";
import {paced, whileSeen} from "./panel.js";
import {curvesPanel, frontPanel, historyPanel, spreadPanel, wishes} from
  "./results.js";
import {Schedules, schedulesPanel} from "./schedules.js";
import {costs, figures, isOfSeveral, mergeRate, percent, progressOf, rootWords,
  state, wanted, workFor} from "./studies.js";
import {table} from "./table.js";
import {treePanel} from "./tree.js";

const IMPORTANCE_PAUSE = 20000; // milliseconds; it takes the service a while
const FRONT_PAUSE = 10000;
const TREE_REST = 20; // the tree comes whole: times as long as it took

const FAILURES = 3; // different ones that are told at the top
const NAMED = 8;    // trials, or names, that are listed

// The length of a trial, among its values, where a study has several.
const LENGTH = "steps.max";

// What a condition may ask of a trial beside its hyper-parameters.
const FIELDS = {trial: x => x.trial, state: x => x.state, best: x => x.value,
  step: x => x.step, steps: x => x.steps, asked: x => x.asked,
  shared: x => x.shared, chosen: x => x.chosen, predicted: x => x.predicted,
  untrained: x => x.untrained};

const COMPARE = {"<": (a, b) => a < b, "<=": (a, b) => a <= b,
  ">": (a, b) => a > b, ">=": (a, b) => a >= b};

/** Reads a filter of trials: `state=RUNNING lr<0.01 best>=0.9`. A schedule
 * passes if any value that it takes does.
 * @param names of hyper-parameters
 * @param metric another word for `best`
 * @param course(name, trial) the values that a schedule takes, or null
 * @returns a test of rows, or a text that says what is wrong */
export function condition(text, {names, metric, course}) {
  const tests = [];
  for (const part of text.trim().split(/\s+/).filter(Boolean)) {
    const found = /^([^<>=!]+)(<=|>=|!=|=|<|>)(.+)$/.exec(part);
    if (!found)
      return `'${part}' is no condition: write name=value, name<value …`;
    const [, name, sign, wanted] = found;
    const isParam = names.includes(name);
    const field = isParam ? x => x.params[name] : name === metric
      ? FIELDS.best : Object.hasOwn(FIELDS, name) ? FIELDS[name] : null;
    if (!field) {
      const known = [...names.slice(0, NAMED), ...names.length > NAMED ? ["…"]
        : [], ...Object.keys(FIELDS)];
      return `there is no '${name}': names are ${known.join(", ")}`;
    }
    const least = Number(wanted), compare = COMPARE[sign];
    if (compare && Number.isNaN(least))
      return `'${wanted}' in '${part}' is no number`;
    tests.push(row => {
      const x = field(row);
      const taken = isParam && typeof x === "string" ? course(name, row.trial)
        : null;
      if (compare) return taken ? taken.some(v => compare(v, least))
        : typeof x === "number" && compare(x, least);
      const same = typeof x === "number" ? x === least
        : taken?.includes(least) || String(x).toLowerCase().startsWith(
          wanted.toLowerCase());
      return same === (sign === "=");
    });
  }
  return row => tests.every(f => f(row));
}

/** Why trials have failed: each first line with its trials. */
function failuresOf(history) {
  const found = new Map(); // the first line -> {text, trials}
  for (const {trial, failure} of history.rows) {
    if (!failure) continue;
    const line = failure.trim().split("\n")[0];
    if (!found.has(line)) found.set(line, {line, text: failure, trials: []});
    found.get(line).trials.push(trial);
  }
  return [...found.values()].sort((a, b) => b.trials.length - a.trials.length);
}

const trialLink = (id, no, text = String(no)) => element("a",
  {href: `#/study/${id}/trial/${no}`}, text);

/** Why trials have failed, the most frequent failure first. */
function failureCard(id) {
  const title = element("h2"), reasons = element("div");
  const text = element("pre", {tabindex: "0"});
  const node = element("section", {class: "card failed",
    "aria-label": "Failures"}, title, reasons, element("details", {},
    element("summary", {}, "Traceback"), text));
  const one = x => element("div", {}, element("p", {class: "reason"}, x.line),
    element("p", {class: "quiet"}, `${shown(x.trials.length)} trial${
      x.trials.length > 1 ? "s" : ""}: `, ...x.trials.slice(0, NAMED).flatMap(
      (no, i) => [i ? ", " : "", trialLink(id, no)]),
    x.trials.length > NAMED ? ", …" : ""));
  /** @returns its node, or null if no trial has failed */
  return (study, history) => {
    const all = failuresOf(history);
    if (!all.length) return null;
    const count = all.reduce((sum, x) => sum + x.trials.length, 0);
    renew(title, `${shown(count)} of ${shown(study.trials)} trials failed`);
    renew(reasons, ...all.slice(0, FAILURES).map(one),
      all.length > FAILURES ? element("p", {class: "quiet"}, `and ${
        shown(all.length - FAILURES)} other reasons, in the table of trials`)
        : null);
    renew(text, all[0].text.trim());
    return node;
  };
}

/** The hyper-parameters of the best trial. */
function bestParameters(id, best, history) {
  // The table has schedules in short.
  const brief = history.rows[history.place.get(best.trial)]?.params ?? {};
  return element("section", {"aria-label": "Best parameters"},
    element("h2", {class: "quiet"}, "Best parameters (",
      trialLink(id, best.trial, `trial ${best.trial}`), ")"),
    figures(Object.entries(best.params).map(([name, x]) => [name,
      element("small", {}, typeof x === "number" ? shown(x, 6)
        : String(brief[name] ?? JSON.stringify(x)))])));
}

/** The best trial of each length, as values of different lengths do not
 * compare; null where a study has one. */
function bestOfEachLength(id, study, history) {
  const found = new Map(), sign = study.direction === "maximize" ? 1 : -1;
  for (const x of history.rows) {
    const length = x.params[LENGTH];
    if (typeof length !== "number" || typeof x.value !== "number")
      continue;
    const known = found.get(length);
    if (!known || sign * x.value > sign * known.value)
      found.set(length, x);
  }
  if (found.size === 0)
    return null;
  return element("section", {"aria-label": "Best of each length"},
    element("h2", {class: "quiet"}, "Best of each length"),
    figures([...found].sort(([a], [b]) => a - b).map(([length, x]) =>
      [`${shown(length)} steps`, element("small", {}, shown(x.value, 6), " (",
        trialLink(id, x.trial, `trial ${x.trial}`), ")")])));
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
  const head = element("div"), failures = failureCard(id);
  let brushed = null, last = null, filter = null, important = null;
  let nodes = null, nodesOf = null, trainers = [];
  const best = historyPanel(go), curves = curvesPanel(go);
  const spread = spreadPanel();
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
    const found = condition(search.value, {names: history.names,
      metric: metric.value || last?.study.metric,
      course: (name, no) => courses.course(name, no)?.value});
    const isWrong = typeof found === "string";
    search.setAttribute("aria-invalid", isWrong);
    searchSaid.textContent = isWrong ? found : "";
    filter = isWrong || !search.value.trim() ? null : found;
    again();
  });
  const grid = element("div");
  let rows = null, shape = null;
  const trials = {node: element("section", {class: "card wide"},
    element("h2", {}, "Trials"), element("div", {class: "tools"},
      element("label", {}, "filter ", search), searchSaid), grid)};

  const showTree = () => tree.set({...last, nodes, history, trainers,
    kept: last.it.kept});
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
        last.it.study.metric, last.it.study.direction].join("\n");
      if (shape !== some) {
        shape = some;
        rows = table(trialColumns(id, last.it.study, history.varying,
          {courses, ...last.it}),
          {label: "Trials", id: "trial"});
        grid.replaceChildren(rows.node);
      }
      rows.set(last.it.seen);
    }],
    [front, now => !isOfSeveral(last.study) ? undefined
      : now ? front.set(ofAll(), now) : readFront()],
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
  const groups = new Map(parts.map(([key, name, cards]) => {
    const group = element("div", {class: "grid", role: "group",
      "aria-label": name, "data-part": key}, ...cards.map(x => x.node));
    for (const x of cards) later.set(x, whileSeen(x.node, group));
    return [key, group];
  }));
  const body = element("div", {}, ...groups.values());
  const buttons = new Map(parts.map(([key, name]) => {
    const button = element("button", {type: "button"}, name);
    button.addEventListener("click", () => groups.get(key).scrollIntoView({
      block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)")
        .matches ? "auto" : "smooth"}));
    return [key, button];
  }));
  const jump = element("nav", {class: "jump", "aria-label": "Sections"},
    ...buttons.values(), metric.node, betterSaid);
  const node = element("div", {}, head, jump, body);

  // The index says which section is at its top.
  const inView = new Set();
  const sections = new IntersectionObserver(found => {
    for (const {target, isIntersecting} of found)
      if (isIntersecting) inView.add(target);
      else inView.delete(target);
    showHere();
  }, {rootMargin: "-150px 0px -50% 0px"});
  for (const group of groups.values()) sections.observe(group);
  function showHere() {
    const there = [...groups].filter(([, group]) => !group.hidden);
    const here = there.find(([, group]) => inView.has(group)) ?? there[0];
    for (const [key, button] of buttons)
      if (key === here[0]) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
  }

  /** Shows the sections in which there is something. */
  function showParts(study) {
    const measured = history.results.trial.length > 0;
    for (const [key, isThere] of [["results", measured],
      ["parameters", measured],
      ["tree", measured || study.state === "RUNNING"]]) {
      groups.get(key).hidden = !isThere;
      buttons.get(key).hidden = !isThere;
    }
    showHere();
  }

  /** The study and its history by the metric that was chosen. */
  async function judged() {
    const {study, ask} = last;
    metric.node.hidden = history.metrics.length < 2;
    metric.offer(history.metrics.map(x => [x, x]), study.metric);
    const name = metric.value, wanted = wishes(study);
    betterSaid.textContent = !name || wanted.knows(name) ? ""
      : `direction guessed from its name: ${wanted.up(name) ? "maximize"
        : "minimize"}`;
    if (!name || name === study.metric) return [study, history];
    const maximize = wanted.up(name);
    return [{...study, metric: name, direction: maximize ? "maximize"
      : "minimize"}, await history.by(ask, name, maximize)];
  }
  async function draw(now = false) {
    const [study, by] = await judged();
    if (filter) await readCourses(); // it may ask for values of schedules
    const seen = by.rows.filter((x, i) => (!brushed || brushed.has(i))
      && (!filter || filter(x)));
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
      const root = await rootOf(study, ask);
      this.title = study.name;
      trainers = there;
      const done = study.delivered_steps, rate = mergeRate(study);
      const work = workFor(study, trainers);
      renew(head,
        element("h1", {}, study.name, " ", state(study.state)),
        element("p", {class: "sub"}, `study ${study.id}, ${study.algorithm}, ${
          wanted(study)}, weight ${shown(study.weight)}`,
        ...study.initial_state ? [", ", rootWords(study, root)] : []),
        study.note || study.tags.length
          ? element("p", {class: "note"}, ...study.tags.map(x =>
            element("span", {class: "tag"}, x)), study.note ?? "") : null,
        study.reason ? element("p", {class: "note bad"}, study.reason)
          : study.waiting ? element("p", {class: "note"},
            `waits: ${study.waiting}`) : null,
        failures(study, history),
        figures([
          ...isOfSeveral(study) ? [["Pareto front",
            shown(study.front.points.length),
            `results${study.front.hypervolume === null ? ""
              : `, hypervolume ${shown(study.front.hypervolume, 6)}`}`]]
            : [[`best ${study.metric}`, shown(study.best?.best?.value, 6),
              study.best ? element("span", {}, trialLink(id, study.best.trial,
                `trial ${study.best.trial}`), `, step ${
                shown(study.best.best?.step)}${study.improved === null ? ""
                : `, ${ago(study.improved)}`}`) : ""]],
          ["trials finished", `${shown(study.finished)} / ${
            shown(study.trials)}`],
          ["shared steps", percent(study.shared_steps, done),
            rate ? `p = ${rate.toFixed(2)}` : ""],
          ["device time", span(study.cost_seconds)],
          ["saved by merging", span(study.saved_seconds), "device time"],
          ["saved by stopping", span(study.stopped_seconds), "device time"],
          ["active for", span(study.active_seconds)],
          ...work ? [["trainers", element("small", {}, work)]] : [],
          ...study.seconds_left === null ? [] : [["time left", `about ${
            span(study.seconds_left)}`]],
        ]), study.best && !isOfSeveral(study)
          ? bestParameters(id, study.best, history) : null,
        study.best ? bestOfEachLength(id, study, history) : null,
        progressOf(study),
        element("p", {class: "sub"}, costs(study)), act.ofStudy(study));
      showParts(study);
      const first = !last;
      last = {...last, study, ask};
      // What others do is seen in the tree also while nothing is new here.
      if (changed || first) await draw();
      else await later.get(tree)(() => draws.get(tree)());
    },
  };
}
