// What each trainer does.
import {element, shown} from "./charts.js";
import {figures} from "./studies.js";
import {table} from "./table.js";

const gib = x => x ? `${(x / 2 ** 30).toFixed(1)} GiB` : "–";

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
  const node = element("div", {}, element("h1", {}, "Trainers"), top,
    element("section", {class: "card"}, rows.node));
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
    },
  };
}
