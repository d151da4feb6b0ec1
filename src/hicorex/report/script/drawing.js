// The map as a picture: links, variables, factors and names.

let paper = null; // the size of the map when it is printed
const size = () => paper ?? [canvas.clientWidth, canvas.clientHeight];
const toScreen = (i) => {
  const [x, y] = state.positions[i];
  return [x * state.scale + state.x, y * state.scale + state.y];
};
const spacing = () => (state.layout === "layered" ? 3 : 2 * Math.PI) * state.scale / map.slots;
const cut = (name) => (name.length > 24 ? `${name.slice(0, 12)}\u2026${name.slice(-11)}` : name);
const longest = map.names.reduce((a, name, i) => (isFactor(i) || name.length < a.length ? a : cut(name)), "");

const fit = () => {
  const [width, height] = size();
  context.font = "13px system-ui, sans-serif";
  const margin = Math.min(context.measureText(longest).width + 20, Math.min(width, height) / 3);
  if (state.layout === "layered") {
    state.scale = Math.max(Math.min((width - 30) / 3, (height - margin - 30) / 1.5), 20);
    state.x = width / 2;
    state.y = (height - margin) / 2 + 0.05 * state.scale;
  } else {
    state.scale = Math.max(Math.min(width, height) / 2 - margin, 20);
    state.x = width / 2;
    state.y = height / 2;
  }
  state.fitted = state.scale;
  state.touched = false;
  draw();
};

// The usual distance between neighbouring factors of a layer, as a share of the ring or the row.
const spaced = Array.from({ length: topLevel + 1 }, (_, level) => {
  const places = map.place.filter((_, i) => map.level[i] === level).sort((a, b) => a - b);
  const gaps = places.map((x, at) => (at ? x - places[at - 1] : 1 + x - places[places.length - 1])).sort((a, b) => a - b);
  return gaps[Math.floor(gaps.length / 2)] ?? 1;
});
const factorRadius = (i) => {
  const zoom = Math.min(Math.sqrt(state.scale / state.fitted), 2);
  const length = state.layout === "layered" ? 3 : 2 * Math.PI * polar(i)[0] || Infinity;
  const room = 0.5 * spaced[map.level[i]] * length * state.scale;
  return Math.max(Math.min(Math.max(15 * Math.sqrt(map.information[i] / mostExplained), 6) * zoom, room), 3);
};
const variableRadius = () => Math.min(Math.max(spacing() / 2.5, 1.2), 6);

const addShape = (shape, x, y, r) => {
  if (r < 2) context.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === 0) { context.moveTo(x + r, y); context.arc(x, y, r, 0, 2 * Math.PI); }
  else if (shape === 1) context.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
  else {
    const corners = shape === 2
      ? [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]]
      : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
    context.moveTo(x + corners[0][0] * r, y + corners[0][1] * r);
    for (const [dx, dy] of corners.slice(1)) context.lineTo(x + dx * r, y + dy * r);
    context.closePath();
  }
};

const DASHES = [5, 6]; // pixels drawn and left out of an unsure link
const drawLinks = () => {
  context.lineCap = "round";
  for (const bucket of state.paths) {
    if (state.moving && !bucket.strong) continue;
    const off = state.group !== null && bucket.group !== state.group;
    context.globalAlpha = (bucket.home ? 0.6 : 0.3) * (state.selected >= 0 || off ? 0.25 : 1);
    context.strokeStyle = colourOf(bucket.group);
    context.lineWidth = (0.2 + 0.8 * bucket.width) * Math.min(Math.max(spacing() / 6, 0.3), 1) / state.scale;
    context.setLineDash(bucket.dashed ? DASHES.map((length) => length / state.scale) : []);
    context.stroke(bucket.path);
  }
  context.setLineDash([]);
  if (state.selected >= 0) {
    context.globalAlpha = 0.9;
    for (const [n, e] of linksOf[state.selected].entries()) {
      if (map.weight[e] < state.threshold || (state.moving && n > MOVING_LINKS)) break;
      const path = new Path2D();
      addCurve(path, e);
      context.strokeStyle = colourOf(groupOf(map.below[e]));
      context.lineWidth = (0.5 + (3.5 * map.weight[e]) / largestWeight) / state.scale;
      context.stroke(path);
    }
  }
  context.globalAlpha = 1;
};

const marked = () => {
  if (state.selected < 0) return null;
  const near = new Set([state.selected]);
  for (const e of linksOf[state.selected]) {
    if (map.weight[e] < state.threshold) break;
    near.add(map.below[e]).add(map.above[e]);
  }
  return near;
};

const drawVariables = (near) => {
  const radius = variableRadius();
  const [width, height] = size();
  const buckets = new Map();
  for (let i = 0; i < nNodes; i++) {
    if (isFactor(i) || !state.shown[i]) continue;
    const [x, y] = toScreen(i);
    if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
    const group = groupOf(i);
    const off = (near && !near.has(i)) || (state.group !== null && group !== state.group);
    const full = isLinked(i);
    const key = `${group},${off},${full}`;
    if (!buckets.has(key)) buckets.set(key, { group, off, full, nodes: [] });
    buckets.get(key).nodes.push(x, y);
  }
  context.lineWidth = 1;
  for (const { group, off, full, nodes } of buckets.values()) {
    context.globalAlpha = off ? 0.25 : 1;
    context.strokeStyle = colourOf(group);
    context.fillStyle = full ? colourOf(group) : theme.paper;
    context.beginPath();
    for (let at = 0; at < nodes.length; at += 2) addShape(shapeOf(group), nodes[at], nodes[at + 1], radius);
    context.fill();
    context.stroke();
  }
  context.globalAlpha = 1;
};

const drawFactors = (near) => {
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < nNodes; i++) {
    if (!isFactor(i) || !state.shown[i]) continue;
    const [x, y] = toScreen(i);
    const radius = factorRadius(i);
    context.globalAlpha = near && !near.has(i) ? 0.3 : 1;
    const pale = weak.has(i);
    context.fillStyle = pale ? theme.soft : theme.ink;
    context.strokeStyle = i === state.selected ? theme.colours[1] : pale ? theme.muted : theme.paper;
    context.lineWidth = i === state.selected ? 3 : 1;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.fillStyle = pale ? theme.ink : theme.paper;
    context.font = `${Math.min(radius, 12)}px system-ui, sans-serif`;
    if (radius >= 6) context.fillText(factorNumber(i), x, y);
  }
  context.globalAlpha = 1;
};

// Names are written where there is room: of what is selected first, then by strength.
const drawNames = (near) => {
  const [width, height] = size();
  const font = Math.min(Math.max(spacing() * 0.85, 9), 13);
  const room = (font * 1.1) / spacing() / map.slots;
  const bins = new Map();
  state.named = [];
  const last = Math.floor(1 / room);
  context.font = `${font}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.fillStyle = theme.ink;
  const write = (i) => {
    if (!state.shown[i]) return;
    const [x, y] = toScreen(i);
    if (x < -200 || y < -200 || x > width + 200 || y > height + 200) return;
    const bin = Math.floor(map.place[i] / room);
    for (const at of [bin - 1, bin, bin + 1, ...(bin < 2 ? [last - 1, last] : []), ...(bin > last - 2 ? [0, 1] : [])]) {
      if (!bins.has(at)) continue;
      const apart = Math.abs(bins.get(at) - map.place[i]);
      if (apart < room || (state.layout === "radial" && 1 - apart < room)) return;
    }
    bins.set(bin, map.place[i]);
    state.named.push(i);
    const angle = state.layout === "layered" ? Math.PI / 2 : polar(i)[1];
    const gap = variableRadius() + 4;
    context.save();
    context.translate(x, y);
    const left = Math.cos(angle) < -1e-9;
    context.rotate(left ? angle + Math.PI : angle);
    context.textAlign = left ? "right" : "left";
    context.globalAlpha = near && !near.has(i) ? 0.35 : 1;
    context.fillText(cut(map.names[i]), left ? -gap : gap, 0);
    context.restore();
  };
  if (state.hover >= 0 && !isFactor(state.hover)) write(state.hover);
  if (near) for (const i of near) if (!isFactor(i)) write(i);
  if (state.group !== null) {
    byStrength.filter((i) => groupOf(i) === state.group).forEach(write);
  }
  byStrength.forEach(write);
};

let waiting = false;
const draw = () => {
  if (waiting || !state.paths) return;
  waiting = true;
  requestAnimationFrame(drawNow);
};
const drawNow = () => {
  waiting = false;
  const [width, height] = size();
  const ratio = paper ? 3 : window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio * state.scale, 0, 0, ratio * state.scale, ratio * state.x, ratio * state.y);
  drawLinks();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (!nLinks) {
    context.fillStyle = theme.ink;
    context.textAlign = "center";
    context.font = "16px system-ui, sans-serif";
    context.fillText("There are no links to draw.", width / 2, height / 2);
  }
  const near = marked();
  drawVariables(near);
  if (!state.moving || nNodes < MOVING_LINKS) drawNames(near);
  drawFactors(near);
};
