// Moving about the map: zoom, drag, hover and keys.

let settle = 0;
const moved = () => {
  state.touched = true;
  state.moving = true;
  clearTimeout(settle);
  settle = setTimeout(() => { state.moving = false; draw(); }, 160);
  draw();
};
const zoom = (factor, x, y) => {
  const [width, height] = size();
  const [cx, cy] = x === undefined ? [width / 2, height / 2] : [x, y];
  const scale = Math.min(Math.max(state.scale * factor, state.fitted / 2), state.fitted * Math.max(40, map.slots / 20));
  state.x = cx - ((cx - state.x) * scale) / state.scale;
  state.y = cy - ((cy - state.y) * scale) / state.scale;
  state.scale = scale;
  moved();
};
const pan = (dx, dy) => { state.x += dx; state.y += dy; moved(); };
const centreOn = (i) => {
  const [width, height] = size();
  const enough = (14 * map.slots) / (state.layout === "layered" ? 3 : 2 * Math.PI);
  if (!isFactor(i)) state.scale = Math.max(state.scale, Math.min(enough, state.fitted * 60));
  const [x, y] = state.positions[i];
  state.x = width / 2 - x * state.scale;
  state.y = height / 2 - y * state.scale;
  moved();
};

const nodeUnder = (x, y) => {
  let best = -1, nearest = 1;
  for (let i = 0; i < nNodes; i++) {
    if (!state.shown[i]) continue;
    const [nx, ny] = toScreen(i);
    const reach = isFactor(i) ? factorRadius(i) + 2 : Math.max(variableRadius() + 3, 5);
    const distance = Math.hypot(nx - x, ny - y) / reach;
    if (distance < nearest) { nearest = distance; best = i; }
  }
  return best;
};

const tip = byId("tip");
const describe = (i) => {
  if (isFactor(i)) return `explains ${nats(map.information[i])} nats; ${count(linksOf[i].filter((e) => map.above[e] === i).length, "link")} below`;
  const words = [];
  const home = linksOf[i].find((e) => map.above[e] === map.home[i]);
  if (home !== undefined) words.push(`belongs to ${map.names[map.home[i]]}, which knows ${nats(map.known[home])} nats of it`);
  words.push(`its factors explain ${Math.round(100 * map.communality[i])}% of it`);
  if (!isLinked(i)) words.push("its links may be chance");
  for (const grouping of map.groupings) {
    if (grouping.number[i] >= 0) words.push(`${grouping.title}: ${grouping.groups[grouping.number[i]]}`);
  }
  return words.join("; ");
};
const hover = (i, x, y) => {
  if (i !== state.hover) { state.hover = i; draw(); }
  canvas.style.cursor = i >= 0 ? "pointer" : "grab";
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(element("strong", {}, map.names[i]), element("span", {}, describe(i)));
  const [width, height] = size();
  tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, height - tip.offsetHeight - 4))}px`;
};

const pointers = new Map();
let travelled = 0;
const local = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, local(event));
  travelled = 0;
});
canvas.addEventListener("pointermove", (event) => {
  const [x, y] = local(event);
  if (!pointers.has(event.pointerId)) { hover(nodeUnder(x, y), x, y); return; }
  const [oldX, oldY] = pointers.get(event.pointerId);
  if (pointers.size === 2) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    zoom(Math.hypot(x - other[0], y - other[1]) / Math.max(Math.hypot(oldX - other[0], oldY - other[1]), 1),
      (x + other[0]) / 2, (y + other[1]) / 2);
  } else {
    pan(x - oldX, y - oldY);
  }
  travelled += Math.hypot(x - oldX, y - oldY);
  pointers.set(event.pointerId, [x, y]);
  tip.hidden = true;
});
const release = (event) => {
  if (!pointers.delete(event.pointerId) || travelled > 4 || event.type === "pointercancel") return;
  opener = null; // the focus stays on the map
  const i = nodeUnder(...local(event));
  if (i >= 0) select(i); else deselect();
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => hover(-1, 0, 0));
canvas.addEventListener("dblclick", (event) => zoom(2, ...local(event)));
canvas.addEventListener("wheel", (event) => {
  // A wheel that turns over the map scrolls the page, until the map is in use.
  if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), ...local(event));
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const step = 60;
  const actions = {
    ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0),
    ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step),
    "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": fit, Home: fit,
  };
  if (actions[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
    actions[event.key]();
    event.preventDefault();
  }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") deselect(); });
