// What the service says: answers, remembered by address, and news of more.

/** An answer that was an error; its text is the service's sentence. */
export class Refused extends Error {}

const known = new Map(); // address -> {tag, value}

/** Asks the service. An answer that has not changed is the same object.
 * @throws Refused, or TypeError if nobody answers */
export async function ask(path, signal) {
  const before = known.get(path);
  const headers = before ? {"If-None-Match": before.tag} : {};
  const answer = await fetch(path, {headers, signal, cache: "no-store"});
  if (answer.status === 304 && before) return before.value;
  let value;
  try {
    value = await answer.json();
  } catch {
    throw new Refused(`${path}: the answer is no JSON`);
  }
  if (!answer.ok) throw new Refused(value.error ?? `status ${answer.status}`);
  if (known.size > 40) known.delete(known.keys().next().value);
  known.set(path, {tag: answer.headers.get("ETag") ?? "", value});
  return value;
}

/** Calls `hear` whenever something was stored, and `tell` with "live" or
 * "lost" whenever the connection comes or goes. @returns what ends it */
export function follow(hear, tell) {
  let source = null;
  let timer = 0;
  let pause = 500;
  const open = () => {
    source = new EventSource("api/stream");
    source.addEventListener("news", () => {
      pause = 500;
      tell("live");
      hear();
    });
    source.onerror = () => {
      source.close(); // its own attempts have no limit and no pause
      tell("lost");
      timer = setTimeout(open, pause);
      pause = Math.min(pause * 2, 8000);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
