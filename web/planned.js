// The stage tree that a study would make, before it is submitted.
import {colour, element, KINDS, shown} from "./base.js";
import {check} from "./charts.js";
import {legend} from "./panel.js";
import {stageTree} from "./tree.js";

// What is to become of a stage of a plan: which colour says so.
const PLANNED = [["others", "of other studies alone", "var(--line)"],
  ["known", "shared, trained already", KINDS[2]],
  ["part", "shared, trained in part", KINDS[4]],
  ["wanted", "shared, asked for and not trained yet", KINDS[5]],
  ["fresh", "new", KINDS[0]]];

/** What the stages of a plan are, and how many steps of each there are: of
 * those that the study passes what is trained already is `known`. */
function planned(tree) {
  const steps = Object.fromEntries(PLANNED.map(([what]) => [what, 0]));
  const kinds = tree.id.map((_, i) => {
    const all = tree.end[i] - tree.begin[i];
    const known = tree.known_to[i] - tree.begin[i];
    if (!tree.trials[i]) {
      steps.others += all;
      return "others";
    }
    steps.known += known;
    steps[tree.others[i] ? "wanted" : "fresh"] += all - known;
    return known >= all ? "known" : known > 0 ? "part"
      : tree.others[i] ? "wanted" : "fresh";
  });
  return {steps, kinds};
}

/** The stages that a study would have, before it is submitted, among those that
 * are there. */
export function planTree() {
  const chart = stageTree("Stage tree that the study would make", () => {});
  const note = element("p", {class: "quiet"});
  const colours = legend();
  let last = null;
  const alone = check("without other studies", () => draw());
  function draw() {
    const {tree} = last, {steps, kinds} = planned(tree);
    const some = tree.id.map((_, i) => i).filter(i => tree.trials[i]
      || !alone.on);
    const of = name => some.map(i => tree[name][i]);
    const shadeOf = new Map(PLANNED.map(([what, , shade]) => [what,
      {colour: shade.startsWith("var") ? colour("--line") : shade,
        words: shade.startsWith("var") ? colour("--text") : "#10141b"}]));
    const trials = some.map(i => tree.trials[i] + (alone.on ? 0
      : tree.others[i]));
    chart.set({tree: {id: of("id"), parent: of("parent"), begin: of("begin"),
      end: of("end"), label: of("label"), trials}, live: new Set(),
    marked: null, look: k => shadeOf.get(kinds[some[k]]),
    words: k => {
      const i = some[k];
      return `, ${shown(tree.trials[i])} of them of this study\n${
        shown(tree.known_to[i] - tree.begin[i])} of ${
        shown(tree.end[i] - tree.begin[i])} steps are trained already`;
    }}, true);
    colours.show(PLANNED.filter(([what]) => kinds.includes(what)
      && !(alone.on && what === "others")).map(([what, text, shade]) =>
      ({colour: shade, text: what === "part" ? text
        : `${text}: ${shown(steps[what])} steps`})));
    const all = shown(tree.all_nodes);
    const passed = kinds.filter(x => x !== "others").length;
    note.textContent = [`${tree.all_nodes > tree.id.length
      ? `the first ${shown(tree.id.length)} of ${all}` : all} stages, ${
      shown(passed)} of them of this study, each trial of it trained to its`,
    `end: ${shown(steps.fresh)} steps are new, ${shown(steps.known
      + steps.wanted)} shared with what is there`].join(" ");
    alone.node.hidden = !kinds.includes("others");
  }
  return {node: element("div", {}, element("div", {class: "tools"},
    alone.node), colours.node, chart.node, note),
  /** @param tree of a preview: docs/http.md */
  set(tree) {
    last = {tree};
    draw();
  }};
}
