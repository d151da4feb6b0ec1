"use strict";
// The part of the report that moves: the map of the hierarchy, the panel beside it, and tables that sort.
// Names come from people's data: they reach the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const map = data.map;
  const byId = (id) => document.getElementById(id);
  const canvas = byId("map");
  const context = canvas.getContext("2d");
  const nNodes = map.names.length;
  const nLinks = map.below.length;
  const isFactor = (i) => map.level[i] > 0;
  const factorNumber = (i) => map.names[i].slice(map.names[i].lastIndexOf("factor") + 6);
  const mostExplained = Math.max(...map.information.filter((_, i) => isFactor(i)), 1e-9);
  const largestWeight = map.weight.reduce((a, b) => Math.max(a, b), 1e-9);
  const topLevel = map.level.reduce((a, b) => Math.max(a, b), 1);
  const N_COLOURS = 9;
  const MOVING_LINKS = 3000; // while the map moves, no more than these are drawn

  // Links by falling weight, and for each node those that end there.
  const byWeight = Array.from({ length: nLinks }, (_, e) => e).sort((a, b) => map.weight[b] - map.weight[a]);
  const linksOf = Array.from({ length: nNodes }, () => []);
  for (const e of byWeight) {
    linksOf[map.below[e]].push(e);
    linksOf[map.above[e]].push(e);
  }
  const isLinked = (i) => isFactor(i) || map.linked[i] === 1;
  const byStrength = Array.from({ length: nNodes }, (_, i) => i)
    .filter((i) => !isFactor(i))
    .sort((a, b) => map.information[b] - map.information[a]);

  const state = {
    layout: "radial", threshold: 0, colourBy: -1, group: null, hover: -1, selected: -1,
    scale: 1, x: 0, y: 0, moving: false, touched: false, fitted: 1, named: [], positions: null, paths: null, shown: null, nShown: 0,
  };

  // Small helpers -------------------------------------------------------------------------------------------

  const element = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const nats = (x) => (x === null || x === undefined ? "unknown" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : `${+x.toPrecision(3)}`);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let theme = {};
  const readTheme = () => {
    theme = { ink: css("--ink"), paper: css("--paper"), muted: css("--muted"), colours: [] };
    for (let i = 0; i < N_COLOURS; i++) theme.colours.push(css(`--c${i}`));
  };

  // Groups and their colours --------------------------------------------------------------------------------

  const homeRank = new Map(
    Array.from({ length: nNodes }, (_, i) => i)
      .filter((i) => map.level[i] === 1)
      .sort((a, b) => map.place[a] - map.place[b])
      .map((i, rank) => [i, rank]),
  );
  const groupOf = (i) => {
    if (isFactor(i)) return -1;
    if (state.colourBy >= 0) return map.groupings[state.colourBy].number[i];
    return homeRank.get(map.home[i]) ?? -1;
  };
  const colourOf = (group) => (group < 0 ? theme.muted : theme.colours[group % N_COLOURS]);
  const shapeOf = (group) => (group < 0 || state.colourBy < 0 ? 0 : Math.floor(group / N_COLOURS) % 4);

  // Where nodes are, in units of the map --------------------------------------------------------------------

  const polar = (i) => [1 - map.level[i] / Math.max(map.depth, 1), 2 * Math.PI * map.place[i] - Math.PI / 2];
  const place = () => {
    const farthest = map.place.reduce((a, b) => Math.max(a, b), 1e-9);
    state.positions = Array.from({ length: nNodes }, (_, i) => {
      if (state.layout === "layered") {
        return [3 * (map.place[i] / farthest) - 1.5, 0.7 - (1.5 * map.level[i]) / topLevel];
      }
      const [radius, angle] = polar(i);
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
  };

  const addCurve = (path, e) => {
    const from = map.above[e], to = map.below[e];
    const [x0, y0] = state.positions[from], [x1, y1] = state.positions[to];
    path.moveTo(x0, y0);
    if (state.layout === "layered") {
      path.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      return;
    }
    const [r0, a0] = polar(from), [r1, a1] = polar(to);
    if (r0 === 0) {
      path.lineTo(x1, y1);
      return;
    }
    const middle = (r0 + r1) / 2;
    path.bezierCurveTo(
      middle * Math.cos(a0), middle * Math.sin(a0), middle * Math.cos(a1), middle * Math.sin(a1), x1, y1,
    );
  };

  // Links of one colour, strength and width are one path, which the browser draws at once.
  const buildPaths = () => {
    const buckets = new Map();
    state.shown = new Uint8Array(nNodes);
    state.nShown = 0;
    for (const e of byWeight) {
      if (map.weight[e] < state.threshold) break;
      const child = map.below[e];
      state.shown[child] = state.shown[map.above[e]] = 1;
      const width = Math.max(Math.ceil((4 * map.weight[e]) / largestWeight), 1);
      const home = map.home[child] === map.above[e];
      const group = groupOf(child);
      const strong = state.nShown < MOVING_LINKS;
      const key = [group, width, home, strong].join();
      if (!buckets.has(key)) buckets.set(key, { path: new Path2D(), group, width, home, strong });
      addCurve(buckets.get(key).path, e);
      state.nShown++;
    }
    state.paths = [...buckets.values()].sort((a, b) => a.width - b.width);
    byId("links-shown").textContent = `${state.nShown.toLocaleString("en")} of ${count(nLinks, "link")}`;
    byId("threshold-value").textContent = `${nats(state.threshold)} nats`;
    draw();
  };

  // Drawing -------------------------------------------------------------------------------------------------

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

  const drawLinks = () => {
    context.lineCap = "round";
    for (const bucket of state.paths) {
      if (state.moving && !bucket.strong) continue;
      const off = state.group !== null && bucket.group !== state.group;
      context.globalAlpha = (bucket.home ? 0.6 : 0.3) * (state.selected >= 0 || off ? 0.25 : 1);
      context.strokeStyle = colourOf(bucket.group);
      context.lineWidth = (0.2 + 0.8 * bucket.width) * Math.min(Math.max(spacing() / 6, 0.3), 1) / state.scale;
      context.stroke(bucket.path);
    }
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
      context.fillStyle = theme.ink;
      context.strokeStyle = i === state.selected ? theme.colours[1] : theme.paper;
      context.lineWidth = i === state.selected ? 3 : 1;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
      context.fillStyle = theme.paper;
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

  // Moving about --------------------------------------------------------------------------------------------

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

  // The panel -----------------------------------------------------------------------------------------------

  const panel = byId("panel");
  let opener = null;
  const link = (i) => element("button", {
    type: "button", className: "link", onclick: () => { select(i, opener ?? canvas); centreOn(i); },
  }, map.names[i]);

  const rowsOf = (edges, other, profile) => edges.map((e) => {
    const i = other(e);
    const numbers = profile ? [map.weight[e]] : [map.weight[e], map.alpha[e], map.known[e]];
    const cells = [element("td", {}, link(i)), ...numbers.map((x) => element("td", { className: "number" }, nats(x)))];
    for (const value of (profile && profile[i]) || []) cells.push(element("td", { className: "value" }, value));
    return element("tr", {}, ...cells);
  });
  const linkTable = (title, edges, other, most, profile, nStates) => {
    if (!edges.length) return null;
    const heads = profile ? ["", "weight"] : ["", "weight", "alpha", "nats"];
    if (profile) for (let s = 0; s < nStates; s++) heads.push(`state ${s}`);
    const rest = edges.length - most;
    return element("div", {},
      element("h4", {}, title),
      element("div", { className: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, ...rowsOf(edges.slice(0, most), other, profile)))),
      rest > 0 ? element("p", { className: "note" }, `and ${count(rest, "further link")}`) : null);
  };
  const statesOf = (detail) => {
    const total = detail.counts.reduce((a, b) => a + b, 0) || 1;
    return element("div", {}, element("h4", {}, "Samples"), ...detail.counts.map((n, s) => element("div", { className: "state" },
      element("div", { className: "bar" }, element("span", { style: `width:${(100 * n) / total}%` })),
      element("p", {}, element("strong", {}, `state ${s}`), ` ${count(n, "sample")}, ${Math.round((100 * n) / total)}%`,
        detail.typical[s].length ? `; most typical: ${detail.typical[s].join(", ")}` : ""))),
    detail.odd.length ? element("p", {}, "Least in line with the factor: ", detail.odd.map(([name, z]) => `${name} (${z} sd)`).join(", ")) : null);
  };
  const composition = (i) => {
    const grouping = map.groupings[state.colourBy];
    const counts = new Map();
    for (let v = 0; grouping && v < nNodes; v++) {
      if (!isFactor(v) && map.home[v] === i && grouping.number[v] >= 0) {
        counts.set(grouping.number[v], (counts.get(grouping.number[v]) ?? 0) + 1);
      }
    }
    if (!counts.size) return null;
    const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([n, size]) => `${grouping.groups[n]} (${size})`);
    return element("p", {}, `${grouping.title}: ${parts.join(", ")}${counts.size > 5 ? ", \u2026" : ""}`);
  };
  const fill = (i) => {
    const name = map.names[i];
    const title = element("h3", { tabIndex: -1 }, name);
    const close = element("button", { type: "button", className: "close", ariaLabel: "Close the panel", onclick: deselect }, "\u00d7");
    const above = linksOf[i].filter((e) => map.below[e] === i);
    if (!isFactor(i)) {
      panel.replaceChildren(close, title, element("p", {}, describe(i)), linkTable("Factors", above, (e) => map.above[e], 30) ?? "");
      return title;
    }
    const below = linksOf[i].filter((e) => map.above[e] === i);
    const detail = data.details[i];
    const told = data.factors[i];
    const facts = [`Explains ${nats(told.explains)} nats`];
    if (told.contribution !== null) facts.push(`without it the bound would lose ${nats(told.contribution)} (standard error ${nats(told.contribution_stderr)})`);
    facts.push(`${count(told.states, "state")}, layer ${told.layer}`);
    panel.replaceChildren(close, title, element("p", {}, `${facts.join("; ")}.`), composition(i) ?? "",
      detail ? statesOf(detail) : element("p", { className: "note" }, "The report was made without samples."),
      linkTable(told.layer > 1 ? "Factors below" : "Variables", below, (e) => map.below[e], 30, detail && detail.profile, told.states) ?? "",
      linkTable("Factors above", above, (e) => map.above[e], 10) ?? "");
    return title;
  };
  function select(i, from = null) {
    if (from) opener = from;
    if (!state.shown[i]) {
      slider.value = state.threshold = 0;
      buildPaths();
    }
    state.selected = i;
    tip.hidden = true;
    panel.hidden = false;
    const title = fill(i);
    if (from) title.focus({ preventScroll: true });
    if (matchMedia("(max-width: 800px)").matches) panel.scrollIntoView({ block: "nearest" });
    resized();
  }
  function deselect() {
    if (state.selected < 0) return;
    state.selected = -1;
    panel.hidden = true;
    if (opener) opener.focus();
    opener = null;
    resized();
  }

  // Controls ------------------------------------------------------------------------------------------------

  const slider = byId("threshold");
  // More room for small weights, which are many.
  slider.addEventListener("input", () => {
    state.threshold = largestWeight * (slider.value / slider.max) ** 3;
    buildPaths();
  });
  byId("layout").addEventListener("change", (event) => {
    state.layout = event.target.value;
    place();
    buildPaths();
    fit();
  });
  const legend = byId("legend");
  const drawLegend = () => {
    state.group = null;
    const grouping = map.groupings[state.colourBy];
    legend.replaceChildren();
    if (!grouping) return;
    const counts = new Map();
    for (const n of grouping.number) counts.set(n, (counts.get(n) ?? 0) + 1);
    const marks = ["\u25cf", "\u25a0", "\u25b2", "\u25c6"];
    [...grouping.groups.map((name, n) => [name, n]), ["no group", -1]].filter(([, n]) => counts.has(n)).forEach(([name, n]) => {
      const mark = element("span", { className: "mark", ariaHidden: "true" }, marks[shapeOf(n)]);
      mark.style.color = n < 0 ? "var(--muted)" : `var(--c${n % N_COLOURS})`;
      const button = element("button", { type: "button", ariaPressed: "false" }, mark, `${name} (${counts.get(n)})`);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        for (const other of legend.children) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(on));
        state.group = on ? n : null;
        draw();
      });
      legend.append(button);
    });
  };
  const colours = byId("colour");
  map.groupings.forEach((grouping, i) => colours.append(element("option", { value: String(i) }, grouping.title)));
  colours.parentElement.hidden = !map.groupings.length;
  colours.addEventListener("change", () => {
    state.colourBy = Number(colours.value);
    drawLegend();
    buildPaths();
    if (state.selected >= 0) fill(state.selected);
  });
  byId("save").addEventListener("click", () => {
    element("a", { href: canvas.toDataURL("image/png"), download: "hierarchy.png" }).click();
  });
  byId("zoom-in").addEventListener("click", () => zoom(1.4));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
  byId("zoom-fit").addEventListener("click", fit);

  const search = byId("search");
  const found = byId("found");
  const pick = (i) => {
    found.hidden = true;
    select(i, search);
    centreOn(i);
  };
  const lowered = map.names.map((name) => name.toLowerCase());
  const matches = () => {
    const query = search.value.trim().toLowerCase();
    if (!query) return [];
    const hits = [];
    for (let i = 0; i < nNodes; i++) if (lowered[i].includes(query)) hits.push(i);
    const rank = (i) => (lowered[i] === query ? 0 : lowered[i].startsWith(query) ? 1 : 2);
    return hits.sort((a, b) => rank(a) - rank(b) || a - b);
  };
  search.addEventListener("input", () => {
    const hits = matches();
    found.hidden = !search.value.trim();
    found.replaceChildren(...hits.slice(0, 10).map((i) => element("li", {}, element("button", { type: "button", onclick: () => pick(i) }, map.names[i]))));
    if (!hits.length) found.append(element("li", {}, "nothing of this name is linked"));
    if (hits.length > 10) found.append(element("li", {}, `and ${hits.length - 10} more`));
  });
  const walk = (event) => {
    const buttons = [...found.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && at + 1 < buttons.length) buttons[at + 1].focus();
    else if (event.key === "ArrowUp") (buttons[at - 1] ?? search).focus();
    else if (event.key === "Enter" && at < 0 && buttons.length) buttons[0].click();
    else if (event.key === "Escape") { found.hidden = true; search.focus(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  search.addEventListener("keydown", walk);
  found.addEventListener("keydown", walk);
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) found.hidden = true; });

  // Tables --------------------------------------------------------------------------------------------------

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    table.querySelectorAll("th button").forEach((button) => {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const falling = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : "number" in head.dataset;
        for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent;
        const compare = "number" in head.dataset
          ? (a, b) => Number(key(a)) - Number(key(b))
          : (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true });
        body.append(...[...body.rows].sort((a, b) => (falling ? compare(b, a) : compare(a, b))));
      });
    });
  }
  const filter = byId("filter");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...byId("factors").tBodies[0].rows];
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const found = rows.filter((row) => !row.hidden).length;
    byId("factors-shown").textContent = `${words.length ? `${found} of ` : ""}${count(rows.length, "factor")}`;
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-factor]");
    if (!button) return;
    select(Number(button.dataset.factor), button);
    byId("hierarchy").scrollIntoView({ block: "start" });
  });

  // Light, dark and paper -----------------------------------------------------------------------------------

  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const retheme = () => { readTheme(); draw(); };
  byId("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    retheme();
  });
  dark.addEventListener("change", retheme);
  let before;
  addEventListener("beforeprint", () => {
    before = { ...state, theme: root.dataset.theme };
    state.selected = -1;
    state.group = null;
    root.dataset.theme = "light";
    paper = [640, 640]; // 17 cm, in pixels of style sheets
    readTheme();
    fit();
    drawNow();
  });
  addEventListener("afterprint", () => {
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    paper = null;
    for (const key of ["scale", "x", "y", "fitted", "touched", "selected", "group"]) state[key] = before[key];
    retheme();
  });

  // The part of the map that was in the middle stays there when its size changes.
  let known = [0, 0];
  function resized() {
    const [width, height] = size();
    if (!known[0] || !state.touched) fit();
    else if (width !== known[0] || height !== known[1]) pan((width - known[0]) / 2, (height - known[1]) / 2);
    known = [width, height];
    draw();
  }

  readTheme();
  place();
  if (map.groupings.length) { colours.value = "0"; state.colourBy = 0; }
  drawLegend();
  buildPaths();
  fit();
  known = size();
  new ResizeObserver(resized).observe(canvas);
  drawNow();
  // For scripts: where a node is on the screen, and what the map shows.
  window.hicorex = {
    locate: (name) => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = toScreen(map.names.lastIndexOf(name));
      return [box.left + x, box.top + y];
    },
    state,
  };
})();
