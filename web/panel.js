// A chart in its card, with the table behind it.
import {element} from "./base.js";
import {table} from "./table.js";

/** @param parts {chart, tools: [nodes], note: node or text, columns, rows(),
 * wide}: the table is made when it is opened
 * @returns {node, note(text), refresh()} */
export function panel(title, {chart, tools = [], note = "", columns, rows,
  wide = false}) {
  const words = element("span", {}, note);
  let grid = null;
  const behind = columns && element("details", {},
    element("summary", {}, "As a table"));
  function refresh() {
    if (behind?.open) grid.set(rows());
  }
  behind?.addEventListener("toggle", () => {
    if (!behind.open) return;
    const now = typeof columns === "function" ? columns() : columns;
    grid?.node.remove();
    grid = table(now, {label: `${title}, as a table`});
    behind.append(grid.node);
    refresh();
  });
  const node = element("section", {class: `card${wide ? " wide" : ""}`},
    element("h2", {}, title), element("div", {class: "tools"}, ...tools,
      words), chart, behind);
  return {node, refresh, note(text) {
    words.textContent = text;
  }};
}
