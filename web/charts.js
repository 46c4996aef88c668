// Marks on canvas; axes and words in SVG and HTML.

/** Makes an element; children are nodes or text. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null && value !== false)
      node.setAttribute(key, value === true ? "" : value);
  node.append(...children.filter(x => x !== null && x !== undefined));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

/** A number as people read it. */
export function shown(x, digits = 5) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return x.toLocaleString("en");
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-4 || size >= 1e6)
    ? x.toExponential(2) : String(Number(x.toPrecision(digits)));
}

/** Seconds as a clock shows them. */
export function clock(seconds) {
  const s = Math.round(seconds);
  const two = x => String(x).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}`
    : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** A colour between bad (0) and good (1), as in viridis; grey for neither. */
export function scale(x) {
  if (!Number.isFinite(x)) return "rgb(140 150 165)";
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98],
    [253, 231, 37]];
  const at = Math.min(Math.max(x, 0), 1) * 4;
  const i = Math.min(Math.floor(at), 3);
  const mix = stops[i].map((a, k) => a + (stops[i + 1][k] - a) * (at - i));
  return `rgb(${mix.map(Math.round).join(" ")})`;
}

/** Round values that divide a range. */
export function ticks(low, high, most = 6) {
  if (!(high > low)) return [low];
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(x => x * power).find(x => x >= raw);
  const result = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step)
    result.push(Number(x.toPrecision(12)));
  return result;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name)
    .trim();
}

let tip = null;
/** Shows words beside the pointer; none hides them. */
export function hint(event, words) {
  tip ??= document.body.appendChild(element("div", {class: "tip"}));
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const right = event.clientX > innerWidth - 300;
  tip.style.left = right ? "" : `${event.clientX + 14}px`;
  tip.style.right = right ? `${innerWidth - event.clientX + 14}px` : "";
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 60)}px`;
}

/** A place to draw on: a canvas with an SVG over it, drawn anew when its size
 * or the colours change. @param draw(context, svg, width, height) */
export function plot(label, draw, {tall = false} = {}) {
  const canvas = element("canvas", {role: "img", "aria-label": label,
    tabindex: "0"});
  const svg = drawn("svg", {"aria-hidden": "true"});
  const node = element("div", {class: tall ? "plot tall" : "plot"}, canvas,
    svg);
  let asked = false;
  function now() {
    asked = false;
    const {width, height} = node.getBoundingClientRect();
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    svg.replaceChildren();
    draw(context, svg, width, height);
  }
  function redraw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(now);
  }
  new ResizeObserver(redraw).observe(node);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  return {node, canvas, svg, redraw};
}

/** Axes around a field. @returns {x(value), y(value), left, right, top, bottom} */
export function axes(svg, width, height, xs, ys, {xLabel = "", yLabel = "",
  logX = false, logY = false} = {}) {
  const left = 54, right = width - 14, top = 10, bottom = height - 34;
  const place = (low, high, from, to, log) => {
    const f = log ? Math.log10 : x => x;
    const a = f(low), b = f(high);
    return v => b === a ? (from + to) / 2 : from + (to - from) * (f(v) - a)
      / (b - a);
  };
  const x = place(...xs, left, right, logX);
  const y = place(...ys, bottom, top, logY);
  const marks = (low, high, log) => {
    if (!log) return ticks(low, high);
    const result = [];
    for (let p = Math.ceil(Math.log10(low)); p <= Math.log10(high); ++p)
      result.push(10 ** p);
    return result.length > 1 ? result : ticks(low, high, 4);
  };
  for (const v of yLabel === null ? [] : marks(...ys, logY)) {
    svg.append(drawn("line", {x1: left, x2: right, y1: y(v), y2: y(v)}),
      drawn("text", {x: left - 8, y: y(v) + 4, "text-anchor": "end"},
        shown(v, 4)));
  }
  for (const v of marks(...xs, logX))
    svg.append(drawn("text", {x: x(v), y: bottom + 17,
      "text-anchor": "middle"}, shown(v, 4)));
  svg.append(drawn("line", {x1: left, x2: right, y1: bottom, y2: bottom}),
    drawn("text", {x: right, y: bottom + 31, "text-anchor": "end"}, xLabel),
    drawn("text", {x: left - 44, y: top + 2}, yLabel ?? ""));
  return {x, y, left, right, top, bottom};
}

/** Lines over steps. @param series [{x: [], y: [], colour, name, steps}] */
export function lines(label, {xLabel, yLabel, onPick} = {}) {
  let series = [], scales = null, options = {};
  const it = plot(label, (context, svg, width, height) => {
    const finite = series.flatMap(s => s.y.filter(Number.isFinite));
    scales = null;
    if (!finite.length) return;
    const xs = series.flatMap(s => s.x);
    const least = (a, f) => a.reduce((m, v) => f(m, v), a[0]);
    const low = least(finite, Math.min), high = least(finite, Math.max);
    const pad = (high - low) * .05 || Math.abs(high) * .05 || 1;
    const logY = options.logY && low > 0;
    scales = axes(svg, width, height, [least(xs, Math.min),
      least(xs, Math.max)], logY ? [low, high] : [low - pad, high + pad],
    {xLabel, yLabel, logY});
    for (const s of series) {
      context.beginPath();
      let down = false, last = 0;
      s.x.forEach((v, i) => {
        if (!Number.isFinite(s.y[i])) {
          down = false;
          return;
        }
        const px = scales.x(v), py = scales.y(s.y[i]);
        if (!down) context.moveTo(px, py);
        else if (s.steps) {
          context.lineTo(px, last);
          context.lineTo(px, py);
        } else context.lineTo(px, py);
        down = true;
        last = py;
      });
      context.strokeStyle = s.colour;
      context.globalAlpha = s.faint ? .25 : 1;
      context.lineWidth = s.bold ? 2.5 : 1.3;
      context.stroke();
      if (s.x.length === 1 || s.marks) s.x.forEach((v, i) => {
        if (!Number.isFinite(s.y[i])) return;
        context.beginPath();
        context.arc(scales.x(v), scales.y(s.y[i]), s.marks ? 3 : 2, 0, 7);
        context.fillStyle = s.colour;
        context.fill();
      });
    }
    context.globalAlpha = 1;
  });
  const nearest = event => {
    if (!scales) return null;
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = 18 * 18;
    for (const s of series)
      for (let i = 0; i < s.x.length; ++i) {
        const d = (scales.x(s.x[i]) - px) ** 2 + (scales.y(s.y[i]) - py) ** 2;
        if (d < least) {
          least = d;
          best = {series: s, i};
        }
      }
    return best;
  };
  it.canvas.addEventListener("pointermove", event => {
    const at = nearest(event);
    hint(event, at && `${at.series.name}\n${xLabel} ${shown(
      at.series.x[at.i])}: ${shown(at.series.y[at.i], 6)}`);
    it.canvas.style.cursor = at && onPick ? "pointer" : "";
  });
  it.canvas.addEventListener("pointerleave", () => hint(null));
  it.canvas.addEventListener("click", event => {
    const at = nearest(event);
    if (at && onPick) onPick(at.series, at.i);
  });
  return {
    node: it.node,
    set(next, more = {}) {
      series = next;
      options = more;
      it.redraw();
    },
  };
}

/** Parallel coordinates. @param onBrush is told which rows are left, or null.
 * set(axes: [{name, values}], colours, faint) */
export function parallel(label, onBrush) {
  let columns = [], colours = [];
  const brushes = new Map(); // name -> [low, high] in pixels
  let geometry = null, drag = null;
  const it = plot(label, (context, svg, width, height) => {
    geometry = null;
    if (columns.length < 2 || !colours.length) return;
    const top = 34, bottom = height - 26;
    const gap = (width - 120) / (columns.length - 1);
    const placed = columns.map((column, i) => {
      const numbers = column.values.every(v => v === null
        || typeof v === "number");
      const kinds = numbers ? null : [...new Set(column.values.filter(
        v => v !== null))].sort();
      const finite = numbers ? column.values.filter(Number.isFinite) : [];
      const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
      const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
      const log = numbers && low > 0 && high / low > 30;
      const f = log ? Math.log : v => v;
      const y = v => v === null || v === undefined ? null
        : numbers ? (high === low ? (top + bottom) / 2
          : bottom - (bottom - top) * (f(v) - f(low)) / (f(high) - f(low)))
          : kinds.length === 1 ? (top + bottom) / 2
            : bottom - (bottom - top) * kinds.indexOf(v) / (kinds.length - 1);
      return {column, x: 60 + i * gap, y, kinds, low, high};
    });
    geometry = {placed, top, bottom};
    const faint = colours.length > 400 ? .25 : .6;
    const kept = keep();
    for (let row = 0; row < colours.length; ++row) {
      context.beginPath();
      let down = false;
      for (const axis of placed) {
        const y = axis.y(axis.column.values[row]);
        if (y === null || !Number.isFinite(y)) down = false;
        else if (down) context.lineTo(axis.x, y);
        else context.moveTo(axis.x, y);
        down = down || y !== null;
      }
      context.strokeStyle = colours[row];
      context.globalAlpha = !kept || kept.has(row) ? faint : .03;
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const axis of placed) {
      svg.append(drawn("line", {x1: axis.x, x2: axis.x, y1: top, y2: bottom,
        class: "axis"}),
      drawn("text", {x: axis.x, y: 16, "text-anchor": "middle",
        class: "name"}, axis.column.name));
      const words = axis.kinds ?? [axis.high, axis.low].map(v => shown(v, 4));
      const at = axis.kinds ? axis.kinds.map(axis.y) : [top, bottom];
      if (words.length <= 12) words.forEach((word, i) => svg.append(
        drawn("text", {x: axis.x + 5, y: at[i] + (axis.kinds ? 4 : i ? 16 : -5)},
          String(word).length > 26 ? `${String(word).slice(0, 25)}…` : word)));
      const brush = brushes.get(axis.column.name);
      if (brush) svg.append(drawn("rect", {class: "brush", x: axis.x - 7,
        width: 14, y: brush[0], height: brush[1] - brush[0]}));
    }
  }, {tall: true});

  /** The rows within all brushes; null: there are none. */
  function keep() {
    if (!brushes.size || !geometry) return null;
    const result = new Set();
    for (let row = 0; row < colours.length; ++row)
      if (geometry.placed.every(axis => {
        const brush = brushes.get(axis.column.name);
        const y = axis.y(axis.column.values[row]);
        return !brush || (y !== null && y >= brush[0] && y <= brush[1]);
      })) result.add(row);
    return result;
  }
  const axisAt = event => {
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left;
    const axis = geometry?.placed.find(a => Math.abs(a.x - px) < 16);
    return axis && {axis, y: event.clientY - box.top};
  };
  it.canvas.addEventListener("pointerdown", event => {
    const at = axisAt(event);
    if (!at) return;
    drag = {name: at.axis.column.name, from: at.y};
    it.canvas.setPointerCapture(event.pointerId);
  });
  it.canvas.addEventListener("pointermove", event => {
    if (!drag) {
      it.canvas.style.cursor = axisAt(event) ? "ns-resize" : "";
      return;
    }
    const y = event.clientY - it.canvas.getBoundingClientRect().top;
    brushes.set(drag.name, [Math.min(drag.from, y), Math.max(drag.from, y)]);
    it.redraw();
  });
  it.canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const brush = brushes.get(drag.name);
    if (brush && brush[1] - brush[0] < 4) brushes.delete(drag.name);
    drag = null;
    it.redraw();
    onBrush(keep());
  });
  return {
    node: it.node,
    set(nextColumns, nextColours) {
      columns = nextColumns;
      colours = nextColours;
      it.redraw();
    },
    clear() {
      brushes.clear();
      it.redraw();
      onBrush(null);
    },
  };
}
