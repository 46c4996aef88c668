// A trial: its values, its way through the stage tree, what happened to it.
import {colour, element, moment, renew, shown, span} from "./base.js";
import {choice, lines} from "./charts.js";
import {History, rootOf} from "./data.js";
import {panel} from "./panel.js";
import {Schedules, schedulesOfTrial} from "./schedules.js";
import {figures, rootWords, state} from "./studies.js";
import {table} from "./table.js";
import {wayTree, workOf} from "./tree.js";

const OUTPUT_PARTS = 20; // that are asked for
const EVENT_PARTS = 20;
const SHARERS = 6;       // that are named

/** What a trial's training has printed. */
async function printedBy(ask, id, no) {
  let text = "";
  for (let from = 0, i = 0; i < OUTPUT_PARTS; ++i) {
    const part = await ask(
      `api/studies/${id}/output?trial=${no}&from_step=${from}`);
    text += part.text;
    if (part.next_step === from) break;
    from = part.next_step;
  }
  return text;
}

/** What the study has heard of a trial, asked for as it comes. */
function heardOf(id, no) {
  const all = [];
  let next = 0;
  return async ask => {
    for (let i = 0; i < EVENT_PARTS; ++i) {
      const part = await ask(
        `api/studies/${id}/events?trial=${no}&after=${next}`);
      if (!part.events.length) break;
      all.push(...part.events.filter(x => !x.command
        || OF_TRIAL.has(x.command)));
      ({next} = part);
    }
    return all;
  };
}

// Of what people want, what they want of a trial; the rest is of the study.
const OF_TRIAL = new Set(["ask", "train", "tell", "retry"]);

/** Who has trained a stage, how far, and when. */
const workWords = x => x.work.map(y => `${y.trainer ?? "not known"}: ${
  y.from === y.to ? `step ${shown(y.to)}`
    : `steps ${shown(y.from)} to ${shown(y.to)}`}${y.begin === null ? ""
    : `, ${moment(y.begin)}${y.end > y.begin ? ` to ${moment(y.end)}` : ""}`}`)
  .join("; ");

const inWords = x => x.measured ? Object.entries(x.measured).map(([name, v]) =>
  `${name} ${shown(v, 6)}`).join(", ")
  : x.failure ? `failed: ${x.failure.trim().split("\n")[0]}`
    : x.chosen ? `its values were chosen: ${x.chosen}`
      : `${x.command}${x.text ? `: ${x.text}` : ""}`;

export function trialView(id, no, act) {
  const head = element("div");
  const history = new History(id), hear = heardOf(id, no);
  const number = (name, label = name) => ({name, label, number: true});
  const params = element("dl", {class: "figures"});

  let events = [], study = null;
  const measured = () => events.filter(x => x.measured);
  const names = () => [...new Set(measured().flatMap(x =>
    Object.keys(x.measured)))];
  const seedsOf = name => names().filter(x => x.startsWith(`${name}.seed`));
  const chart = lines("Values of the trial", {xWord: "step"});
  const metric = choice("metric", [], () => drawValues(true));
  const values = panel("Learning curve", {chart: chart.node,
    tools: [metric.node], columns: () => [number("step"),
      ...names().map(name => ({...number(name), key: x => x.measured[name],
        cell: x => shown(x.measured[name], 6)}))],
    rows: measured});
  function drawValues(now = false) {
    const some = measured();
    // Curves of single seeds are drawn beside their summary.
    const all = names().filter(x => !x.match(/\.(std|seed\d+)$/)
      || !seedsOf(x.replace(/\.[^.]*$/, "")).length);
    metric.node.hidden = all.length < 2;
    metric.offer(all.map(x => [x, x]), all.includes(study.metric)
      ? study.metric : all[0]);
    const name = metric.value || study.metric;
    const line = (key, label, more) => ({x: some.map(x => x.step),
      y: some.map(x => x.measured[key] ?? NaN), name: label, ...more});
    chart.set(some.length ? [...seedsOf(name).map(x => line(x,
      x.slice(name.length + 1).replace("seed", "seed "),
      {colour: colour("--quiet")})),
    line(name, `trial ${no}`, {bold: true, marks: true,
      colour: colour("--accent")})] : [], {xLabel: "step", yLabel: name,
      empty: "Nothing was measured of this trial yet"}, now);
    values.refresh();
  }

  const sharers = x => {
    if (!x.others.length) return "none";
    const links = x.others.slice(0, SHARERS).flatMap((trial, i) => [
      i ? ", " : "", element("a", {href: `#/study/${id}/trial/${trial}`},
        String(trial))]);
    const more = x.others.length - SHARERS;
    return element("span", {}, ...links,
      more > 0 ? ` and ${shown(more)} more` : "");
  };
  const path = table([
    number("begin", "from step"), number("end", "to"),
    {name: "label", label: "changes"},
    {name: "others", label: "other trials", key: x => x.others.length,
      cell: sharers},
    number("value", "value at end"),
    {name: "work", label: "trainer and time",
      key: x => x.work[0]?.begin ?? null, cell: workWords},
    {...number("device", "device time"), cell: x => x.device
      ? span(x.device) : ""},
  ], {label: "Stages of the trial", id: "id"});
  const tree = wayTree(), before = element("p", {class: "quiet"});

  const failure = element("div"), forking = act.ofTrial(id, no);
  const schedules = schedulesOfTrial(), courses = new Schedules();
  const log = table([
    {name: "time", label: "time", cell: x => moment(x.time)}, number("step"),
    {name: "what", label: "event", cell: inWords, key: inWords},
  ], {label: "Events of the trial"});
  const happened = element("section", {class: "card wide"},
    element("h2", {}, "Events"), log.node);
  const printed = element("pre", {tabindex: "0"});
  const output = element("section", {class: "card wide", hidden: true},
    element("h2", {}, "Output"), printed);
  const node = element("div", {class: "stack"}, head, forking.node, failure,
    element("div", {class: "grid"}, values.node,
      element("section", {class: "card"}, element("h2", {},
        "Hyper-parameters"), params), schedules.node,
    element("section", {class: "card wide"}, element("h2", {},
      "Path through the stage tree"), before, tree.node, path.node),
    happened, output));

  return {
    node,
    title: `Trial ${no}`,
    async update(ask) {
      const [of, nodes, exact, went, done, said, heard]
        = await Promise.all([
          ask(`api/studies/${id}`), ask(`api/studies/${id}/tree`),
          ask(`api/studies/${id}/trials?first=${no}&most=1`),
          ask(`api/studies/${id}/schedules`),
          ask(`api/studies/${id}/work`), printedBy(ask, id, no), hear(ask),
          history.refresh(ask)]);
      study = of;
      const root = await rootOf(of, ask);
      renew(before, of.initial_state ? rootWords(of, root) : null);
      events = heard;
      const trial = exact[0];
      if (trial?.trial !== no)
        throw new Error(`study ${study.name} has no trial ${no}`);
      renew(head,
        element("h1", {}, `Trial ${no} `, state(trial.state)),
        element("p", {class: "sub"}, "of ", element("a",
          {href: `#/study/${id}`}, study.name), trial.chosen
          ? `; its values were chosen: ${trial.chosen}` : ""),
        figures([["best", shown(trial.best?.value, 8), trial.best
          ? `at step ${trial.best.step}` : ""],
        ["steps", shown(trial.delivered_steps),
          `of ${shown(trial.asked_steps)}`],
        ["shared", shown(trial.shared_steps),
          "steps that another trial had trained"],
        ...trial.spread == null ? [] : [["spread", shown(trial.spread, 6),
          `standard deviation over ${of.seeds} seeds`]],
        ...trial.predicted === null ? [] : [["predicted",
          shown(trial.predicted, 6), "by the model that chose its values"]]]));
      renew(failure, ...(trial.failure ? [element("section",
        {class: "card"}, element("h2", {}, "Failure"),
        element("pre", {tabindex: "0"}, trial.failure))] : []));
      // The table's are in short, these are all of their digits.
      const brief = history.rows[history.place.get(no)]?.params ?? {};
      renew(params, ...Object.entries(trial.params)
        .map(([name, x]) => element("div", {}, element("dt", {}, name),
          element("dd", {}, element("small", {}, typeof x === "number"
            ? shown(x, 12) : String(brief[name] ?? JSON.stringify(x)))))));
      forking.show(trial);
      drawValues();
      courses.set(went);
      schedules.set(courses, no);
      if (printed.textContent !== said) printed.textContent = said;
      output.hidden = !said;
      happened.hidden = !events.length;
      log.set(events);
      const by = workOf(done);
      path.set(tree.set(nodes, no).map(x => ({...x,
        device: (x.end - x.begin) * study.step_seconds,
        work: (by.get(x.id) ?? []).filter(y => y.from <= x.end)})));
    },
  };
}
