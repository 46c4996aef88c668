// What the service says: answers, remembered by address, and news of more.
import {listen} from "./events.js";

/** An answer that was an error; its text is the service's sentence. */
export class Refused extends Error {}

/** The service wants to know who asks: a token is needed. */
export class Unknown extends Refused {}

const known = new Map(); // address -> {tag, value}
let heard = null;        // the last news

/** Asks the service. An answer that has not changed is the same object.
 * @throws Refused, or TypeError if nobody answers */
export async function ask(path, signal) {
  const before = known.get(path);
  const headers = before ? {"If-None-Match": before.tag} : {};
  if (heard) headers["Hippo-News"] = heard;
  const answer = await fetch(path, {headers, signal, cache: "no-store"});
  if (answer.status === 304 && before) return before.value;
  const value = await read(answer, path);
  known.delete(path);
  if (known.size > 40) known.delete(known.keys().next().value);
  known.set(path, {tag: answer.headers.get("ETag") ?? "", value});
  return value;
}

/** The trial whose state a study's training begins from, `{study, trial}` by
 * numbers; null: it begins from none, or that study is not known.
 * @param ask see `update` of a view */
export async function rootOf(study, ask) {
  const named = /^trial (\d+) of study (.*) at step \d+$/.exec(
    study.initial_state ?? "");
  if (!named) return null;
  // As at its submission: later studies may have the same name.
  const found = (await ask("api/studies")).filter(x => x.id < study.id
    && (x.name === named[2] || String(x.id) === named[2]));
  return found.length
    ? {study: found[found.length - 1].id, trial: Number(named[1])} : null;
}

/** Has the service do something. @throws Refused */
export async function order(path, what) {
  return read(await fetch(path, {method: "POST", body: JSON.stringify(what),
    headers: {"Content-Type": "application/json", "Hippo-Page": "1"}}), path);
}

async function read(answer, path) {
  let value;
  try {
    value = await answer.json();
  } catch (why) {
    if (why.name === "AbortError") throw why;
    throw new Refused(`${path}: the answer is no JSON`);
  }
  if (answer.ok) return value;
  throw new (answer.status === 401 ? Unknown : Refused)(
    value.error ?? `status ${answer.status}`);
}

/** Calls `hear` whenever something was stored, and `tell` with "live" or
 * "lost" whenever the connection comes or goes. */
export function follow(hear, tell) {
  const take = what => {
    tell(what.state);
    if (what.state === "lost") return;
    heard = what.news ?? heard;
    hear();
  };
  if (!globalThis.SharedWorker) return void listen(take);
  const {port} = new SharedWorker(new URL("stream.js", import.meta.url),
    {type: "module"});
  port.onmessage = ({data}) => take(data);
  port.start();
  addEventListener("pagehide", () => port.postMessage("bye"));
}

/** A list of an answer by columns: docs/http.md says how it may be coded. */
export function column(x) {
  if (Array.isArray(x)) return x;
  if (x.of) return x.at.map(i => x.of[i]);
  const bytes = Uint8Array.from(atob(x.float32), c => c.charCodeAt(0));
  return Array.from(new Float32Array(bytes.buffer), v => Number.isNaN(v) ? null
    : Number(v.toPrecision(7)));
}

/** Whether a trial can be the best, and has a rank: what one measured before
 * it failed is no result of it. */
export const hasResult = state => state !== "FAILED";

function addTo(curves, trial, step, value) {
  let curve = curves.get(trial);
  if (!curve) curves.set(trial, curve = {step: [], value: []});
  curve.step.push(step);
  curve.value.push(value ?? NaN);
}

/** A study's trials and results, kept and added to. `rows[i]` is a trial. */
export class History {
  constructor(id) {
    this.path = `api/studies/${id}`;
    this.forget();
  }

  forget() {
    this.version = 0;
    this.next = 0;
    this.rows = [];            // {trial, state, value, step, steps, ...}
    this.place = new Map();    // trial -> its row's number
    this.names = [];           // hyper-parameters
    this.varying = [];         // of these, those that vary
    this.results = {trial: [], step: [], value: [], seconds: [], shared: []};
    this.curves = new Map();   // trial -> {step: [], value: []}
    this.metrics = [];         // that are measured
    this.others = new Map();   // of these, those that somebody looks at
    this.changes = 0;          // grows with each
  }

  /** Reads what is new. @returns whether anything is */
  async refresh(ask) {
    const [table, ...more] = await Promise.all([
      ask(`${this.path}/table?after=${this.version}`),
      ask(`${this.path}/curves?after=${this.next}`)]);
    if (table.whole && this.version) { // another service: all anew
      this.forget();
      return this.refresh(ask);
    }
    let changed = this.#trials(table);
    for (let part = more[0]; ; part = await ask(
      `${this.path}/curves?after=${this.next}`)) {
      changed = this.#values(part) || changed;
      if (part.whole || this.results.trial.length > 1e6) break;
    }
    if (changed) ++this.changes;
    return changed;
  }

  /** Whether what a trial measured is a result of it. */
  counts(no) {
    return hasResult(this.rows[this.place.get(no)]?.state);
  }

  /** The same trials by a metric beside the objective, of which it reads what
   * was measured. @returns what panels look at of a History */
  async by(ask, name, maximize) {
    if (!this.others.has(name))
      this.others.set(name, {next: 0, value: [], curves: new Map(),
        best: new Map(), reading: null});
    const to = this.others.get(name);
    to.reading ??= this.#readOther(ask, name, maximize, to).finally(() => {
      to.reading = null;
    });
    await to.reading;
    return {varying: this.varying, curves: to.curves,
      counts: no => this.counts(no),
      results: {...this.results, value: to.value},
      rows: this.rows.map(x => ({...x, value: null, step: null,
        ...hasResult(x.state) ? to.best.get(x.trial) : {}}))};
  }

  async #readOther(ask, name, maximize, to) {
    const {trial, step} = this.results;
    while (to.value.length < trial.length) {
      const part = await ask(`${this.path}/curves?metric=${
        encodeURIComponent(name)}&after=${to.next}`);
      if (!part.trial.length) break;
      to.next = part.next;
      for (const value of column(part.value)) {
        const i = to.value.push(value) - 1;
        addTo(to.curves, trial[i], step[i], value);
        if (value === null) continue;
        const best = to.best.get(trial[i])?.value;
        if (best === undefined || (maximize ? value > best : value < best))
          to.best.set(trial[i], {value, step: step[i]});
      }
    }
  }

  #trials(table) {
    this.version = table.version;
    const {trial} = table;
    if (!trial.length) return false;
    const [state, value, step, steps, asked, shared] = ["state", "value",
      "step", "delivered_steps", "asked_steps", "shared_steps"].map(x =>
      column(table[x]));
    // How values were chosen it says only if some were.
    const [chosen, predicted, untrained] = ["chosen", "predicted", "untrained"]
      .map(x => table[x] ? column(table[x]) : []);
    const params = Object.entries(table.params).map(([name, x]) =>
      [name, column(x)]);
    trial.forEach((no, i) => {
      let at = this.place.get(no);
      if (at === undefined) {
        this.place.set(no, at = this.rows.length);
        // Names are anybody's: of an object, __proto__ is none.
        this.rows.push({trial: no, params: Object.create(null)});
      }
      const row = this.rows[at];
      row.state = state[i];
      row.value = value[i];
      row.step = step[i];
      row.steps = steps[i];
      row.asked = asked[i];
      row.shared = shared[i];
      row.chosen = chosen[i] ?? null;
      row.predicted = predicted[i] ?? null;
      row.untrained = untrained[i] ?? null;
      row.failure = table.failures[no];
      for (const [name, values] of params) row.params[name] = values[i];
    });
    this.names = Object.keys(table.params);
    this.#vary();
    return true;
  }

  /** Finds what varies; what does so stays. */
  #vary() {
    const first = this.rows[0]?.params ?? {};
    const still = new Set(this.varying);
    this.varying = this.names.filter(name => still.has(name)
      || this.rows.some(x => (x.params[name] ?? null)
        !== (first[name] ?? null)));
  }

  #values(part) {
    this.next = part.next;
    this.start = part.start;
    this.metrics = part.metrics;
    if (!part.trial.length) return false;
    const value = column(part.value), seconds = column(part.seconds);
    const to = this.results;
    part.trial.forEach((trial, i) => {
      to.trial.push(trial);
      to.step.push(part.step[i]);
      to.value.push(value[i]);
      to.seconds.push(seconds[i]);
      to.shared.push(part.shared[i]);
      addTo(this.curves, trial, part.step[i], value[i]);
    });
    return true;
  }
}
