// A chart in its card, with the table behind it.
import {element, NEITHER, shown} from "./base.js";
import {table} from "./table.js";

const NEAR = "200px"; // what is so near to what is seen counts as seen

const idle = globalThis.requestIdleCallback ?? (f => setTimeout(f, 200));

/** Does the latest work for a card while it is seen, or else once it is: what
 * nobody looks at costs nothing. The first is done as soon as there is time,
 * for those who search the page or hear it. A hidden card is seen where its
 * group is.
 * @returns later(work, now), whose result is that of the work if it was done;
 *   now: seen or not */
export function whileSeen(node, group) {
  const seen = new Set();
  let wanted = null, isNew = true;
  function begin() {
    const work = wanted;
    wanted = null;
    isNew = false;
    return work?.();
  }
  const isSeen = () => seen.has(node.hidden ? group : node);
  async function attempt() {
    const work = wanted;
    try {
      await begin();
    } catch {
      wanted ??= work; // what asks next says why
    }
  }
  const observer = new IntersectionObserver(found => {
    for (const {target, isIntersecting} of found)
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    if (isSeen()) attempt();
  }, {rootMargin: NEAR});
  observer.observe(node);
  observer.observe(group);
  return (work, now = false) => {
    if (isNew && !wanted) idle(() => isNew && attempt());
    wanted = work;
    return now || isSeen() ? begin() : undefined;
  };
}

/** Calls `f` again only `rest` times as long after it as it took, and at least
 * `pause` milliseconds: who calls before that is served by then. */
export function paced(f, {pause = 0, rest = 0} = {}) {
  let ready = -Infinity, timer = 0, running = null;
  async function run() {
    timer = 0;
    const begun = performance.now();
    await f();
    const now = performance.now();
    ready = Math.max(begun + pause, now + rest * (now - begun));
  }
  const start = () => {
    running = run().finally(() => { running = null; });
    return running;
  };
  return () => {
    if (running) return running;
    const wait = ready - performance.now();
    if (wait <= 0 && !timer) return start();
    timer ||= setTimeout(() => start().catch(() => {}), wait);
    return undefined;
  };
}

/** @param parts {chart, tools: [nodes], note: node or text, columns, rows(),
 * wide}: the table is made when it is opened
 * @returns {node, note(text), refresh()} */
export function panel(title, {chart, tools = [], note = "", columns, rows,
  wide = false}) {
  const words = element("span", {}, note);
  let grid = null, heads = "";
  const behind = columns && element("details", {},
    element("summary", {}, "As a table"));
  function refresh() {
    if (!behind?.open) return;
    const now = typeof columns === "function" ? columns() : columns;
    const said = JSON.stringify(now.map(x => [x.name, x.label]));
    if (heads !== said) { // it may be another metric's by now
      heads = said;
      grid?.node.remove();
      grid = table(now, {label: `${title}, as a table`});
      behind.append(grid.node);
    }
    grid.set(rows());
  }
  behind?.addEventListener("toggle", () => {
    heads = "";
    refresh();
  });
  const node = element("section", {class: `card${wide ? " wide" : ""}`},
    element("h2", {}, title), element("div", {class: "tools"}, ...tools,
      words), chart, behind);
  return {node, refresh, note(text) {
    words.textContent = text;
  }};
}

/** What colours say: show(items: [{colour, text}]); ramp(low, high, name), of
 * a bar from bad to good; or values(name, rank), the same with the values at
 * its ends, and what has none in a colour of its own */
export function legend() {
  const node = element("div", {class: "legend"});
  const mark = shade => {
    const it = element("i");
    it.style.background = shade;
    return it;
  };
  return {node,
    show(items) {
      node.hidden = false;
      node.replaceChildren(...items.map(x => element("span", {},
        mark(x.colour), x.text)));
    },
    ramp(low, high, name = "") {
      node.replaceChildren(element("span", {}, name ? `${name}: ` : "", low,
        " ", element("i", {class: "ramp"}), " ", high));
    },
    values(name, {worst, best}, grey = "", shade = NEITHER) {
      node.hidden = worst === undefined;
      if (node.hidden) return;
      this.ramp(`worst ${shown(worst, 4)}`, `best ${shown(best, 4)}`, name);
      if (grey) node.append(element("span", {}, mark(shade), grey));
    }};
}
