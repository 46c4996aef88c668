// What charts have in common: elements, numbers, colours, a place to draw on.

/** Makes an element; children are nodes or text. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null && value !== false)
      node.setAttribute(key, value === true ? "" : value);
  node.append(...children.filter(x => x !== null && x !== undefined));
  return node;
}

/** Gives a node children, and leaves alone what is there already and stays as
 * it is: who is on it, or has marked its text, loses nothing. What somebody
 * listens to has to be the same node each time. */
export function renew(parent, ...children) {
  const next = children.filter(x => x !== null && x !== undefined)
    .map(x => x instanceof Node ? x : document.createTextNode(x));
  const same = new Set(next);
  let at = parent.firstChild;
  for (const child of next) {
    while (at && at !== child && same.has(at)) at = at.nextSibling;
    if (at === child) at = at.nextSibling;
    else if (at && at.nodeName === child.nodeName && !child.parentNode) {
      const old = at;
      at = at.nextSibling;
      alike(old, child);
    } else parent.insertBefore(child, at);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

/** Makes a node like another one of its kind. */
function alike(node, other) {
  if (node.nodeType !== Node.ELEMENT_NODE) {
    if (node.data !== other.data) node.data = other.data;
    return;
  }
  if (node.isEqualNode(other)) return;
  for (const {name} of [...node.attributes])
    if (!other.hasAttribute(name)) node.removeAttribute(name);
  for (const {name, value} of other.attributes)
    if (name === "style") node.style.cssText = value; // as the policy lets
    else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  const children = [...other.childNodes];
  other.replaceChildren();
  renew(node, ...children);
}

const SVG = "http://www.w3.org/2000/svg";
export function drawn(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const whole = new Intl.NumberFormat("en");
/** A number as people read it. */
export function shown(x, digits = 5) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return whole.format(x);
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-4 || size >= 1e6)
    ? x.toExponential(2) : String(Number(x.toPrecision(digits)));
}

/** A span of time, in its two largest units: 3.2 s, 48 s, 4 h 38 min. */
export function span(seconds) {
  if (seconds < 59.5) return `${shown(Number(seconds < .1
    ? seconds.toPrecision(2) : seconds.toFixed(seconds < 9.95 ? 1 : 0)))} s`;
  let left = Math.round(seconds), i = UNITS.findIndex(([x]) => left >= x);
  // What is rounded to the second of two units may be one of the first.
  left = Math.round(left / UNITS[i + 1][0]) * UNITS[i + 1][0];
  i = UNITS.findIndex(([x]) => left >= x);
  const [size, name] = UNITS[i], [next, small] = UNITS[i + 1];
  const rest = Math.round(left % size / next);
  return `${Math.floor(left / size)} ${name}${rest ? ` ${rest} ${small}` : ""}`;
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** The unit of an axis of times up to `most` seconds: [its seconds, its name].
 */
export const timeUnit = most => UNITS.find(([x]) => most >= 2 * x) ?? [1, "s"];

// Stops of viridis, evenly spread.
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98],
  [253, 231, 37]];
const SCALE = Array.from({length: 257}, (_, k) => {
  const at = k / 64, i = Math.min(Math.floor(at), 3);
  return `rgb(${STOPS[i].map((a, c) => Math.round(a + (STOPS[i + 1][c] - a)
    * (at - i))).join(" ")})`;
});

/** Bytes for people. */
export function bytes(x) {
  const power = Math.min(Math.floor(Math.log2(Math.max(x, 1)) / 10), 4);
  return `${shown(Number((x / 2 ** (10 * power)).toPrecision(3)))} ${
    ["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

/** A moment, of which the seconds since 1970 are given. */
export function moment(seconds) {
  const then = new Date(1000 * seconds), now = new Date();
  return then.toDateString() === now.toDateString()
    ? then.toLocaleTimeString() : then.toLocaleString();
}

/** How long ago a moment was, by the clock of who looks. */
export function ago(seconds) {
  const past = Math.max(Date.now() / 1000 - seconds, 0);
  return past < 60 ? "just now" : past < 3600
    ? `${Math.floor(past / 60)} min ago` : past < 86400
      ? `${Math.floor(past / 3600)} h ago` : moment(seconds);
}

// Kinds that have a colour of their own; the rest has the last one. All are
// bright: what is written on them is dark.
export const KINDS = ["#4c9be8", "#f2a65a", "#5fb878", "#d973b5", "#c9b23f",
  "#a79bf0", "#4fb8b8", "#e8857c", "#a3aab5"];

const isDark = matchMedia("(prefers-color-scheme: dark)");
const DARKEST = .22; // of the map, that is seen on a dark background
const LIGHTEST = .82; // of the map, that is seen on a light one

/** Where in the map the colour of a value between bad (0) and good (1) is: the
 * better, the farther from the background. style.css has the same as a ramp. */
export function tone(x) {
  const at = Math.min(Math.max(x, 0), 1);
  return isDark.matches ? DARKEST + (1 - DARKEST) * at : LIGHTEST * (1 - at);
}

export const NEITHER = "rgb(140 150 165)"; // the colour of no value

/** A colour between bad (0) and good (1); grey for neither. */
export const scale = x => Number.isFinite(x)
  ? SCALE[Math.round(tone(x) * 256)] : NEITHER;

/** Round values that divide a range, two at least if there are any; `whole`
 * ones, if it is of steps. */
export function ticks(low, high, most = 6, whole = false) {
  if (!(high > low)) return [low];
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [10, 5, 2, 1, .5, .2, .1].map(x => x * power);
  let result = [];
  for (const size of steps.slice(steps.findLastIndex(x => x >= raw))) {
    const step = whole ? Math.max(Math.round(size), 1) : size;
    result = [];
    for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9;
      x += step) result.push(Number(x.toPrecision(12)));
    if (result.length > 1 || (whole && step === 1)) break;
  }
  return result;
}

const PLACES_MAX = 4; // after the point; what needs more has an exponent

/** The numbers of one axis as texts of one format. @param own whether each may
 * have as many places as it needs: powers of ten, and choices */
export function together(values, own = false) {
  const brief = values.map(x => Number(x.toPrecision(5)));
  const places = Math.max(0, ...brief.map(x => {
    const [, after = "", power = "0"] = /^-?\d+\.?(\d*)(?:e(.*))?$/.exec(
      String(x)) ?? [];
    return after.length - Number(power);
  }));
  if (places > PLACES_MAX || brief.some(x => Math.abs(x) >= 1e6)) {
    const digits = own ? undefined : Math.max(...brief.map(x =>
      x.toExponential().split("e")[0].replace(/[-.]/g, "").length - 1));
    return brief.map(x => x === 0 ? "0" : x.toExponential(digits)
      .replace("e+", "e"));
  }
  const format = new Intl.NumberFormat("en", {maximumFractionDigits: PLACES_MAX,
    minimumFractionDigits: own ? 0 : places});
  return brief.map(x => format.format(x));
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name)
    .trim();
}

/** The least and the largest of the finite numbers, or null. */
export function range(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (!Number.isFinite(x)) continue;
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return low <= high ? [low, high] : null;
}

/** The finite ones of values, from the least. Typed: ten times as fast. */
export const sorted = values => Float64Array.from(values.filter(
  Number.isFinite)).sort();

/** How good values are, from 0 (`worst`, or worse) to 1 (`best`). */
export function ranks(values, maximize) {
  const finite = sorted(values);
  const low = finite[0];
  // The worst tenth is one: an outlier must not hide all else.
  const from = maximize ? finite[Math.floor(finite.length / 10)] : low;
  const to = maximize ? finite.at(-1)
    : finite[Math.ceil(finite.length * .9) - 1] ?? low;
  return Object.assign(x => {
    if (!Number.isFinite(x)) return NaN;
    const r = (x - from) / (to - from);
    return to === from ? 1 : Math.min(Math.max(maximize ? r : 1 - r, 0), 1);
  }, {worst: maximize ? from : to, best: maximize ? to : from});
}

let tip = null;
/** Shows words beside a place on the screen; none hides them. */
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

const said = document.getElementById("said");
/** Says words to those who listen to a screen reader. */
export function say(words) {
  if (said) said.textContent = words;
}

const SLICE = 8; // milliseconds of drawing at a time
const REST = 100; // times as long as it took until news are drawn again
const TOGETHER = 500; // milliseconds

/** A place to draw on: a canvas with an SVG over it. It is drawn while it is
 * seen, anew when its size or the colours change, and in slices if `draw` is a
 * generator: what is there stays until the new picture is whole.
 * @param over whether the SVG is above the canvas, not below
 * @param draw(context, svg, width, height) @returns a text if there is nothing
 *   to show
 * @returns {node, canvas, redraw() now, update() when there are news} */
export function plot(label, draw, {tall = false, small = false,
  over = false} = {}) {
  const canvas = element("canvas", {role: "img", "aria-label": label,
    tabindex: "0"});
  const svg = drawn("svg", {"aria-hidden": "true"});
  const note = element("p", {class: "empty"}, "Loading …");
  const node = element("div", {class: `plot${tall ? " tall" : ""}${
    small ? " small" : ""}`}, ...over ? [canvas, svg] : [svg, canvas], note);
  // Until there is something to draw it says that it is loading.
  let given = false;
  // A figure by itself is drawn at once: its notebook may be far from it.
  const alone = document.body.classList.contains("figure");
  let seen = alone, wanted = false, asked = false, work = null, timer = 0;
  let cost = 0, ended = -Infinity;

  function begin() {
    asked = false;
    work = null;
    wanted = true;
    if (!seen) return;
    const {width, height} = node.getBoundingClientRect();
    if (!width) return;
    wanted = false;
    const start = performance.now();
    const ratio = devicePixelRatio || 1;
    const back = new OffscreenCanvas(Math.max(Math.round(width * ratio), 1),
      Math.max(Math.round(height * ratio), 1));
    const context = back.getContext("2d");
    context.scale(ratio, ratio);
    const over = drawn("g", {});
    const drawing = draw(context, over, width, height);
    const finish = empty => {
      canvas.width = back.width;
      canvas.height = back.height;
      canvas.getContext("bitmaprenderer").transferFromImageBitmap(
        back.transferToImageBitmap());
      svg.replaceChildren(over);
      note.hidden = !empty;
      note.textContent = empty ?? "";
      ended = performance.now();
      canvas.dataset.drawn = empty ? "empty" : "whole";
    };
    if (!drawing?.next) {
      finish(drawing);
      cost = performance.now() - start;
      return;
    }
    const slice = () => {
      if (work !== slice) return; // something newer is drawn
      const from = performance.now();
      for (;;) {
        const {done, value} = drawing.next();
        if (done) {
          work = null;
          finish(value);
          cost += performance.now() - from;
          if (wanted) update();
          return;
        }
        if (performance.now() - from > SLICE) break;
      }
      cost += performance.now() - from;
      setTimeout(slice);
    };
    cost = performance.now() - start;
    work = slice;
    slice();
  }
  function redraw() {
    given = true;
    clearTimeout(timer);
    timer = 0;
    if (asked) return;
    asked = true;
    if (alone) setTimeout(begin); // frames that are not seen wait
    else requestAnimationFrame(begin);
  }
  function update() {
    given = true;
    wanted = true;
    if (timer || asked || work || !seen) return;
    // Those that wait are drawn together: each new picture of the page costs.
    const now = performance.now(), ready = ended + REST * cost;
    if (ready <= now) redraw();
    else timer = setTimeout(redraw, Math.ceil(ready / TOGETHER) * TOGETHER
      - now);
  }
  const again = () => given && redraw();
  new ResizeObserver(again).observe(node);
  new IntersectionObserver(found => {
    seen = alone || found.at(-1).isIntersecting;
    if (seen && wanted) redraw();
  }, {rootMargin: "200px"}).observe(node);
  isDark.addEventListener("change", again);
  return {node, canvas, svg, redraw, update};
}

/** Lets the arrow keys go from mark to mark, and Enter open one.
 * @param move(dx, dy) @returns {x, y, words, pick} of the next one, or null */
export function keys(it, move) {
  let at = null;
  it.canvas.addEventListener("keydown", event => {
    const by = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1],
      ArrowDown: [0, -1]}[event.key];
    if (by) {
      at = move(...by);
      event.preventDefault();
      if (!at) return;
      const box = it.canvas.getBoundingClientRect();
      hint({clientX: box.left + at.x, clientY: box.top + at.y}, at.words);
      say(at.words);
    } else if (event.key === "Enter" && at?.pick) at.pick();
    else if (event.key === "Escape") hint(null);
  });
  it.canvas.addEventListener("blur", () => hint(null));
}

const FEW = 8; // numbers that have places of their own, like words

/** Whether values lie as if they were drawn evenly by their magnitude: their
 * median is nearer to the middle of a logarithmic axis. */
export function areLog(values) {
  const all = sorted(values), low = all[0], high = all.at(-1);
  if (!(low > 0) || high / low < 10) return false;
  const middle = all[all.length >> 1];
  return Math.abs(Math.log(middle / low) / Math.log(high / low) - .5)
    < Math.abs((middle - low) / (high - low) - .5);
}

const WORDS_MAX = 14; // that have places of their own
const GAP = .12; // of a band, on each of its sides

/** The kind of a value in short: that of a schedule, or the word itself. */
const kindOf = x => x.replace(/\(.*/s, "");
const numbersIn = x => (x.match(/-?\d[\d.]*(?:e-?\d+)?/gi) ?? []).map(Number);

/** Words by their kinds, those of one kind by their numbers. */
function byKind(a, b) {
  const [m, n] = [numbersIn(a), numbersIn(b)];
  const i = m.findIndex((x, k) => x !== n[k]);
  return kindOf(a) < kindOf(b) ? -1 : kindOf(a) > kindOf(b) ? 1
    : i >= 0 && i < n.length ? m[i] - n[i] : a < b ? -1 : 1;
}

/** A scale of many different words, with numbers beside them or without: what
 * comes of a choice of ranges and schedules. Numbers have a band with a scale
 * of their own, and each kind of words has one, in order. */
function bands(values, from, to, log) {
  const numbers = values.filter(Number.isFinite), words = new Map();
  for (const x of new Set(values.filter(x => typeof x === "string"))) {
    if (!words.has(kindOf(x))) words.set(kindOf(x), []);
    words.get(kindOf(x)).push(x);
  }
  const kinds = [...words.keys()].sort();
  const size = (to - from) / (kinds.length + (numbers.length ? 1 : 0));
  const start = i => from + size * (i + GAP), wide = size * (1 - 2 * GAP);
  const inner = numbers.length ? axis(numbers, start(0), start(0) + wide,
    {log, most: Math.max(1, Math.floor(Math.abs(wide) / 70))}) : null;
  const first = inner ? 1 : 0, place = new Map();
  kinds.forEach((kind, i) => {
    const all = words.get(kind).sort(byKind);
    all.forEach((x, k) => place.set(x, start(first + i)
      + wide * (all.length > 1 ? k / (all.length - 1) : .5)));
  });
  const shownKinds = kinds.length + first <= WORDS_MAX ? kinds : [];
  return {at: x => typeof x === "number" ? inner?.at(x) ?? NaN
    : place.get(x) ?? NaN, log: false, words: true,
  marks: [...inner?.marks ?? [], ...shownKinds.map((kind, i) =>
    [start(first + i) + wide / 2, kind])]};
}

/** A scale from values to pixels. Words have places of their own, as have
 * numbers of which there are few, if `few`.
 * @returns {at(value), marks: [[pixel, text]], log, kinds: values that have
 *   places of their own, words: whether marks are words} */
export function axis(values, from, to, {log = "auto", most = 6, pad = 0,
  few = false, whole = false} = {}) {
  const isWords = values.some(x => typeof x === "string");
  const different = isWords || few ? new Set(values.filter(x => x !== null
    && x !== undefined)) : null;
  if (isWords && different.size > WORDS_MAX)
    return bands(values, from, to, log);
  if (isWords || (few && different.size <= FEW)) {
    const kinds = [...different].sort((a, b) => typeof a === "string"
      && typeof b === "string" ? byKind(a, b) : typeof a === typeof b ? a - b
        : typeof a === "number" ? -1 : 1);
    const at = i => from + (to - from) * (i + .5) / kinds.length;
    const place = new Map(kinds.map((x, i) => [x, at(i)]));
    const numbers = kinds.filter(x => typeof x === "number");
    const texts = [...together(numbers, true), ...kinds.slice(numbers.length)
      .map(String)];
    return {at: x => place.get(x) ?? NaN, log: false, kinds, words: true,
      marks: texts.map((text, i) => [at(i), text])};
  }
  let [low, high] = range(values) ?? [0, 1];
  const isLog = log === true ? low > 0 : log === "auto" && areLog(values);
  const f = isLog ? Math.log10 : x => x;
  let a = f(low), b = f(high);
  const more = (b - a) * pad || (a === b ? Math.abs(a) * .05 || .5 : 0);
  a -= more;
  b += more;
  let marks = [], powers = false;
  if (isLog) {
    for (let p = Math.ceil(a - 1e-9); p <= b + 1e-9; ++p) marks.push(10 ** p);
    powers = marks.length > 1;
    if (!powers) marks = ticks(10 ** a, 10 ** b, Math.min(most, 4));
    const skip = Math.ceil(marks.length / Math.max(most, 2));
    marks = marks.filter((_, i) => i % skip === 0);
  } else marks = ticks(a, b, most, whole);
  const at = x => x === null || x === undefined ? NaN
    : from + (to - from) * (f(x) - a) / (b - a);
  const texts = together(marks, powers);
  return {at, log: isLog, marks: marks.map((x, i) => [at(x), texts[i]])};
}

const short = (x, most) => x.length > most ? `${x.slice(0, most - 1)}…` : x;

/** In short, where beginnings are often alike. */
export function ends(x, most) {
  const head = Math.ceil(most / 4);
  return x.length > most ? `${x.slice(0, head)}…${x.slice(head + 1 - most)}`
    : x;
}

const LETTER = 6.4; // pixels that a letter takes, about

/** Axes around a field. @returns {x(value), y(value), left, right, top, bottom}
 */
export function axes(svg, width, height, xs, ys, {xLabel = "", yLabel = "",
  logX = false, logY = false, pad = .05, padX = 0, few = false, fewY = false,
  whole = false, left = 54} = {}) {
  const right = width - 14, top = yLabel ? 22 : 10;
  // Words beside the field get the room that they need, if there is any.
  const words = fewY ? axis(ys, 0, 1, {few: true}).marks : [];
  const longest = Math.max(0, ...words.map(([, text]) => text.length));
  left = Math.max(left, Math.min(12 + LETTER * longest, width * .2));
  const x = axis(xs, left, right, {log: logX, pad: padX, few,
    whole: whole || xLabel === "step",
    most: Math.max(2, Math.floor((right - left) / 80))});
  const room = Math.floor((right - left) / Math.max(x.marks.length, 1) / 7);
  // Words that find no room beside each other lean.
  const lean = Boolean(x.words) && x.marks.some(([at, text], i) => i > 0
    && at - x.marks[i - 1][0] < LETTER / 2 * (text.length
      + x.marks[i - 1][1].length + 2));
  const letters = Math.min(height > 300 ? 24 : 13, Math.max(0, ...x.marks.map(
    ([, text]) => text.length)));
  const bottom = height - (lean ? 28 + letters * 3.4 : 34);
  const y = yLabel === null ? null : axis(ys, bottom, top, {log: logY, pad,
    few: fewY, most: Math.max(2, Math.floor((bottom - top) / 40))});
  for (const [at, text] of y?.marks ?? [])
    svg.append(drawn("line", {x1: left, x2: right, y1: at, y2: at}),
      drawn("text", {x: left - 8, y: at + 4, "text-anchor": "end"},
        ends(text, Math.max(9, Math.floor((left - 12) / LETTER)))));
  for (const [at, text] of x.marks)
    svg.append(lean ? drawn("text", {x: 0, y: 0, "text-anchor": "end",
      transform: `translate(${at + 4} ${bottom + 13}) rotate(-32)`},
    ends(text, letters)) : drawn("text", {x: at, y: bottom + 17,
      "text-anchor": "middle"}, x.words ? text
        : short(text, Math.max(room, 4))));
  svg.append(drawn("line", {x1: left, x2: right, y1: bottom, y2: bottom}),
    drawn("text", {x: right, y: height - 3, "text-anchor": "end"}, xLabel),
    drawn("text", {x: 8, y: 12}, yLabel ?? ""));
  // Where values have places, marks of one value may lie beside each other.
  const beside = scale => scale?.kinds ? Math.min(.5 * Math.abs(scale === x
    ? right - left : bottom - top) / scale.kinds.length, 60) : 0;
  return {x: x.at, y: y?.at, left, right, top, bottom, roomX: beside(x),
    roomY: beside(y)};
}
