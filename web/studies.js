// All studies: how they are, what they cost, who waits for whom.
import {ago, element, moment, renew, shown, span} from "./base.js";
import {table} from "./table.js";

/** The words for the state that training begins from, with a link to the path
 * of the trial that it is of.
 * @param root see `rootOf` */
export const rootWords = (study, root) => root
  ? element("span", {}, "begins from ", element("a", {
    href: `#/study/${root.study}/trial/${root.trial}`}, study.initial_state))
  : element("span", {}, `begins from ${study.initial_state}`);

const ENDED = ["COMPLETE", "FAILED", "CANCELLED"];

export const isEnded = x => ENDED.includes(x.state);

export const state = name => element("span", {class: `state ${name}`}, name);

export function progress(done, all) {
  const share = all ? Math.min(done / all, 1) : 0;
  const bar = element("i");
  bar.style.width = `${100 * share}%`;
  return element("span", {class: "bar", role: "img",
    "aria-label": `${Math.round(100 * share)} %`}, bar);
}

export function figures(items) {
  return element("dl", {class: "figures"}, ...items.map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value,
      more ? element("small", {}, " ", more) : null))));
}

export const percent = (part, all) => all
  ? `${Math.round(100 * part / all)} %` : "–";

/** What a study has cost and was spared, and when it ends, in a sentence. */
export function costs(x) {
  const alone = x.cost_seconds + x.saved_seconds + x.stopped_seconds;
  const part = seconds => `${span(seconds)} (${percent(seconds, alone)})`;
  const when = isEnded(x) ? `took ${span(x.active_seconds)}.`
    : x.seconds_left === null ? "when it ends is not known yet."
      : `about ${span(x.seconds_left)} left.`;
  return `Cost ${span(x.cost_seconds)} of device time; merging saved ${
    part(x.saved_seconds)}, stopping ${part(x.stopped_seconds)}; ${when}`;
}

/** Whether a study wants several metrics: then no one value is the best. */
export const isOfSeveral = x => (x.front?.goals.length ?? 1) > 1;

/** What a study wants, in words. */
export const wanted = x => [...(x.front?.goals ?? [x]).map(y =>
  `${y.direction} ${y.metric}`), ...x.front?.constraints ?? []].join(", ");

// The states of trials, as they follow each other in a bar: those that have
// ended have a colour each, what is left of the bar is of the others.
const BY_STATE = ["COMPLETE", "PRUNED", "FAILED", "CANCELLED", "PAUSED",
  "RUNNING", "PENDING"];

const statesOf = x => Object.entries(x.trials_by_state).sort((a, b) =>
  BY_STATE.indexOf(a[0]) - BY_STATE.indexOf(b[0]));

const mark = name => element("i", {class: `part ${name}`});

/** A study's trials by state: a bar with a part for each that has ended. */
function stateBar(x) {
  const some = statesOf(x);
  const words = some.map(([name, count]) => `${shown(count)} ${name}`)
    .join(", ");
  return element("span", {class: "bar", role: "img", "aria-label": words,
    title: words}, ...some.map(([name, count]) => {
    const part = mark(name);
    part.style.width = `${100 * count / x.trials}%`;
    return part;
  }));
}

/** How far a study is: its trials by state and its steps, with what colours
 * mean. */
export const progressOf = x => element("div", {class: "legend progress"},
  element("span", {}, "trials ", stateBar(x)), ...statesOf(x).map(
    ([name, count]) => element("span", {}, mark(name),
      `${shown(count)} ${name === "RUNNING" && x.state !== name
        ? "not finished" : name.toLowerCase()}`)),
  element("span", {}, "steps ", progress(x.delivered_steps, x.asked_steps),
    ` ${shown(x.delivered_steps)} of ${shown(x.asked_steps)}`));

/** What the colours of the bar of trials mean. */
const barLegend = () => element("div", {class: "legend"}, "trials:",
  ...[["COMPLETE", "complete"], ["PRUNED", "pruned"],
    ["FAILED", "failed or cancelled"], ["RUNNING", "not finished"]].map(
    ([name, words]) => element("span", {}, mark(name), words)));

/** Which trainers work for a study, who else waits for that, or for whom it
 * waits itself. @param trainers all that there are */
export function workFor(study, trainers) {
  if (isEnded(study)) return "";
  const busy = trainers.filter(x => !x.lost && x.lease);
  const mine = busy.filter(x => x.lease.study_ids.includes(study.id));
  const names = list => [...new Set(list.flatMap(x => x.lease.studies))]
    .filter(x => x !== study.name);
  const some = count => `${shown(count)} trainer${count === 1 ? "" : "s"}`;
  if (mine.length) {
    const others = names(mine);
    return some(mine.length) + (others.length
      ? `, also for ${others.join(", ")}` : "");
  }
  if (study.waiting) return "waits";
  const before = names(busy);
  return before.length && study.state === "RUNNING"
    ? `waits for ${before.join(", ")}: ${some(busy.length)}` : "";
}

/** p: steps delivered by those that are left after merging. */
export const mergeRate = x => {
  const unique = x.delivered_steps - x.shared_steps;
  return unique > 0 ? x.delivered_steps / unique : null;
};

/** @param act what may be done: actions.js */
export function studiesView(act) {
  let trainers = [];
  const rows = table([
    {name: "id", label: "id", number: true},
    {name: "name", label: "name", cell: x => element("a",
      {href: `#/study/${x.id}`}, x.name)},
    {name: "state", label: "state", cell: x => state(x.state)},
    {name: "best", label: "best", number: true, key: x => x.best?.best?.value,
      cell: x => isOfSeveral(x) ? element("span", {title: wanted(x)},
        `front of ${shown(x.front.points.length)}`, element("small", {},
          x.front.hypervolume === null ? "" : ` hypervolume ${
            shown(x.front.hypervolume)}`))
        : x.best ? element("span", {}, shown(x.best.best?.value),
          element("small", {}, ` ${x.metric}`)) : "–"},
    {name: "improved", label: "improved", cell: x => x.improved === null ? ""
      : element("span", {title: moment(x.improved)}, ago(x.improved))},
    {name: "trials", label: "trials", key: x => x.trials, cell: x =>
      element("span", {}, stateBar(x), ` ${shown(x.finished)} / ${
        shown(x.trials)}`)},
    {name: "progress", label: "steps", key: x => x.delivered_steps
      / (x.asked_steps || 1), cell: x => `${shown(x.delivered_steps)} / ${
      shown(x.asked_steps)}`},
    {name: "shared", label: "shared", number: true, key: x => x.shared_steps
      / (x.delivered_steps || 1),
      cell: x => element("span", {}, mergeRate(x) === null ? ""
        : element("small", {}, `p = ${mergeRate(x).toFixed(2)} `),
      percent(x.shared_steps, x.delivered_steps))},
    {name: "saved_seconds", label: "saved by merging",
      number: true, cell: x => x.saved_seconds ? span(x.saved_seconds) : "–"},
    {name: "left", label: "time left", number: true, optional: true,
      key: x => x.seconds_left,
      cell: x => x.seconds_left === null ? "" : span(x.seconds_left)},
    {name: "now", label: "trainers", optional: true,
      key: x => workFor(x, trainers),
      cell: x => workFor(x, trainers)},
    {name: "weight", label: "weight", number: true},
  ], {label: "Studies", id: "id"});
  const top = element("div");
  const notes = element("div");
  const list = element("section", {class: "card brief"}, rows.node,
    barLegend());
  const node = element("div", {class: "stack"}, element("h1", {}, "Studies"),
    top, notes, list, act.toSubmit());
  const empty = element("p", {class: "quiet"}, "There is no study yet. Give ",
    "one: ", element("code", {}, "hippo submit study.yaml"));
  return {
    node,
    title: "Studies",
    async update(ask) {
      const [all, there, service] = await Promise.all([ask("api/studies"),
        ask("api/trainers"), ask("api/service")]);
      trainers = there;
      list.hidden = !all.length;
      const sum = f => all.reduce((a, x) => a + f(x), 0);
      const delivered = sum(x => x.delivered_steps);
      const shared = sum(x => x.shared_steps);
      const unique = delivered - shared;
      renew(top, all.length ? figures([
        ["studies", shown(all.length), `${all.filter(x =>
          x.state === "RUNNING").length} running`],
        ["trials", shown(sum(x => x.trials)), `${shown(sum(x =>
          x.finished))} finished`],
        ["steps delivered", shown(delivered), unique > 0
          ? `p = ${(delivered / unique).toFixed(2)}` : ""],
        ["shared steps", percent(shared, delivered),
          service.k_wise_merge_rate > 1 ? `q = ${
            service.k_wise_merge_rate.toFixed(2)} between running studies`
            : ""],
        ["device time", span(sum(x => x.cost_seconds)), "spent"],
        ["saved by merging", span(sum(x => x.saved_seconds)), "device time"],
        ["saved by stopping", span(sum(x => x.stopped_seconds)),
          "device time"],
      ]) : empty);
      renew(notes, ...all.filter(x => x.waiting && !isEnded(x)).slice(0, 5)
        .map(x => element("p", {class: "note"}, element("a",
          {href: `#/study/${x.id}`}, x.name), ` waits: ${x.waiting}`)));
      rows.set([...all].reverse());
    },
  };
}
