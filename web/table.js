// Tables that can be sorted, and of which only what is seen is made.
import {element, renew, shown} from "./base.js";

const ROW = 32; // pixels of a row

/** Rows stay as they are where nothing in them has changed: who is on a link,
 * or has marked a text, loses nothing by news.
 * @param columns [{name, label, number, cell(row) -> text or node, key(row),
 *   best: "minimize" or "maximize", wrap: its texts may take lines,
 *   optional: hidden while no row has a text in it}]. The first click on a head
 *   sorts the best to the top, or the largest of numbers, or the first of words
 * @param id what tells a row from others; without it, its place does
 * @returns {node, set(rows)} */
export function table(columns, {label, limit = 60, id} = {}) {
  const body = element("tbody");
  const top = element("tr", {"aria-hidden": "true"});
  const bottom = element("tr", {"aria-hidden": "true"});
  const heads = columns.map(column => {
    const button = element("button", {type: "button"}, column.label);
    const head = element("th", {scope: "col",
      class: column.number ? "number" : ""}, button);
    button.addEventListener("click", () => sort(column));
    return head;
  });
  const grid = element("table", {},
    element("caption", {class: "hidden"}, label ?? "table"),
    element("thead", {}, element("tr", {}, ...heads)), body);
  const node = element("div", {class: "rows", tabindex: "0", role: "region",
    "aria-label": label ?? "table"}, grid);
  let rows = [];
  let sorted = null;
  let down = false;
  let made = new Map(); // what tells a row -> its node

  function sort(column) {
    down = sorted === column ? !down : column.best
      ? column.best === "maximize" : Boolean(column.number);
    sorted = column;
    heads.forEach((head, i) => {
      if (columns[i] === column)
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    order();
    draw();
  }
  function order() {
    if (!sorted) return;
    const key = sorted.key ?? (row => row[sorted.name]);
    const sign = down ? -1 : 1;
    rows = [...rows].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === y) return 0;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : 1) * sign;
    });
  }
  function draw() {
    columns.forEach((x, i) => {
      if (x.optional) heads[i].hidden = !rows.some(row => x.cell(row));
    });
    const first = rows.length <= limit ? 0
      : Math.max(0, Math.floor(node.scrollTop / ROW) - 10);
    const some = rows.slice(first, first + limit);
    top.style.height = `${first * ROW}px`;
    bottom.style.height = `${(rows.length - first - some.length) * ROW}px`;
    const before = made;
    made = new Map();
    some.forEach((row, i) => {
      const name = id ? row[id] : first + i;
      made.set(name, fill(before.get(name), row));
    });
    const here = document.activeElement;
    // Those that go first: then those that stay need not move.
    for (const [name, tr] of before) if (!made.has(name)) tr.remove();
    let at = top;
    if (top.parentNode !== body) body.append(top, bottom);
    for (const tr of made.values()) {
      if (at.nextSibling !== tr) at.after(tr);
      at = tr;
    }
    // What was moved has lost the focus.
    if (here !== document.activeElement && body.contains(here))
      here.focus({preventScroll: true});
  }
  function fill(tr, row) {
    tr ??= element("tr", {}, ...columns.map(column => element("td",
      {class: column.number ? "number" : column.wrap ? "wrap" : "long"})));
    columns.forEach((column, i) => {
      const td = tr.children[i];
      const cell = column.cell ? column.cell(row) : shown(row[column.name]);
      renew(td, cell ?? "");
      if (column.optional) td.hidden = heads[i].hidden;
      if (typeof cell === "string" && cell.length > 40) td.title = cell;
      else if (td.title) td.removeAttribute("title");
    });
    return tr;
  }
  node.addEventListener("scroll", () => {
    if (rows.length > limit) requestAnimationFrame(draw);
  });
  return {
    node,
    set(next) {
      rows = next;
      order();
      draw();
    },
  };
}
