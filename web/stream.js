// One stream of news for all tabs of a browser, which gives a host six
// connections.
import {listen} from "./events.js";

const ports = new Set();
let last = null;   // what a tab that comes later is told
let begun = false;

function tell(what) {
  last = what;
  for (const port of ports) port.postMessage(what);
}

self.onconnect = ({ports: [port]}) => {
  ports.add(port);
  port.onmessage = () => ports.delete(port); // it goes
  if (last) port.postMessage(last);
  if (!begun) listen(tell);
  begun = true;
};
