// All studies, and one stage tree that they share.
import {clock, element, shown, span} from "./base.js";
import {table} from "./table.js";

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
      more ? element("small", {}, ` ${more}`) : null))));
}

export const percent = (part, all) => all
  ? `${Math.round(100 * part / all)} %` : "–";

/** What a study has cost and was spared, and when it ends, in a sentence. */
export function costs(x) {
  const alone = x.cost_seconds + x.saved_seconds + x.stopped_seconds;
  const part = seconds => `${span(seconds)} (${percent(seconds, alone)})`;
  const ended = ["COMPLETE", "FAILED", "CANCELLED"].includes(x.state);
  const when = ended ? `took ${span(x.active_seconds)}.`
    : x.seconds_left === null ? "when it ends is not known yet."
      : `about ${span(x.seconds_left)} left.`;
  return `Cost ${span(x.cost_seconds)} of device time; merging saved ${
    part(x.saved_seconds)}, stopping ${part(x.stopped_seconds)}; ${when}`;
}

/** @param act what may be done: actions.js */
export function studiesView(act) {
  const rows = table([
    {name: "id", label: "id", number: true},
    {name: "name", label: "name", cell: x => element("a",
      {href: `#/study/${x.id}`}, x.name)},
    {name: "state", label: "state", cell: x => state(x.state)},
    {name: "best", label: "best", number: true, key: x => x.best?.best?.value,
      cell: x => shown(x.best?.best?.value)},
    {name: "metric", label: "metric", cell: x => x.metric},
    {name: "trials", label: "trials", number: true,
      cell: x => `${x.finished} / ${x.trials}`},
    {name: "progress", label: "trained", key: x => x.delivered_steps
      / (x.asked_steps || 1), cell: x => progress(x.delivered_steps,
      x.asked_steps)},
    {name: "asked_steps", label: "steps asked", number: true},
    {name: "shared", label: "shared", number: true, key: x => x.shared_steps
      / (x.delivered_steps || 1),
      cell: x => percent(x.shared_steps, x.delivered_steps)},
    {name: "saved_seconds", label: "saved", number: true,
      cell: x => x.saved_seconds ? clock(x.saved_seconds) : "–"},
    {name: "left", label: "left", number: true, key: x => x.seconds_left,
      cell: x => x.seconds_left === null ? "" : clock(x.seconds_left)},
    {name: "weight", label: "weight", number: true},
    {name: "algorithm", label: "algorithm"},
  ], {label: "Studies"});
  const top = element("div");
  const notes = element("div");
  const list = element("section", {class: "card"}, rows.node);
  const node = element("div", {class: "stack"}, element("h1", {}, "Studies"),
    top, notes, list, act.toSubmit());
  const empty = element("p", {class: "quiet"}, "There is no study yet. Give ",
    "one: ", element("code", {}, "hippo submit study.yaml"));
  return {
    node,
    title: "Studies",
    async update(ask) {
      const all = await ask("api/studies");
      list.hidden = !all.length;
      const sum = f => all.reduce((a, x) => a + f(x), 0);
      const delivered = sum(x => x.delivered_steps);
      const shared = sum(x => x.shared_steps);
      top.replaceChildren(all.length ? figures([
        ["studies", shown(all.length), `${all.filter(x =>
          x.state === "RUNNING").length} running`],
        ["trials", shown(sum(x => x.trials)), `${shown(sum(x =>
          x.finished))} finished`],
        ["steps delivered", shown(delivered)],
        ["shared, so not trained", percent(shared, delivered)],
        ["device time", span(sum(x => x.cost_seconds)), "spent"],
        ["saved", span(sum(x => x.saved_seconds + x.stopped_seconds)),
          "by merging and stopping"],
      ]) : empty);
      notes.replaceChildren(...all.filter(x => x.waiting && x.state
        !== "COMPLETE").slice(0, 5).map(x => element("p", {class: "note"},
        element("a", {href: `#/study/${x.id}`}, x.name),
        ` waits: ${x.waiting}`)));
      rows.set([...all].reverse());
    },
  };
}
