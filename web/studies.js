// All studies, and one stage tree that they share.
import {clock, element, shown} from "./charts.js";
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

/** @param ask asks the service: paths give objects */
export function studiesView() {
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
    {name: "weight", label: "weight", number: true},
    {name: "algorithm", label: "algorithm"},
  ], {label: "Studies"});
  const top = element("div");
  const notes = element("div");
  const node = element("div", {}, element("h1", {}, "Studies"), top, notes,
    element("section", {class: "card"}, rows.node));
  const empty = element("p", {class: "quiet"}, "There is no study yet. Give ",
    "one: ", element("code", {}, "hippo submit study.yaml"));
  return {
    node,
    title: "Studies",
    async update(ask) {
      const all = await ask("api/studies");
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
        ["device time saved", clock(sum(x => x.saved_seconds))],
      ]) : empty);
      notes.replaceChildren(...all.filter(x => x.waiting && x.state
        !== "COMPLETE").slice(0, 5).map(x => element("p", {class: "note"},
        element("a", {href: `#/study/${x.id}`}, x.name), ` waits: ${x.waiting}`)));
      rows.set([...all].reverse());
    },
  };
}
