// Lines, points and times: what most charts are.
import {axes, axis, colour, drawn, element, hint, keys, plot, range, shown,
  span} from "./base.js";

/** What a chart says that has nothing to show. */
export const NOTHING = "Nothing was measured yet";

const DOTS_LARGE = 300; // more are drawn small

/** Lines over steps. @param series [{x: [], y: [], colour, name, steps, bold,
 * faint, marks, dots: marks and no line, words(i) of each}], the one that
 * matters most last */
export function lines(label, {onPick, xWord, tall} = {}) {
  let series = [], scales = null, options = {};
  const it = plot(label, function* (context, svg, width, height) {
    const low = [], high = [];
    scales = null;
    const xs = [], ys = [];
    for (const s of series) {
      const x = range(s.x), y = range(s.y);
      if (!x || !y) continue;
      xs.push(...x);
      ys.push(...y);
    }
    if (!ys.length) return options.empty ?? NOTHING;
    scales = axes(svg, width, height, xs, ys, {...options,
      logY: options.logY === true && Math.min(...ys) > 0,
      logX: options.logX === true && Math.min(...xs) > 0});
    let count = 0;
    for (const s of series) {
      context.beginPath();
      let down = false, last = 0;
      for (let i = 0; i < s.x.length && !s.dots; ++i) {
        const px = scales.x(s.x[i]), py = scales.y(s.y[i]);
        if (!Number.isFinite(s.y[i]) || !Number.isFinite(px)) {
          down = false;
          continue;
        }
        if (!down) context.moveTo(px, py);
        else {
          if (s.steps) context.lineTo(px, last);
          context.lineTo(px, py);
        }
        down = true;
        last = py;
      }
      context.strokeStyle = s.colour;
      context.globalAlpha = s.faint ? .3 : 1;
      context.lineWidth = s.bold ? 2.5 : 1.3;
      context.stroke();
      if (s.x.length === 1 || s.marks || s.dots) {
        const size = s.marks ? 3 : s.dots ? s.x.length > DOTS_LARGE ? 1.5
          : 3 : 2;
        context.fillStyle = s.colour;
        if (s.dots) context.globalAlpha = .7;
        context.beginPath();
        for (let i = 0; i < s.x.length; ++i) {
          if (!Number.isFinite(s.y[i])) continue;
          const px = scales.x(s.x[i]), py = scales.y(s.y[i]);
          context.moveTo(px, py);
          context.arc(px, py, size, 0, 7);
        }
        context.fill();
      }
      if ((count += s.x.length) > 500) {
        count = 0;
        yield;
      }
    }
  }, {tall});
  const words = (s, i) => `${s.words?.(i) ?? s.name}\n${
    xWord ?? options.xLabel} ${(options.xShown ?? shown)(s.x[i])}: ${
    shown(s.y[i], 6)}`;
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
    hint(event, at && words(at.series, at.i));
    it.canvas.style.cursor = at && onPick ? "pointer" : "";
  });
  it.canvas.addEventListener("pointerleave", () => hint(null));
  it.canvas.addEventListener("click", event => {
    const at = nearest(event);
    if (at && onPick) onPick(at.series, at.i);
  });
  // Left and right along a line, up and down from line to line.
  let line = 0, mark = -1;
  keys(it, (dx, dy) => {
    if (!scales || !series.length) return null;
    line = Math.min(Math.max(line - dy, 0), series.length - 1);
    const s = series[series.length - 1 - line];
    mark = Math.min(Math.max(mark + dx, 0), s.x.length - 1);
    return {x: scales.x(s.x[mark]), y: scales.y(s.y[mark]),
      words: words(s, mark).replace("\n", ", "),
      pick: onPick && (() => onPick(s, mark))};
  });
  return {
    node: it.node,
    set(next, more = {}, now = false) {
      series = next;
      options = more;
      if (now) it.redraw();
      else it.update();
    },
  };
}

/** Points. @param onPick is told the row of one
 * set({x, y, colours, words(i), front: [rows] and whether it is `loose`: no
 * line, field: [values]}, options) */
export function points(label, {onPick, small, tall} = {}) {
  let data = null, options = {}, scales = null, near = null;
  // Where a row is; those of one value lie side by side, each time alike.
  const xOf = i => scales.x(data.x[i])
    + ((i * .618034) % 1 - .5) * scales.roomX;
  const yOf = i => scales.y(data.y[i])
    + ((i * .754878) % 1 - .5) * scales.roomY;
  const it = plot(label, function* (context, svg, width, height) {
    scales = null;
    near = null;
    if (!data?.x.some((x, i) => x !== null && x !== undefined
      && Number.isFinite(data.y[i]) || typeof data.y[i] === "string"))
      return options.empty ?? NOTHING;
    scales = axes(svg, width, height, data.x, data.y,
      {logX: "auto", padX: .02, ...options});
    const cells = new Map();
    if (data.field) yield* field(context, scales);
    const size = data.x.length > 3000 ? 2 : data.x.length > 300 ? 3
      : data.x.length > 60 ? 5 : 7;
    context.globalAlpha = data.x.length > 3000 ? .55 : .85;
    for (let k = 0; k < data.x.length; ++k) {
      const i = data.order ? data.order[k] : k;
      const px = xOf(i), py = yOf(i);
      if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
      context.fillStyle = data.colours[i];
      if (size > 3) {
        context.beginPath();
        context.arc(px, py, size / 2, 0, 7);
        context.fill();
      } else context.fillRect(px - size / 2, py - size / 2, size, size);
      const cell = (px >> 4) * 4096 + (py >> 4);
      if (!cells.has(cell)) cells.set(cell, []);
      cells.get(cell).push(i);
      if (k % 1000 === 999) yield;
    }
    context.globalAlpha = 1;
    if (data.front?.length) {
      context.beginPath();
      if (!data.loose) data.front.forEach((i, k) => {
        const px = xOf(i), py = yOf(i);
        if (k) context.lineTo(px, py);
        else context.moveTo(px, py);
      });
      context.strokeStyle = colour("--accent");
      context.lineWidth = 1.5;
      context.stroke();
      for (const i of data.front) {
        context.beginPath();
        context.arc(xOf(i), yOf(i), 4, 0, 7);
        context.fillStyle = colour("--accent");
        context.fill();
      }
    }
    near = cells;
  }, {small, tall});

  /** What is known nearby, in cells: the mean of the trials there, weighted by
   * how near they are. Where there are none it stays empty. */
  function* field(context, at) {
    const wide = 36, high = 24;
    const dx = (at.right - at.left) / wide, dy = (at.bottom - at.top) / high;
    const sums = new Float64Array(wide * high);
    const weights = new Float64Array(wide * high);
    for (let i = 0; i < data.x.length; ++i) {
      const v = data.field[i];
      if (!Number.isFinite(v)) continue;
      const cx = (at.x(data.x[i]) - at.left) / dx - .5;
      const cy = (at.y(data.y[i]) - at.top) / dy - .5;
      if (!Number.isFinite(cx) || !Number.isFinite(cy)) continue;
      for (let y = Math.max(0, Math.ceil(cy - 2)); y <= Math.min(high - 1,
        cy + 2); ++y)
        for (let x = Math.max(0, Math.ceil(cx - 2)); x <= Math.min(wide - 1,
          cx + 2); ++x) {
          const w = Math.exp(-((x - cx) ** 2 + (y - cy) ** 2));
          sums[y * wide + x] += w * v;
          weights[y * wide + x] += w;
        }
      if (i % 500 === 499) yield;
    }
    const picture = new OffscreenCanvas(wide, high);
    const cells = picture.getContext("2d");
    for (let k = 0; k < sums.length; ++k) {
      if (weights[k] < .02) continue;
      cells.globalAlpha = Math.min(1, weights[k] * 3);
      cells.fillStyle = data.shade(sums[k] / weights[k]);
      cells.fillRect(k % wide, Math.floor(k / wide), 1, 1);
    }
    context.imageSmoothingQuality = "high";
    context.globalAlpha = .75;
    context.drawImage(picture, at.left, at.top, at.right - at.left,
      at.bottom - at.top);
  }

  const find = event => {
    if (!near) return null;
    const box = it.canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = 100;
    for (let a = -1; a <= 1; ++a)
      for (let b = -1; b <= 1; ++b)
        for (const i of near.get(((px >> 4) + a) * 4096 + (py >> 4) + b)
          ?? []) {
          const d = (xOf(i) - px) ** 2 + (yOf(i) - py) ** 2;
          if (d < least) {
            least = d;
            best = i;
          }
        }
    return best;
  };
  it.canvas.addEventListener("pointermove", event => {
    const i = find(event);
    hint(event, i !== null && data.words(i));
    it.canvas.style.cursor = i !== null && onPick ? "pointer" : "";
  });
  it.canvas.addEventListener("pointerleave", () => hint(null));
  it.canvas.addEventListener("click", event => {
    const i = find(event);
    if (i !== null && onPick) onPick(i);
  });
  let mark = -1, sorted = null, of = null;
  keys(it, dx => {
    if (!scales) return null;
    if (of !== data) {
      of = data;
      sorted = data.x.map((_, i) => i).filter(i =>
        Number.isFinite(xOf(i)) && Number.isFinite(yOf(i)))
        .sort((a, b) => xOf(a) - xOf(b));
    }
    mark = Math.min(Math.max(mark + dx, 0), sorted.length - 1);
    const i = sorted[mark];
    return i === undefined ? null : {x: xOf(i), y: yOf(i),
      words: data.words(i).replaceAll("\n", ", "),
      pick: onPick && (() => onPick(i))};
  });
  return {
    node: it.node,
    set(next, more = {}, now = false) {
      data = next;
      options = more;
      if (now) it.redraw();
      else it.update();
    },
  };
}

const PERIODS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800]; // seconds

/** Who did what and when. set(rows: [{name, parts: [{begin, end, colour,
 * words}]}], [from, 0] in seconds) */
export function times(label) {
  let rows = [], ends = [0, 1], boxes = [];
  const it = plot(label, function* (context, svg, width, height) {
    boxes = [];
    if (!rows.some(x => x.parts.length))
      return "Nothing was trained in this time";
    const left = 120, top = 6, bottom = height - 30;
    const x = axis(ends, left, width - 12);
    const most = Math.max(2, Math.floor((width - left) / 90));
    const every = PERIODS.find(y => (ends[1] - ends[0]) / y <= most) ?? 3600;
    const marks = Array.from({length: Math.floor(-ends[0] / every) + 1},
      (_, i) => -i * every);
    const high = Math.min(26, (bottom - top) / rows.length);
    for (const v of marks)
      svg.append(drawn("text", {x: x.at(v), y: bottom + 18,
        "text-anchor": "middle"}, !v ? "now" : `−${span(-v)}`),
      drawn("line", {x1: x.at(v), x2: x.at(v), y1: top, y2: bottom}));
    let count = 0;
    for (const [k, row] of rows.entries()) {
      const y = top + k * high;
      if (high > 9) svg.append(drawn("text", {x: left - 8,
        y: y + high / 2 + 4, "text-anchor": "end"}, row.name.length > 18
        ? `${row.name.slice(0, 17)}…` : row.name));
      for (const part of row.parts) {
        const from = Math.max(x.at(part.begin), left);
        const wide = Math.max(x.at(part.end) - from, 1);
        context.fillStyle = part.colour;
        context.fillRect(from, y + 1, wide, Math.max(high - 3, 1));
        boxes.push([from, y, from + wide, y + high, part, row]);
        if (++count % 1000 === 0) yield;
      }
    }
  });
  const words = ([, , , , part, row]) => `${row.name}\n${part.words}`;
  it.canvas.addEventListener("pointermove", event => {
    const area = it.canvas.getBoundingClientRect();
    const px = event.clientX - area.left, py = event.clientY - area.top;
    const box = boxes.find(([a, b, c, d]) => px >= a && px <= c && py >= b
      && py <= d);
    hint(event, box && words(box));
  });
  it.canvas.addEventListener("pointerleave", () => hint(null));
  let mark = -1;
  keys(it, dx => {
    mark = Math.min(Math.max(mark + dx, 0), boxes.length - 1);
    const box = boxes[mark];
    return box ? {x: box[0], y: box[1], words: words(box)
      .replaceAll("\n", ", ")} : null;
  });
  return {
    node: it.node,
    set(next, from) {
      rows = next;
      ends = from;
      it.node.style.height = `${Math.min(40 + 26 * Math.max(rows.length, 2),
        420)}px`;
      it.update();
    },
  };
}

/** A check box with words. */
export function check(words, hear) {
  const box = element("input", {type: "checkbox"});
  let chosen = false;
  box.addEventListener("change", () => {
    chosen = true;
    hear();
  });
  return {node: element("label", {}, box, ` ${words}`), get on() {
    return box.checked;
  },
  /** What it is until somebody chooses. */
  offer(on) {
    if (!chosen) box.checked = on;
  }};
}

/** A choice among words. */
export function choice(label, options, hear) {
  const select = element("select", {}, ...options.map(([value, text]) =>
    element("option", {value}, text)));
  let chosen = false;
  select.addEventListener("change", () => {
    chosen = true;
    hear(select.value);
  });
  return {
    node: element("label", {}, `${label} `, select),
    get value() {
      return select.value;
    },
    /** Offers others, and keeps what was chosen if it is among them. */
    offer(next, fallback) {
      const words = next.map(([value]) => value).join("\n");
      const before = chosen && next.some(([v]) => v === select.value)
        ? select.value : fallback ?? next[0]?.[0] ?? "";
      if (select.dataset.words !== words) {
        select.dataset.words = words;
        select.replaceChildren(...next.map(([value, text]) =>
          element("option", {value}, text)));
      }
      select.value = before;
    },
  };
}
