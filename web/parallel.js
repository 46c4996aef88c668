// Parallel coordinates: trials as lines from axis to axis.
import {axis, drawn, element, ends, plot} from "./base.js";

const SIDE = 60; // pixels beside the first axis and the last
const GAP_MIN = 64; // pixels from axis to axis; with less the chart scrolls

/** @param onBrush is told which rows are left, or null: all.
 * set(axes: [{name, values}], colours, order): the last of `order` is above */
export function parallel(label, onBrush) {
  let columns = [], colours = [], order = [];
  const brushes = new Map(); // name -> [low, high] as shares of the height
  let placed = [], field = [0, 1], drag = null;
  const it = plot(label, function* (context, svg, width, height) {
    placed = [];
    if (!colours.length) return "There is no trial yet";
    if (columns.length < 2) return "No hyper-parameter varies";
    const top = 34, bottom = height - 26;
    field = [top, bottom];
    const gap = (width - 2 * SIDE) / (columns.length - 1);
    placed = columns.map((column, i) => ({column, x: SIDE + i * gap,
      scale: axis(column.values, bottom, top, {most: 4,
        few: i + 1 < columns.length,
        log: i + 1 < columns.length ? "auto" : false})}));
    for (const axisOf of placed) {
      const {x, scale, column} = axisOf;
      svg.append(drawn("line", {x1: x, x2: x, y1: top, y2: bottom,
        class: "axis"}),
      drawn("text", {x, y: 16, "text-anchor": "middle", class: "name"},
        fit(column.name, gap)));
      for (const [at, text] of scale.marks)
        svg.append(drawn("text", {x: x + 5, y: at + 4},
          fit(text, gap - 10)));
      const brush = brushes.get(column.name);
      if (brush) svg.append(drawn("rect", {class: "brush", x: x - 7,
        width: 14, y: top + brush[0] * (bottom - top),
        height: Math.max((brush[1] - brush[0]) * (bottom - top), 1)}));
    }
    const kept = keep();
    const faint = colours.length > 400 ? .25 : .6;
    // Those that are chosen are drawn last.
    for (const chosen of kept ? [false, true] : [true]) {
      context.globalAlpha = chosen ? faint : .04;
      let count = 0;
      for (const row of order) {
        if (kept && kept.has(row) !== chosen) continue;
        context.beginPath();
        let down = false;
        for (const {x, scale, column} of placed) {
          const y = scale.at(column.values[row]);
          if (Number.isNaN(y)) down = false;
          else if (down) context.lineTo(x, y);
          else {
            context.moveTo(x, y);
            down = true;
          }
        }
        context.strokeStyle = colours[row];
        context.stroke();
        if (++count % 200 === 0) yield;
      }
    }
  }, {tall: true, over: true});

  const fit = (text, room) => ends(text, Math.max(4, Math.floor(room / 7.2)));

  /** The rows within all brushes; null: there are none. */
  function keep() {
    const limits = placed.flatMap(({column, scale}) => {
      const brush = brushes.get(column.name);
      return brush ? [{column, scale, low: field[0] + brush[0]
        * (field[1] - field[0]), high: field[0] + brush[1]
        * (field[1] - field[0])}] : [];
    });
    if (!limits.length) return null;
    const result = new Set();
    for (let row = 0; row < colours.length; ++row)
      if (limits.every(({column, scale, low, high}) => {
        const y = scale.at(column.values[row]);
        return y >= low && y <= high;
      })) result.add(row);
    return result;
  }
  const axisAt = event => {
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left;
    const found = placed.find(a => Math.abs(a.x - px) < 16);
    return found && {axis: found, y: event.clientY - box.top};
  };
  const share = y => Math.min(Math.max((y - field[0]) / (field[1] - field[0]),
    -.02), 1.02);
  it.canvas.addEventListener("pointerdown", event => {
    const at = axisAt(event);
    if (!at) return;
    drag = {name: at.axis.column.name, from: share(at.y)};
    it.canvas.setPointerCapture(event.pointerId);
  });
  it.canvas.addEventListener("pointermove", event => {
    if (!drag) {
      it.canvas.style.cursor = axisAt(event) ? "ns-resize" : "";
      return;
    }
    const y = share(event.clientY - it.canvas.getBoundingClientRect().top);
    brushes.set(drag.name, [Math.min(drag.from, y), Math.max(drag.from, y)]);
    it.redraw();
  });
  it.canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const brush = brushes.get(drag.name);
    if (brush && brush[1] - brush[0] < .01) brushes.delete(drag.name);
    drag = null;
    it.redraw();
    onBrush(keep());
  });
  // Left and right choose an axis, up and down a tenth of it, Escape all.
  let at = 0, tenth = -1;
  it.canvas.addEventListener("keydown", event => {
    const name = placed[at]?.column.name;
    if (event.key === "Escape") brushes.clear();
    else if (event.key === "ArrowLeft") at = Math.max(at - 1, 0);
    else if (event.key === "ArrowRight")
      at = Math.min(at + 1, placed.length - 1);
    else if (name && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      tenth = Math.min(Math.max(tenth + (event.key === "ArrowUp" ? -1 : 1), 0),
        9);
      brushes.set(name, [tenth / 10 - .001, (tenth + 1) / 10 + .001]);
    } else return;
    event.preventDefault();
    it.redraw();
    onBrush(keep());
  });
  return {
    node: element("div", {class: "scroll"}, it.node),
    set(nextColumns, nextColours, nextOrder, now = false) {
      columns = nextColumns;
      it.node.style.minWidth = `${2 * SIDE + GAP_MIN * (columns.length - 1)}px`;
      colours = nextColours;
      order = nextOrder;
      if (now) it.redraw();
      else it.update();
    },
    clear() {
      brushes.clear();
      it.redraw();
      onBrush(null);
    },
  };
}
