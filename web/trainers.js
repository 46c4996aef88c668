// What each trainer does.
import {clock, colour, element, range, scale, shown} from "./base.js";
import {times} from "./charts.js";
import {panel} from "./panel.js";
import {figures} from "./studies.js";
import {table} from "./table.js";

const gib = x => x ? `${(x / 2 ** 30).toFixed(1)} GiB` : "–";

/** The work of the last hour: each workload has a colour. */
export function timesPanel() {
  const chart = times("What trainers did in the last hour");
  let parts = [];
  const card = panel("The last hour", {chart: chart.node,
    columns: [{name: "name", label: "trainer"},
      ...["begin", "end", "from", "to"].map(name => ({name,
        label: {begin: "from second", end: "to second", from: "from step",
          to: "to step"}[name], number: true})),
      {name: "workload", label: "workload"}], rows: () => parts});
  /** @param trainers by number, with their names */
  function set(done, trainers) {
    const names = new Map(trainers.map(x => [x.number,
      `${x.number} ${x.name}`]));
    const kinds = [...new Set(done.workload)];
    const shade = x => kinds.length === 1 ? colour("--accent")
      : scale(.35 + .6 * kinds.indexOf(x) / (kinds.length - 1));
    const byTrainer = new Map();
    parts = done.trainer.map((trainer, i) => ({trainer,
      name: names.get(trainer) ?? String(trainer), begin: done.begin[i],
      end: done.end[i], from: done.from[i], to: done.to[i],
      workload: done.workload[i]}));
    let busy = 0;
    for (const x of parts) {
      if (!byTrainer.has(x.trainer)) byTrainer.set(x.trainer, []);
      byTrainer.get(x.trainer).push({begin: x.begin, end: x.end,
        colour: shade(x.workload), words: `steps ${x.from} to ${x.to} in ${
          shown(x.end - x.begin, 3)} s\n${x.workload.split("\n")[0]}`});
      busy += x.end - x.begin;
    }
    const first = range(done.begin)?.[0] ?? -60;
    chart.set([...byTrainer].sort((a, b) => a[0] - b[0]).map(([no, list]) =>
      ({name: names.get(no) ?? String(no), parts: list})), [first, 0]);
    card.note(parts.length ? `${clock(busy)} of work since ${
      clock(-first)} ago; gaps are idle` : "");
    card.refresh();
  }
  return {node: card.node, set};
}

export function trainersView() {
  const rows = table([
    {name: "number", label: "no", number: true},
    {name: "name", label: "name"},
    {name: "does", label: "does", cell: x => element("span", {class:
      `state ${x.lost ? "FAILED" : x.sick ? "PAUSED" : x.lease ? "RUNNING"
        : ""}`}, x.lost ? "gone" : x.sick ? "sick" : x.lease ? "trains"
      : "idle"), key: x => x.lost ? 3 : x.sick ? 2 : x.lease ? 0 : 1},
    {name: "studies", label: "for", cell: x => x.lease?.studies.join(", ")
      ?? "", key: x => x.lease?.studies.join() ?? null},
    {name: "what", label: "what", cell: x => x.lease?.what ?? "",
      key: x => x.lease?.what ?? null},
    {name: "at", label: "at step", number: true, cell: x => x.lease
      ? `${shown(x.lease.at)} of ${shown(x.lease.to)}` : "",
    key: x => x.lease?.at ?? null},
    {name: "speed", label: "steps/s", number: true, cell: x => x.lease
      ? shown(x.lease.steps_per_second, 3) : "",
    key: x => x.lease?.steps_per_second ?? null},
    {name: "lanes", label: "lanes", number: true, cell: x => x.lease
      ? shown(x.lease.lanes) : "", key: x => x.lease?.lanes ?? null},
    {name: "memory_bytes", label: "memory", number: true,
      cell: x => gib(x.memory_bytes)},
    {name: "device", label: "kind of device"},
    {name: "why", label: "why", cell: x => x.lost ?? x.sick ?? "",
      key: x => x.lost ?? x.sick},
  ], {label: "Trainers"});
  const top = element("div");
  const card = timesPanel();
  const list = element("section", {class: "card"}, rows.node);
  const node = element("div", {class: "stack"}, element("h1", {}, "Trainers"),
    top, list, card.node);
  let timeAt = -Infinity, timeCost = 0;

  async function drawTimes(ask, all) {
    if (performance.now() - timeAt < timeCost) return;
    const begun = performance.now();
    const done = await ask("api/timeline");
    timeAt = performance.now();
    timeCost = Math.max(5000, 20 * (timeAt - begun));
    card.set(done, all);
  }

  const empty = element("p", {class: "quiet"}, "There is no trainer. Start ",
    "one: ", element("code", {}, "hippo-trainer --connect HOST:PORT"));
  return {
    node,
    title: "Trainers",
    async update(ask) {
      const all = await ask("api/trainers");
      const there = all.filter(x => !x.lost);
      const busy = there.filter(x => x.lease);
      top.replaceChildren(all.length ? figures([
        ["there", shown(there.length)], ["training", shown(busy.length)],
        ["steps/s", shown(busy.reduce((a, x) => a
          + x.lease.steps_per_second, 0), 3)],
        ["sick", shown(there.filter(x => x.sick).length)],
        ["gone", shown(all.length - there.length)]]) : empty);
      rows.set(all);
      list.hidden = !all.length;
      card.node.hidden = !all.length;
      if (all.length) await drawTimes(ask, all);
    },
  };
}
