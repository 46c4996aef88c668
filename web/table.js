// Tables that can be sorted, and of which only what is seen is made.
import {element, shown} from "./base.js";

const ROW = 32; // pixels of a row

/** @param columns [{name, label, number, cell(row) -> text or node, key(row)}]
 * @returns {node, set(rows)} */
export function table(columns, {label, limit = 60} = {}) {
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

  function sort(column) {
    down = sorted === column ? !down : Boolean(column.number);
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
      return (x < y ? -1 : 1) * sign;
    });
  }
  function draw() {
    const first = rows.length <= limit ? 0
      : Math.max(0, Math.floor(node.scrollTop / ROW) - 10);
    const some = rows.slice(first, first + limit);
    top.style.height = `${first * ROW}px`;
    bottom.style.height = `${(rows.length - first - some.length) * ROW}px`;
    body.replaceChildren(top, ...some.map(row => element("tr", {},
      ...columns.map(column => {
        const cell = column.cell ? column.cell(row) : shown(row[column.name]);
        const td = element("td",
          {class: column.number ? "number" : "long"}, cell ?? "");
        if (typeof cell === "string" && cell.length > 40) td.title = cell;
        return td;
      }))), bottom);
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
