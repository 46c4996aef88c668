// One chart of a study by itself, as notebooks show it: all that it asks for
// is in the page.
import {History, Refused} from "./data.js";
import {commonPanel, parallelPanel} from "./hyper.js";
import {curvesPanel, frontPanel, historyPanel} from "./results.js";
import {Schedules, schedulesPanel} from "./schedules.js";
import {look} from "./study.js";
import {timesPanel} from "./trainers.js";
import {treePanel} from "./tree.js";

const {what, study, answers} = JSON.parse(
  document.getElementById("figure").textContent);
const ask = async path => {
  const name = path.split("?")[0].split("/").at(-1);
  if (name in answers) return answers[name];
  throw new Refused(`${name} is not in this figure`);
};
const go = () => {};

const figures = {
  history: () => charted(historyPanel(go)),
  curves: () => charted(curvesPanel(go)),
  parallel: () => charted(parallelPanel(study.id, go)),
  async importance() {
    const card = commonPanel(study.id);
    await card.set(ask);
    return card;
  },
  async tree() {
    const card = treePanel(study.id);
    const history = new History(study.id);
    await history.refresh(ask);
    card.set({study, nodes: answers.tree, history, ask,
      trainers: answers.trainers});
    return card;
  },
  async schedules() {
    const card = schedulesPanel(go), courses = new Schedules();
    const history = new History(study.id);
    await history.refresh(ask);
    courses.set(answers.schedules);
    card.set(look(study, history, history.rows), courses, true);
    return card;
  },
  async timeline() {
    const card = timesPanel();
    card.set(answers.timeline, answers.trainers);
    return card;
  },
  async front() {
    const card = frontPanel(study.id, go);
    const history = new History(study.id);
    await history.refresh(ask);
    await card.read(look(study, history, history.rows), ask);
    return card;
  },
};

async function charted(card) {
  const history = new History(study.id);
  await history.refresh(ask);
  card.set(look(study, history, history.rows), true);
  return card;
}

document.getElementById("main").replaceChildren((await figures[what]()).node);
