// SPDX-License-Identifier: Apache-2.0
// The page of tern_trace. First the totals and the timeline's bins, later calls and messages.
// The address may end with #t0=SECONDS&t1=SECONDS&r0=LINE&r1=LINE&call=LINE,SECONDS.
'use strict';
const $ = (selector) => document.querySelector(selector);
const report = JSON.parse($('#report').textContent);
const kNames = ['computes', 'send', 'receive', 'wait', 'collective', 'window', 'file', 'other MPI'];
const kColours = ['compute', 'send', 'receive', 'wait', 'collective', 'window', 'file', 'other'];
const kPathNames = ['computation', 'MPI', 'transfer'];
let colours = {};

function bytesOf(id) {
  const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}
function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
function time(seconds) {
  const size = Math.abs(seconds);
  if (size >= 1) return seconds.toFixed(3) + ' s';
  return size >= 1e-3 ? (seconds * 1e3).toFixed(3) + ' ms' : (seconds * 1e6).toFixed(1) + ' µs';
}
function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  return (unit ? bytes.toFixed(1) : bytes) + ' ' + units[unit];
}
const count = (number) => number.toLocaleString('en');
const percent = (share) => (100 * share).toFixed(1) + ' %';
function pairs(list, rows) {
  list.replaceChildren(...rows.map(([name, value]) => {
    const box = make('div');
    box.append(make('dt', name), make('dd', value));
    return box;
  }));
}

// Texts and tables.
function showHead() {
  $('#command').textContent = report.command;
  pairs($('#figures'), [['run', time(report.run)], ['ranks', count(report.ranks.length)],
    ['hosts', count(report.hosts.length)], ['time in MPI', percent(report.mpi)], ['calls', count(report.calls)]]);
}
function showFindings() {
  const list = $('#findings ol');
  if (!report.findings.length)
    list.append(make('li', 'None. No rank waited at one place for 2 % of the run.', 'none'));
  for (const one of report.findings) {
    const item = make('li');
    item.append(make('b', one.title), ` — ${time(one.seconds)} in ${count(one.times)} waits at ${one.place}`,
      make('span', `rank ${one.rank} waited ${time(one.rankSeconds)}, ${percent(one.share)} of the run. To change this: ${one.cure}.`));
    list.append(item);
  }
  for (const [rank, own, median] of report.slow) {
    const item = make('li');
    item.append(make('b', `rank ${rank} computes ${time(own)}`), `, the median rank ${time(median)}`,
      make('span', 'A slow core, or more work.'));
    list.append(item);
  }
}
function row(cells, name = 'td') {
  const line = make('tr');
  for (const cell of cells) {
    const box = make(name);
    if (cell instanceof Node) box.append(cell); else box.textContent = cell;
    line.append(box);
  }
  return line;
}
function rod(share) {
  const bar = make('span', undefined, 'rod');
  bar.style.width = 80 * share + 'px';
  return bar;
}
function showWaits() {
  const most = Math.max(...report.waits.map((one) => one[1]), 1e-12);
  const rows = report.waits.filter((one) => one[1] > 0).sort((a, b) => b[1] - a[1]);
  $('#waits table').append(...rows.map(([name, seconds]) => row([name, time(seconds), rod(seconds / most)])));
  if (!rows.length) $('#waits table').append(row(['none']));
}
function showSizes() {
  const table = $('#sizes table');
  for (const [name, bins] of [['messages', report.messageSizes], ['collectives', report.collectiveSizes]]) {
    if (!bins.length) continue;
    const most = Math.max(...bins.map((bin) => bin[1]));
    table.append(row([name, 'number', 'bytes', ''], 'th'));
    for (const [least, number, bytes] of bins)
      table.append(row([least ? 'from ' + size(least) : '0 B', count(number), size(bytes), rod(number / most)]));
  }
}
function showPath() {
  const whole = report.path.reduce((a, b) => a + b, 0) || 1;
  $('#path table').append(...report.path.map((seconds, i) =>
    row([kPathNames[i], time(seconds), percent(seconds / whole), rod(seconds / whole)])));
}
let sortedBy = 3;
function showSites() {
  const heads = ['call site', 'calls', 'time', 'waits', 'mean', 'longest', 'bytes', 'overlap'];
  const keys = [0, 2, 3, 4, 8, 5, 6, 7];
  const places = report.places.filter((one) => one[2] > 0).map((one) => [...one, one[3] / one[2]]);
  places.sort((a, b) => sortedBy === 0 ? a[0].localeCompare(b[0]) : b[sortedBy] - a[sortedBy]);
  const head = row(heads, 'th');
  [...head.children].forEach((cell, i) => { cell.onclick = () => { sortedBy = keys[i]; showSites(); }; });
  $('#sites table').replaceChildren(head, ...places.slice(0, 100).map((one) => {
    const name = make('span', one[0]);
    name.append(make('small', one[1].replaceAll(';', ' ← ') || 'unknown place'));
    return row([name, count(one[2]), time(one[3]), time(one[4]), time(one[8]), time(one[5]), size(one[6]),
      one[7] < 0 ? '' : percent(one[7])]);
  }));
}
function showNotes() {
  if (!report.notes.length) $('#notes').remove();
  else $('#notes ul').append(...report.notes.map((note) => make('li', note)));
}

// Canvases.
function fit(canvas, height) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  return [context, width];
}
function drawLoad() {
  const ranks = report.ranks, canvas = $('#load canvas'), height = 180;
  const [context, width] = fit(canvas, height);
  const most = Math.max(...ranks.map((one) => one[2] + one[3]), 1e-12), step = width / ranks.length;
  ranks.forEach((one, i) => {
    let y = height;
    const bar = (seconds, colour) => {
      const h = height * seconds / most;
      context.fillStyle = colour;
      context.fillRect(i * step, y - h, Math.max(step - (step > 4 ? 2 : 0), 0.5), h);
      y -= h;
    };
    bar(one[2], colours.busy);
    bar(Math.max(one[3] - one[4], 0), colours.accent);
    bar(Math.min(one[4], one[3]), colours.receive);
  });
  legend($('#load .legend'), [['busy', 'computes'], ['accent', 'in MPI'], ['receive', 'waits']]);
  $('#load .legend').append(make('span', `height ${time(most)}; ranks from left to right`));
}
function drawMatrix() {
  const cells = new Float32Array(bytesOf('#cells').buffer), side = Math.round(Math.sqrt(cells.length / 2));
  const canvas = $('#matrix canvas'), extent = Math.min(canvas.parentNode.clientWidth - 36, 300, 40 * side);
  canvas.style.width = extent + 'px';
  const [context] = fit(canvas, extent);
  let most = 0;
  for (let i = 0; i < cells.length; i += 2) most = Math.max(most, cells[i]);
  const step = extent / Math.max(side, 1);
  for (let y = 0; y < side; ++y)
    for (let x = 0; x < side; ++x) {
      const bytes = cells[2 * (y * side + x)];
      if (!bytes && !cells[2 * (y * side + x) + 1]) {
        if (side > 32) continue;
        context.globalAlpha = 1;
        context.fillStyle = colours.compute;
      } else {
        context.globalAlpha = 0.25 + 0.75 * Math.log1p(bytes) / Math.log1p(most || 1);
        context.fillStyle = colours.send;
      }
      context.fillRect(x * step, y * step, Math.max(step - (step > 6 ? 1 : 0), 0.7), Math.max(step - (step > 6 ? 1 : 0), 0.7));
    }
  context.globalAlpha = 1;
  const hint = $('#matrix .hint'), group = report.matrixRanks;
  const text = `Row sends to column; at most ${size(most)}` + (group > 1 ? `; ${group} ranks in a cell.` : '.');
  hint.textContent = text;
  canvas.onmousemove = (event) => {
    const x = Math.floor(event.offsetX / step), y = Math.floor(event.offsetY / step);
    if (x >= side || y >= side) return;
    const at = 2 * (y * side + x);
    hint.textContent = `From ${y * group} to ${x * group}: ${size(cells[at])} in ${count(cells[at + 1])} messages.`;
  };
  canvas.onmouseleave = () => { hint.textContent = text; };
}

// The timeline.
const kHeight = Math.max(120, Math.min(520, 22 * report.lanes.length + 26)), kLeft = 64, kTop = 20;
const view = {t0: 0, t1: report.run, r0: 0, r1: report.lanes.length};
let bins, calls, firstOf, messages, parts, chosen = -1, binImage, asked = false;

function readFragment() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const key of ['t0', 't1', 'r0', 'r1'])
    if (wanted.has(key) && Number.isFinite(+wanted.get(key))) view[key] = +wanted.get(key);
  clampView();
  if (wanted.has('call') && calls) {
    const [line, at] = wanted.get('call').split(',').map(Number);
    choose(callAt(line, at));
  }
}
function clampView() {
  const run = report.run || 1e-9, lines = report.lanes.length;
  let span = Math.min(Math.max(view.t1 - view.t0, 1e-8), run);
  view.t0 = Math.min(Math.max(view.t0, 0), run - span);
  view.t1 = view.t0 + span;
  span = Math.min(Math.max(view.r1 - view.r0, Math.min(1, lines)), lines);
  view.r0 = Math.min(Math.max(view.r0, 0), lines - span);
  view.r1 = view.r0 + span;
}
function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; drawLanes(); });
}
const xOf = (at, width) => kLeft + (at - view.t0) / (view.t1 - view.t0) * (width - kLeft);
const rowHeight = () => (kHeight - kTop) / (view.r1 - view.r0);
const yOf = (line) => kTop + (line - view.r0) * rowHeight();
const laneName = (line) => {
  const [rank, thread] = report.lanes[line];
  const name = report.ranks[rank] ? report.ranks[rank][0] : rank;
  return thread ? `${name}, thread ${thread}` : `rank ${name}`;
};

function rgbOf(colour) {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = colour;
  const value = parseInt(probe.fillStyle.slice(1), 16);
  return [value >> 16, value >> 8 & 255, value & 255];
}
function drawBins(context, width) {
  const w = Math.max(1, Math.floor(width - kLeft)), h = kHeight - kTop, image = context.createImageData(w, h);
  const palette = kColours.map((name) => rgbOf(colours[name])), n = report.bins;
  const columns = new Int32Array(w);
  for (let x = 0; x < w; ++x)
    columns[x] = Math.min(n - 1, Math.max(0, Math.floor((view.t0 + (x + 0.5) / w * (view.t1 - view.t0)) / report.run * n)));
  const gap = rowHeight() >= 5 ? 1 : 0;
  for (let y = 0; y < h; ++y) {
    const line = Math.min(report.lanes.length - 1, Math.floor(view.r0 + y / h * (view.r1 - view.r0)));
    if (gap && yOf(line + 1) - (y + kTop) <= gap) continue;
    for (let x = 0, at = 4 * y * w; x < w; ++x, at += 4) {
      const bin = bins[line * n + columns[x]], share = (bin & 15) / 15, [a, b] = [palette[0], palette[bin >> 4]];
      for (let i = 0; i < 3; ++i) image.data[at + i] = a[i] + (b[i] - a[i]) * share;
      image.data[at + 3] = 255;
    }
  }
  if (!binImage) binImage = document.createElement('canvas');
  binImage.width = w;
  binImage.height = h;
  binImage.getContext('2d').putImageData(image, 0, 0);
  context.drawImage(binImage, kLeft, kTop, width - kLeft, h);
}
function lowerBound(line, at) {
  let low = firstOf[line], high = firstOf[line + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (calls.begin(middle) + calls.length(middle) < at) low = middle + 1; else high = middle;
  }
  return low;
}
function callAt(line, at) {
  if (!calls || line < 0 || line >= report.lanes.length) return -1;
  const i = lowerBound(line, at);
  return i < firstOf[line + 1] && calls.begin(i) <= at ? i : -1;
}
function drawCalls(context, width) {
  const height = rowHeight(), fine = (view.t1 - view.t0) / (width - kLeft) < 2 * report.run / report.bins;
  const complete = calls.size >= report.calls;
  if (height < 2) return;
  for (let line = Math.floor(view.r0); line < Math.min(view.r1, report.lanes.length); ++line) {
    const y = yOf(line), h = Math.max(1, height - (height >= 5 ? 1 : 0));
    if (complete && fine) {
      context.fillStyle = colours.compute;
      context.fillRect(kLeft, y, width - kLeft, h);
    }
    let before = -1;
    for (let i = lowerBound(line, view.t0); i < firstOf[line + 1] && calls.begin(i) <= view.t1; ++i) {
      const x = Math.max(kLeft, xOf(calls.begin(i), width));
      const end = Math.min(width, xOf(calls.begin(i) + calls.length(i), width));
      if (end - before < 0.25) continue;
      before = end;
      context.fillStyle = colours[kColours[calls.colour(i)]];
      context.fillRect(x, y, Math.max(0.6, end - x), h);
      const waited = calls.waited(i);
      if (waited > 0 && h >= 4) {
        const until = Math.min(width, xOf(calls.begin(i) + waited, width));
        if (until - x > 3) hatch(context, x, y, until - x, h);
      }
    }
  }
}
let pattern;
function hatch(context, x, y, w, h) {
  if (!pattern) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const pen = tile.getContext('2d');
    pen.strokeStyle = colours.back;
    pen.lineWidth = 1.3;
    pen.beginPath();
    pen.moveTo(-1, 7);
    pen.lineTo(7, -1);
    pen.stroke();
    pattern = context.createPattern(tile, 'repeat');
  }
  context.fillStyle = pattern;
  context.fillRect(x, y, w, h);
}
function drawArrows(context, width) {
  const height = rowHeight();
  if (height < 5 || !$('#arrows').checked) return;
  context.strokeStyle = context.fillStyle = colours.arrow;
  context.lineWidth = 0.8;
  let drawn = 0;
  for (let i = 0; i < messages.size && drawn < 3000; ++i) {
    if (messages.sent(i) > view.t1) break;
    const from = messages.from(i), to = messages.to(i);
    if (messages.received(i) < view.t0 || Math.max(from, to) < view.r0 || Math.min(from, to) > view.r1) continue;
    const x0 = xOf(messages.sent(i), width), y0 = yOf(from + 0.5), x1 = xOf(messages.received(i), width), y1 = yOf(to + 0.5);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 6 * Math.cos(angle - 0.4), y1 - 6 * Math.sin(angle - 0.4));
    context.lineTo(x1 - 6 * Math.cos(angle + 0.4), y1 - 6 * Math.sin(angle + 0.4));
    context.fill();
    ++drawn;
  }
}
function drawPath(context, width) {
  if (!$('#critical').checked || !parts.size) return;
  context.strokeStyle = colours.path;
  context.lineWidth = rowHeight() > 8 ? 2 : 1;
  context.beginPath();
  let before = -1;
  for (let i = 0; i < parts.size; ++i) {
    if (parts.end(i) < view.t0 || parts.begin(i) > view.t1) continue;
    const y = yOf(parts.lane(i) + (rowHeight() > 8 ? 0.86 : 0.5)), x = xOf(parts.begin(i), width);
    if (before >= 0) context.lineTo(x, y); else context.moveTo(x, y);
    context.lineTo(xOf(parts.end(i), width), y);
    before = i;
  }
  context.stroke();
}
function drawAxes(context, width) {
  context.fillStyle = colours.soft;
  const span = view.t1 - view.t0, raw = span / Math.max(2, (width - kLeft) / 120);
  const power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  for (let at = Math.ceil(view.t0 / step) * step; at <= view.t1; at += step) {
    const x = xOf(at, width);
    if (x < width - 62) context.fillText(time(at), x, 11);
    context.beginPath();
    context.moveTo(x, 14);
    context.lineTo(x, kTop);
    context.stroke();
  }
  const every = Math.max(1, Math.ceil(14 / rowHeight()));
  for (let line = Math.ceil(view.r0 / every) * every; line < view.r1 && line < report.lanes.length; line += every)
    context.fillText(laneName(line), 0, Math.min(kHeight - 2, yOf(line) + Math.min(rowHeight() / 2 + 4, 12)), kLeft - 6);
}
function drawLanes() {
  const [context, width] = fit($('#lanes'), kHeight);
  context.save();
  context.beginPath();
  context.rect(kLeft, kTop, width - kLeft, kHeight - kTop);
  context.clip();
  if (report.lanes.length) drawBins(context, width);
  if (calls) {
    drawCalls(context, width);
    drawArrows(context, width);
    drawPath(context, width);
    if (chosen >= 0) {
      context.strokeStyle = colours.text;
      context.lineWidth = 2;
      const x = xOf(calls.begin(chosen), width);
      context.strokeRect(x, yOf(calls.lane(chosen)), Math.max(2, xOf(calls.begin(chosen) + calls.length(chosen), width) - x), rowHeight() - 1);
    }
  }
  context.restore();
  drawAxes(context, width);
  const data = document.body.dataset;
  data.view = [view.t0, view.t1, view.r0, view.r1].map((n) => +n.toFixed(9)).join(' ');
  data.draws = +(data.draws || 0) + 1;
}
function choose(index) {
  chosen = index;
  const box = $('#record');
  if (index < 0) {
    box.replaceChildren(make('p', 'No call is chosen.'));
    return ask();
  }
  const place = report.places[calls.place(index)] || ['other', ''], list = make('dl'), peer = calls.peer(index);
  const rows = [['call', place[0]], ['rank', laneName(calls.lane(index))], ['begin', calls.begin(index).toFixed(6) + ' s'],
    ['length', time(calls.length(index))], ['waited', time(calls.waited(index))]];
  if (calls.bytes(index) >= 0) rows.push(['bytes', size(calls.bytes(index))]);
  if (peer >= 0) rows.push(['peer', 'rank ' + report.ranks[peer][0]]);
  rows.push(['call site', place[1].replaceAll(';', ' ← ') || 'unknown place']);
  pairs(list, rows);
  box.replaceChildren(list);
  ask();
}

function zoom(factor, at, ranks) {
  const [low, high] = ranks ? ['r0', 'r1'] : ['t0', 't1'], span = (view[high] - view[low]) * factor;
  view[low] = at - (at - view[low]) * factor;
  view[high] = view[low] + span;
  clampView();
  ask();
}
function connect() {
  const canvas = $('#lanes'), tip = $('#tip');
  const timeAt = (event) => view.t0 + (event.offsetX - kLeft) / (canvas.clientWidth - kLeft) * (view.t1 - view.t0);
  const lineAt = (event) => view.r0 + (event.offsetY - kTop) / rowHeight();
  let drag = null;
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const turn = event.deltaY || event.deltaX;
    zoom(turn > 0 ? 1.25 : 0.8, event.shiftKey ? lineAt(event) : timeAt(event), event.shiftKey);
  }, {passive: false});
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.offsetX, y: event.offsetY, ...view, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
      const t = dx / (canvas.clientWidth - kLeft) * (drag.t1 - drag.t0), r = dy / (kHeight - kTop) * (drag.r1 - drag.r0);
      Object.assign(view, {t0: drag.t0 - t, t1: drag.t1 - t, r0: drag.r0 - r, r1: drag.r1 - r});
      clampView();
      return ask();
    }
    const line = Math.floor(lineAt(event)), at = timeAt(event), i = event.offsetX > kLeft ? callAt(line, at) : -1;
    tip.style.display = line >= 0 && line < report.lanes.length && event.offsetX > kLeft ? 'block' : 'none';
    if (tip.style.display === 'none') return;
    const place = i >= 0 ? report.places[calls.place(i)] || ['other', ''] : null;
    tip.textContent = `${laneName(line)}, ${time(at)}: ` + (place ? `${place[0]}, ${time(calls.length(i))} at ${place[1].split(';')[0] || 'unknown place'}` :
      kNames[bins[line * report.bins + Math.min(report.bins - 1, Math.floor(at / report.run * report.bins))] >> 4]);
    tip.style.left = Math.min(event.offsetX + 14, canvas.clientWidth - 240) + 'px';
    tip.style.top = event.offsetY + 16 + 'px';
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag && !drag.moved) choose(callAt(Math.floor(lineAt(event)), timeAt(event)));
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  const middle = () => (view.t0 + view.t1) / 2;
  const whole = () => { Object.assign(view, {t0: 0, t1: report.run, r0: 0, r1: report.lanes.length}); ask(); };
  $('#in').onclick = () => zoom(0.5, middle());
  $('#out').onclick = () => zoom(2, middle());
  $('#all').onclick = whole;
  $('#arrows').onchange = $('#critical').onchange = ask;
  canvas.addEventListener('keydown', (event) => {
    const move = (view.t1 - view.t0) / 5;
    const keys = {'+': () => zoom(0.5, middle()), '-': () => zoom(2, middle()), '0': whole,
      ArrowLeft: () => { view.t0 -= move; view.t1 -= move; clampView(); ask(); },
      ArrowRight: () => { view.t0 += move; view.t1 += move; clampView(); ask(); }};
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  addEventListener('hashchange', () => { readFragment(); ask(); });
  addEventListener('resize', drawAll);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
}

// Arrays of C++ structures: analysis in page.cc.
function readArrays() {
  const view32 = (bytes) => [new DataView(bytes.buffer), bytes.length];
  const [c, callBytes] = view32(bytesOf('#calls')), [m, messageBytes] = view32(bytesOf('#messages')), [p, partBytes] = view32(bytesOf('#parts'));
  calls = {size: callBytes / 32, begin: (i) => c.getFloat64(32 * i, true), length: (i) => c.getFloat32(32 * i + 8, true),
    waited: (i) => c.getFloat32(32 * i + 12, true), bytes: (i) => c.getFloat32(32 * i + 16, true), peer: (i) => c.getInt32(32 * i + 20, true),
    lane: (i) => c.getUint32(32 * i + 24, true), place: (i) => c.getUint16(32 * i + 28, true), colour: (i) => c.getUint16(32 * i + 30, true)};
  messages = {size: messageBytes / 24, sent: (i) => m.getFloat64(24 * i, true), received: (i) => m.getFloat64(24 * i + 8, true),
    from: (i) => m.getUint32(24 * i + 16, true), to: (i) => m.getUint32(24 * i + 20, true)};
  parts = {size: partBytes / 24, begin: (i) => p.getFloat64(24 * i, true), end: (i) => p.getFloat64(24 * i + 8, true), lane: (i) => p.getUint32(24 * i + 16, true)};
  firstOf = new Uint32Array(report.lanes.length + 1);
  for (let i = 0; i < calls.size; ++i) ++firstOf[calls.lane(i) + 1];
  for (let i = 0; i < report.lanes.length; ++i) firstOf[i + 1] += firstOf[i];
}
function legend(box, rows) {
  box.replaceChildren(...rows.map(([colour, name]) => {
    const item = make('span'), mark = make('i');
    mark.style.background = colours[colour];
    item.append(mark, name);
    return item;
  }));
}
function takeColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [...kColours, 'back', 'card', 'text', 'soft', 'line', 'accent', 'path', 'arrow', 'busy'])
    colours[name] = style.getPropertyValue('--' + name).trim();
  pattern = null;
  legend($('#legend'), kColours.map((name, i) => [name, kNames[i]]));
  $('#legend').append(make('span', '▨ waits'), make('span', '— critical path'));
}
function drawAll() {
  takeColours();
  drawLanes();
  drawLoad();
  drawMatrix();
}

showHead();
showFindings();
bins = bytesOf('#bins');
takeColours();
readFragment();
drawLanes();
connect();
requestAnimationFrame(() => { document.body.dataset.paint = Math.round(performance.now()); });
setTimeout(() => {
  showWaits();
  showSizes();
  showPath();
  showSites();
  showNotes();
  readArrays();
  readFragment();
  drawAll();
  document.body.dataset.ready = Math.round(performance.now());
}, 0);
