// What each trainer does.
import {bytes, colour, element, KINDS, range, renew, shown, span} from
  "./base.js";
import {times} from "./charts.js";
import {legend, panel} from "./panel.js";
import {figures, percent} from "./studies.js";
import {table} from "./table.js";

/** The seconds of the last hour in which each trainer was at work, of what it
 * does now those since its last report; all seconds since `first`, when
 * anything was done. Its lanes work at the same time. */
export function atWork(done, trainers) {
  const spans = new Map(trainers.map(x => [x.trainer, []]));
  done.trainer.forEach((no, i) => spans.get(no)?.push([done.begin[i],
    done.end[i]]));
  const first = range(done.begin)?.[0] ?? null;
  const result = new Map();
  for (const {trainer, lease, lost} of trainers) {
    const all = spans.get(trainer).sort((a, b) => a[0] - b[0]);
    const last = range(all.map(x => x[1]))?.[1];
    const now = lease && !lost && last !== undefined ? [last, 0] : null;
    if (now) all.push(now);
    let busy = 0, until = -Infinity;
    for (const [begin, end] of all) {
      busy += Math.max(end - Math.max(begin, until), 0);
      until = Math.max(until, end);
    }
    result.set(trainer, {busy, now});
  }
  return {first, of: result};
}

/** What checkpoints and books take, and may take. */
function kept(service) {
  const sum = service.checkpoints.reduce((a, x) => a + x.bytes, 0);
  const of = most => most === null ? "" : `of ${bytes(most)}`;
  return [["checkpoints", bytes(sum), of(service.checkpoint_bytes_max)],
    ...service.memory_bytes ? [["books of studies and plans",
      bytes(service.memory_bytes), of(service.memory_bytes_max)]] : []];
}

/** A workload's name, or its code's, without its options. */
function brief(key) {
  const [name, ...options] = key.split(";");
  const code = options.map(x => /^(?:class|program)=(.*)$/.exec(x)?.[1])
    .find(Boolean);
  return (code ?? name).slice(0, 40);
}

/** The work of the last hour: each workload has a colour. */
export function timesPanel() {
  const chart = times("What trainers did in the last hour");
  const colours = legend();
  let parts = [];
  const card = panel("Timeline", {chart: chart.node,
    tools: [colours.node],
    columns: [{name: "name", label: "trainer"},
      ...["begin", "end", "from", "to"].map(name => ({name,
        label: {begin: "from second", end: "to second", from: "from step",
          to: "to step"}[name], number: true})),
      {name: "workload", label: "workload"}], rows: () => parts});
  /** @param trainers by number, with their names */
  function set(done, trainers) {
    const names = new Map(trainers.map(x => [x.trainer,
      `${x.trainer} ${x.name}`]));
    const work = atWork(done, trainers);
    const kinds = [...new Set(done.workload)];
    const shade = x => KINDS[Math.min(kinds.indexOf(x), KINDS.length - 1)];
    colours.show([...kinds.slice(0, KINDS.length).map(x => ({colour: shade(x),
      text: brief(x)})), {colour: "var(--glow)", text: "being trained"}]);
    colours.node.hidden = !kinds.length;
    const byTrainer = new Map();
    let sum = 0;
    parts = done.trainer.map((trainer, i) => ({trainer,
      name: names.get(trainer) ?? String(trainer), begin: done.begin[i],
      end: done.end[i], from: done.from_step[i], to: done.to_step[i],
      workload: done.workload[i]}));
    for (const x of parts) {
      if (!byTrainer.has(x.trainer)) byTrainer.set(x.trainer, []);
      byTrainer.get(x.trainer).push({begin: x.begin, end: x.end,
        colour: shade(x.workload), words: `steps ${x.from} to ${x.to} in ${
          shown(x.end - x.begin, 3)} s\n${brief(x.workload)}`});
    }
    for (const {trainer, lease} of trainers) {
      const {busy, now} = work.of.get(trainer);
      if (now) byTrainer.get(trainer).push({begin: now[0], end: now[1],
        colour: colour("--glow"), words: `at step ${shown(lease.step)} of ${
          shown(lease.to_step)} now\nfor ${lease.studies.join(", ")}`});
      sum += busy;
    }
    const first = work.first ?? -60;
    chart.set([...byTrainer].sort((a, b) => a[0] - b[0]).map(([no, list]) =>
      ({name: names.get(no) ?? String(no), parts: list})), [first, 0]);
    card.note(parts.length ? `${span(sum)} of work in the last ${
      span(-first)}; gaps are idle time` : "");
    card.refresh();
  }
  return {node: card.node, set};
}

export function trainersView() {
  let work = {first: null, of: new Map()};
  const idle = x => {
    const known = work.of.get(x.trainer);
    return known && work.first < 0 && !x.lost
      ? Math.max(1 + known.busy / work.first, 0) : null;
  };
  const rows = table([
    {name: "trainer", label: "no", number: true},
    {name: "name", label: "name"},
    {name: "does", label: "state", cell: x => element("span", {class:
      `state ${x.lost ? "FAILED" : x.held_up || x.sick ? "PAUSED" : x.lease
        ? "RUNNING" : ""}`}, x.lost ? "gone" : x.held_up ? "held up" : x.sick
      ? "sick" : x.lease ? "trains" : "idle"), key: x => x.lost ? 4 : x.held_up
      ? 3 : x.sick ? 2 : x.lease ? 0 : 1},
    {name: "studies", label: "studies", cell: x => x.lease?.studies.join(", ")
      ?? "", key: x => x.lease?.studies.join() ?? null},
    {name: "what", label: "hyper-parameters", cell: x => x.lease?.values ?? "",
      key: x => x.lease?.values ?? null},
    {name: "at", label: "at step", number: true, cell: x => x.lease
      ? `${shown(x.lease.step)} of ${shown(x.lease.to_step)}` : "",
    key: x => x.lease?.step ?? null},
    {name: "speed", label: "steps/s", number: true, cell: x => x.lease
      ? shown(x.lease.steps_per_second, 3) : "",
    key: x => x.lease?.steps_per_second ?? null},
    {name: "idle", label: "idle in the last hour", number: true, key: idle,
      cell: x => idle(x) === null ? "" : percent(idle(x), 1)},
    {name: "lanes", label: "lanes", number: true, cell: x => x.lease
      ? shown(x.lease.lanes) : "", key: x => x.lease?.lanes ?? null},
    {name: "memory_bytes", label: "device memory", number: true,
      cell: x => x.memory_bytes ? bytes(x.memory_bytes) : "–"},
    {name: "device", label: "kind of device"},
    {name: "failures", label: "errors", number: true, cell: x => x.failures
      ? element("span", {title: x.failure}, shown(x.failures)) : "0"},
    {name: "why", label: "reason, or last error", cell: x => x.lost
      ?? x.held_up ?? x.sick ?? x.failure ?? "",
      key: x => x.lost ?? x.held_up ?? x.sick ?? x.failure},
  ], {label: "Trainers", id: "trainer"});
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
    work = atWork(done, all);
  }

  const empty = element("p", {class: "quiet"}, "There is no trainer. Start ",
    "one: ", element("code", {}, "hippo-trainer --connect HOST:PORT"));
  return {
    node,
    title: "Trainers",
    async update(ask) {
      const [all, service] = await Promise.all([ask("api/trainers"),
        ask("api/service")]);
      if (all.length) await drawTimes(ask, all);
      const there = all.filter(x => !x.lost);
      const busy = there.filter(x => x.lease);
      renew(top, all.length ? figures([
        ["connected", shown(there.length)], ["training", shown(busy.length)],
        ["steps/s", shown(busy.reduce((a, x) => a
          + x.lease.steps_per_second, 0), 3)],
        ["errors", shown(all.reduce((a, x) => a + x.failures, 0)),
          "training that failed"],
        ["sick", shown(there.filter(x => x.sick).length)],
        ["held up", shown(there.filter(x => x.held_up).length)],
        ["gone", shown(all.length - there.length)],
        ...kept(service)]) : element("div", {}, empty,
        figures(kept(service))));
      rows.set(all);
      list.hidden = !all.length;
      card.node.hidden = !all.length;
    },
  };
}
