// Chooses a view by the address, and keeps it up to date.
import {actions} from "./actions.js";
import {element, hint} from "./base.js";
import {ask, follow, Unknown} from "./data.js";
import {studiesView} from "./studies.js";
import {studyView} from "./study.js";
import {trainersView} from "./trainers.js";
import {trialView} from "./trial.js";

const PAUSE = 1000; // milliseconds between two updates at least
const PAUSES = 3;   // for as long as an update took: a large study is no load
const main = document.getElementById("main");
const link = document.getElementById("link");

let view = null;       // what is shown
let asked = false;     // an update is wanted
let busy = false;      // one is going on
let abort = null;      // ends what the view before has asked
const act = actions(() => update());

function viewOf(hash) {
  const parts = hash.replace(/^#\/?/, "").split("/");
  const number = text => /^\d+$/.test(text ?? "") ? Number(text) : null;
  if (parts[0] === "") return studiesView(act);
  if (parts[0] === "trainers") return trainersView();
  if (parts[0] === "study" && number(parts[1]) !== null) {
    if (parts.length === 2) return studyView(number(parts[1]), act);
    if (parts[2] === "trial" && number(parts[3]) !== null)
      return trialView(number(parts[1]), number(parts[3]), act);
  }
  return {node: element("p", {}, "There is no such view. ",
    element("a", {href: "#/"}, "Studies")), title: "Nothing", update() {}};
}

function show() {
  hint(null);
  abort?.abort();
  abort = new AbortController();
  view = viewOf(location.hash);
  view.failed = element("p", {class: "note bad", role: "alert", hidden: true});
  view.loading = element("p", {class: "quiet"}, "Loading …");
  view.node.hidden = true;
  main.replaceChildren(view.failed, view.loading, view.node);
  for (const x of document.querySelectorAll("nav a")) {
    const here = x.getAttribute("href") === "#/trainers"
      ? location.hash === "#/trainers" : location.hash !== "#/trainers";
    if (here) x.setAttribute("aria-current", "page");
    else x.removeAttribute("aria-current");
  }
  busy = false;
  update();
}

async function update() {
  if (busy || document.hidden) {
    asked = true;
    return;
  }
  busy = true;
  asked = false;
  const shown = view, signal = abort.signal, begun = performance.now();
  try {
    await shown.update(path => ask(path, signal));
    shown.failed.hidden = true;
    shown.node.hidden = false;
    document.title = `${shown.title} · Hippo`;
  } catch (why) {
    if (shown !== view) return;
    shown.failed.hidden = false;
    shown.failed.textContent = why instanceof Unknown
      ? why.message.replace(/^\w+: /, "")
      : why.name !== "TypeError" ? why.message
        : "The service does not answer. This page goes on when it is back.";
  }
  if (shown !== view) return;
  shown.loading.remove();
  await new Promise(done => setTimeout(done,
    Math.max(PAUSE, PAUSES * (performance.now() - begun))));
  if (shown !== view) return;
  busy = false;
  if (asked) update();
}

addEventListener("hashchange", () => {
  show();
  main.focus({preventScroll: true});
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && asked) update();
});
follow(update, state => {
  link.className = state;
  link.textContent = state === "live" ? "live"
    : "no connection to the service";
});
show();
