'use strict';
// The list of requirements: filters, deep links, keyboard. All text is set as text, never as markup.
(() => {
const data = JSON.parse(document.getElementById('index').textContent);
const STATUS = {p: 'passed', h: 'partial', f: 'failed', c: 'crashed', t: 'timeout', u: 'xpassed', k: 'xfailed', s: 'skipped', '-': 'absent'};
const WORD = {passed: 'held', partial: 'held in part', failed: 'broken', crashed: 'crashed', timeout: 'timed out', xpassed: 'unexpectedly held',
  xfailed: 'known not to hold', skipped: 'skipped', absent: 'not in this run'};
const CHANGE = {broken: 'newly broken', mended: 'mended', still: 'still broken', lost: 'newly skipped', found: 'newly checked',
  first: 'only in the first', second: 'only in the second', changed: 'changed for some operators', same: 'unchanged'};
const CHUNK = 100, PRINTED = 300, FEW = 3, narrow = matchMedia('(max-width:700px)');
const $ = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) node.setAttribute(name, value);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
function mark(status, words) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  svg.setAttribute('class', 'mark ' + status);
  svg.setAttribute('aria-hidden', 'true');
  use.setAttribute('href', '#m-' + status);
  svg.append(use);
  return words === undefined ? svg : make('span', {title: words}, svg, make('span', {class: 'unseen'}, words + ' '));
}
// Text with `code` in backticks.
const prose = text => text.split('`').map((part, place) => place % 2 ? make('code', {}, part) : part);

const rows = data.rows.map(([id, level, sentence, codes, change], place) => ({
  id, level, sentence, codes, change, place, area: id.slice(0, id.indexOf('/')), text: (id + ' ' + sentence).toLowerCase()}));
const byId = new Map(rows.map(row => [row.id, row]));
let details = null, shown = [], chunks = [], current = -1;
const opened = new Set();

const ready = (async () => {
  const bytes = Uint8Array.from(atob($('details').textContent.trim()), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  details = JSON.parse(await new Response(stream).text());
  rows.forEach((row, place) => {
    const found = details.rows[place], words = [found.source, ...found.origin, ...found.capabilities];
    for (const cell of found.cells) if (cell) {
      words.push(cell.reason || '');
      for (const failure of cell.failures || []) words.push(failure.message, failure.verdict, failure.got || '');
    }
    row.text += ' ' + words.join(' ').toLowerCase();
  });
})();

// ---- filters
const state = {q: '', area: '', level: '', run: '', only: new Set()};
const kinds = data.changes ? CHANGE : {...WORD, differ: 'held and broken'};
const kindsOf = (row, run) => {
  if (data.changes) return [row.change];
  const found = (run === '' ? [...row.codes] : [row.codes[run]]).map(code => STATUS[code]);
  return /[phu]/.test(row.codes) && /[fctk]/.test(row.codes) ? [...found, 'differ'] : found;
};
function fits(row, except) {
  return (!state.area || row.area === state.area) && (!state.level || row.level === state.level)
    && (except || !state.only.size || kindsOf(row, state.run).some(kind => state.only.has(kind)))
    && (data.changes || state.run === '' || row.codes[state.run] !== '-' || state.only.has('absent'))
    && state.q.toLowerCase().split(/\s+/).every(word => row.text.includes(word));
}
function fill(select, all, values) {
  select.replaceChildren(make('option', {value: ''}, all), ...values.map(([value, text]) => make('option', {value}, text)));
  select.hidden = values.length < 2;
}
const areas = [...new Set(rows.map(row => row.area))];
fill($('area'), 'All areas', areas.map(area => [area, area]));
fill($('level'), 'All levels', ['MUST', 'SHOULD', 'MAY'].filter(level => rows.some(row => row.level === level)).map(l => [l, l]));
fill($('run'), 'In any run', data.changes ? [] : data.runs.map((label, place) => [place, label]));
const present = new Set(rows.flatMap(row => [...kindsOf(row, '')]));
const chips = Object.keys(kinds).filter(kind => present.has(kind)).map(kind => {
  const symbol = data.changes || kind === 'differ' ? null : mark(kind);
  const chip = make('button', {type: 'button', 'aria-pressed': 'false'}, symbol, kinds[kind], make('b', {}));
  chip.addEventListener('click', () => {
    state.only.has(kind) ? state.only.delete(kind) : state.only.add(kind);
    apply();
  });
  return [kind, chip];
});
$('chips').append(...chips.map(([, chip]) => chip));
document.documentElement.style.setProperty('--runs', data.runs.length);
document.documentElement.style.setProperty('--mark', data.runs.length < 5 ? '5rem' : data.runs.length < 8 ? '4.3rem' : '2.1rem');
$('columns').classList.toggle('one', data.runs.length === 1);
$('columns').append(...data.short.map((label, run) => make('span', {title: data.runs[run]}, label)));

function apply(keepAddress) {
  const within = rows.filter(row => fits(row, true)), counts = {};
  for (const row of within) for (const kind of new Set(kindsOf(row, state.run))) counts[kind] = (counts[kind] || 0) + 1;
  for (const [kind, chip] of chips) {
    chip.setAttribute('aria-pressed', state.only.has(kind));
    chip.querySelector('b').textContent = (counts[kind] || 0).toLocaleString('en');
  }
  for (const name of ['q', 'area', 'level', 'run']) if ($(name).value.trim() !== state[name]) $(name).value = state[name];
  shown = within.filter(row => fits(row));
  const filtered = filters().length > 0;
  $('clear').hidden = !filtered;
  $('count').textContent = (filtered ? shown.length.toLocaleString('en') + ' of ' : '') + rows.length.toLocaleString('en') + (rows.length === 1 ? ' requirement' : ' requirements');
  current = -1;
  draw();
  if (!keepAddress) history.replaceState(null, '', filtered ? '#' + filters().join('&') : location.pathname + location.search);
}
function filters() {
  const found = ['area', 'level', 'run', 'q'].filter(name => state[name] !== '').map(name => name + '=' + encodeURIComponent(state[name]));
  return state.only.size ? [...found, 'only=' + [...state.only].join(',')] : found;
}
function clear() {
  Object.assign(state, {q: '', area: '', level: '', run: ''});
  state.only.clear();
}

// ---- the list, drawn by chunks as they come near
const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) fillChunk(entry.target.chunk);
}, {rootMargin: '900px'});
function draw() {
  near.disconnect();
  chunks = [];
  const sections = [];
  for (let start = 0; start < shown.length;) {
    const area = shown[start].area, section = make('div', {class: 'rows', role: 'list', 'aria-label': area});
    let end = start;
    while (end < shown.length && shown[end].area === area) end++;
    for (let at = start; at < end; at += CHUNK) {
      const chunk = {start: at, end: Math.min(end, at + CHUNK), node: make('div', {role: 'presentation'}), filled: false};
      chunk.node.style.minHeight = (chunk.end - chunk.start) * (narrow.matches ? 116 : 45) + 'px';
      chunk.node.chunk = chunk;
      chunks.push(chunk);
      section.append(chunk.node);
    }
    const count = (end - start).toLocaleString('en');
    sections.push(make('section', {class: 'area'}, make('h3', {}, area, make('small', {}, count)), section));
    start = end;
  }
  if (!sections.length) sections.push(make('p', {class: 'empty'}, 'No requirement fits these filters.'));
  $('list').replaceChildren(...sections);
  chunks.filter(chunk => chunk.start < CHUNK).forEach(fillChunk);
  chunks.forEach(chunk => near.observe(chunk.node));
}
function fillChunk(chunk) {
  if (chunk.filled) return;
  chunk.filled = true;
  near.unobserve(chunk.node);
  chunk.node.append(...shown.slice(chunk.start, chunk.end).map((row, place) => line(row, chunk.start + place)));
  chunk.node.style.minHeight = '';
}
function line(row, place) {
  const marks = [...row.codes].map((code, run) => mark(STATUS[code], data.runs[run] + ': ' + WORD[STATUS[code]]));
  const change = data.changes && row.change !== 'same' ? make('span', {class: 'change ' + row.change}, CHANGE[row.change]) : null;
  const slug = row.id.slice(row.area.length + 1);
  const button = make('button', {type: 'button', class: 'line-of', 'aria-expanded': 'false'},
    make('span', {class: 'lv ' + row.level}, row.level),
    make('span', {class: 'words'}, make('code', {}, slug), change, make('small', {}, ...prose(row.sentence))),
    make('span', {class: 'marks'}, ...marks));
  const node = make('div', {class: 'row', role: 'listitem', id: row.id}, make('h4', {}, button));
  button.addEventListener('click', () => toggle(row, node, button.getAttribute('aria-expanded') !== 'true'));
  button.addEventListener('focus', () => { current = place; });
  if (opened.has(row.id)) expand(row, node);
  return node;
}
function toggle(row, node, open) {
  open ? opened.add(row.id) : opened.delete(row.id);
  if (open) { expand(row, node); history.replaceState(null, '', '#' + row.id); }
  else {
    node.classList.remove('open');
    node.querySelector('.line-of').setAttribute('aria-expanded', 'false');
    node.querySelector('.detail')?.remove();
  }
}
function expand(row, node) {
  const button = node.querySelector('.line-of'), panel = make('div', {class: 'detail', id: 'about-' + row.id});
  node.querySelector('.detail')?.remove();
  node.classList.add('open');
  button.setAttribute('aria-expanded', 'true');
  button.setAttribute('aria-controls', panel.id);
  node.append(panel);
  if (details) return panel.append(...about(row));
  panel.append(make('p', {}, 'Unpacking …'));
  ready.then(() => panel.replaceChildren(...about(row)),
    () => panel.replaceChildren(make('p', {}, 'This browser cannot unpack the details (it lacks DecompressionStream).')));
}

// ---- one requirement
function about(row) {
  const found = details.rows[row.place], prosePlace = found.chapter && details.sections[row.area + '/' + found.chapter.section];
  const slug = row.id.slice(row.area.length + 1);
  const chapter = data.chapters ? make('a', {href: data.chapters + '/' + row.area + '.html#' + slug}, row.area) : row.area;
  const fact = (name, ...value) => make('div', {}, make('dt', {}, name), make('dd', {}, ...value));
  const nodes = [make('p', {class: 'sentence'}, ...prose(row.sentence)), make('dl', {class: 'facts'},
    fact('level', row.level), fact('chapter', chapter, found.chapter ? ' › ' + found.chapter.section : ''), fact('source', found.source),
    found.origin.length ? fact('origin', found.origin.join(', ')) : null, fact('needs', found.capabilities.join(', ') || 'nothing'),
    fact('link', make('a', {href: '#' + row.id}, row.id)))];
  if (found.chapter && found.chapter.example) nodes.push(make('div', {}, make('span', {class: 'label'}, 'Example in the spec'), code(found.chapter.example)));
  const quiet = make('ul', {class: 'held'});
  found.cells.forEach((cell, run) => {
    const status = STATUS[row.codes[run]], words = WORD[status];
    if (/[fctuk]/.test(row.codes[run]) || (cell && cell.pictures)) return nodes.push(verdict(run, status, cell));
    const said = cell ? [status === 'skipped' ? '' : effort(cell), cell.reason, ...figures(cell)].filter(Boolean).join(' · ') : '';
    quiet.append(make('li', {}, mark(status), make('bdi', {}, data.runs[run]), words, make('small', {}, said), ...asides(cell)));
  });
  if (quiet.children.length) nodes.push(quiet);
  if (prosePlace) nodes.push(chapterText(found.chapter, prosePlace));
  const tests = found.tests.filter(name => details.tests[name]);
  const untold = found.tests.filter(name => !details.tests[name]);
  if (tests.length) nodes.push(folded(tests.length === 1 ? 'Its test' : 'Its ' + tests.length + ' tests', () => tests.flatMap(name => {
    const test = details.tests[name];
    return [make('span', {class: 'label'}, test.file + ':' + test.line), code(test.code)];
  })));
  if (untold.length) nodes.push(make('p', {class: 'note'}, (untold.length === 1 ? 'Test: ' : 'Tests: ') + untold.join(', ')));
  return nodes;
}
const effort = cell => [cell.examples ? cell.examples.toLocaleString('en') + ' examples' : '', cell.seconds ? cell.seconds + ' s' : '', cell.support || '']
  .filter(Boolean).join(' · ');
const figures = cell => Object.entries(cell.figures || {}).map(([name, value]) => name + ': ' + value);
function asides(cell) {
  if (!cell) return [];
  const other = [['In this run a ' + cell.level, cell.level], ['As this run had it: ' + cell.sentence, cell.sentence]];
  const nodes = other.filter(([, told]) => told).map(([text]) => make('p', {class: 'note'}, text));
  if (cell.subresults) nodes.push(...operators(cell.subresults));
  if (cell.unsupported) nodes.push(folded(cell.unsupported.length + (cell.unsupported.length > 1 ? ' operators' : ' operator') + ' not offered',
    () => [make('p', {class: 'note'}, cell.unsupported.join('; '))]));
  return nodes;
}
function operators(found) {
  const names = Object.entries(found).filter(([status]) => status !== 'passed');
  const total = names.reduce((sum, [, list]) => sum + list.length, found.passed || 0);
  const text = ['operators: ' + (found.passed || 0).toLocaleString('en') + ' of ' + total.toLocaleString('en') + ' held',
    ...names.map(([status, list]) => list.length + ' ' + WORD[status])].join(', ');
  if (!names.length) return [make('p', {class: 'note'}, text)];
  return [folded(text, () => names.map(([status, list]) => make('p', {class: 'note'}, mark(status), ' ' + list.join(', '))))];
}
function verdict(run, status, cell) {
  const block = make('div', {class: 'verdict ' + status}, make('h5', {}, mark(status), make('bdi', {}, data.runs[run]), WORD[status],
    make('small', {}, effort(cell))));
  if (cell.reason) block.append(make('p', {}, cell.reason));
  if (cell.upstream) block.append(make('p', {}, make('a', {href: cell.upstream, rel: 'noreferrer noopener'}, cell.upstream)));
  const failures = cell.failures || [], rest = failures.slice(FEW), told = failure => failed(failure, cell.reason);
  block.append(...failures.slice(0, FEW).flatMap(told));
  if (rest.length) block.append(folded(rest.length + ' more: ' + rest.map(failure => failure.operator || failure.test).join(', '), () => rest.flatMap(told)));
  for (const text of figures(cell)) block.append(make('p', {class: 'note'}, text));
  block.append(...asides(cell));
  for (const picture of cell.pictures || [])
    block.append(make('figure', {class: 'drawn'}, make('figcaption', {class: 'label'}, picture.title), make('img', {src: picture.source, alt: picture.title})));
  return block;
}
function failed(failure, reason) {
  const title = failure.operator ? make('b', {}, failure.operator + ': ') : null;
  const nodes = [make('p', {class: 'message'}, title, failure.message)];
  if (failure.known && failure.known !== reason) nodes.push(make('p', {class: 'note'}, 'Expected: ' + failure.known));
  const pair = ['expected', 'got'].filter(name => failure[name]).map(name =>
    make('figure', {}, make('figcaption', {}, name), make('pre', {class: 'wrap', tabindex: '0'}, failure[name])));
  if (pair.length) nodes.push(make('div', {class: 'pair'}, ...pair));
  const drawn = Object.entries(failure.example || {}).map(([name, value]) => name + ' = ' + value).join('\n');
  if (drawn) nodes.push(make('div', {}, make('span', {class: 'label'}, 'smallest example found'), make('pre', {class: 'wrap', tabindex: '0'}, drawn)));
  if (failure.snippet) {
    const alone = failure.snippet_checked ? 'executed alone: ' + (failure.snippet_result || 'the same') :
      failure.snippet_result ? 'executed alone it did not fail the same way: ' + failure.snippet_result : 'not executed alone';
    nodes.push(make('div', {}, make('span', {class: 'label'}, 'snippet, ' + alone), code(failure.snippet)));
  }
  if (failure.adapter_snippet) nodes.push(folded('By way of the adapter', () => [code(failure.adapter_snippet)]));
  if (failure.output) nodes.push(folded('What was printed', () => [make('pre', {class: 'wrap', tabindex: '0'}, failure.output)]));
  return nodes;
}
function folded(title, contents) {
  const node = make('details', {}, make('summary', {}, title));
  node.addEventListener('toggle', () => { if (node.open && node.children.length === 1) node.append(...contents()); });
  return node;
}
function chapterText(chapter, html) {
  return folded('In the chapter: ' + chapter.title + ' › ' + chapter.section, () => {
    const text = make('div', {class: 'prose'});
    // The project's own prose, made from Markdown without HTML; it holds no word of a record.
    text.innerHTML = html || '<p>This section has no prose of its own.</p>';
    return [text];
  });
}
function code(text) {
  const copy = make('button', {type: 'button'}, 'Copy'), block = make('pre', {tabindex: '0'});
  copy.addEventListener('click', async () => {
    copy.textContent = await copied(text) ? 'Copied' : 'Not copied';
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  });
  block.append(...coloured(text.replace(/\n+$/, '')));
  return make('div', {class: 'code'}, block, copy);
}
async function copied(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* a page from a file may not: the old way */ }
  const area = make('textarea', {class: 'unseen'});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
const TOKENS = /(#[^\n]*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(and|as|assert|async|await|class|def|del|elif|else|except|finally|for|from|if|import|in|is|lambda|not|or|pass|raise|return|try|while|with|yield|True|False|None)\b|\b(\d[\w.]*)/g;
function coloured(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    nodes.push(text.slice(at, match.index), make('span', {class: ['c', 's', 'k', 'n'][match.slice(1).findIndex(group => group !== undefined)]}, match[0]));
    at = match.index + match[0].length;
  }
  return [...nodes, text.slice(at)];
}

// ---- addresses, keys, theme, print
function reveal(place, focus) {
  const chunk = chunks.find(part => place < part.end);
  fillChunk(chunk);
  const node = chunk.node.children[place - chunk.start], button = node.querySelector('.line-of');
  if (focus) button.focus({preventScroll: true});
  node.querySelector('h4').scrollIntoView({block: focus === 'near' ? 'nearest' : 'start'});
  return node;
}
function follow() {
  const address = location.hash.slice(1), row = byId.get(address);
  if (row) {
    opened.add(row.id);
    if (!shown.includes(row)) { clear(); apply(true); }
    const node = reveal(shown.indexOf(row), 'top');
    if (!node.classList.contains('open')) expand(row, node);
    ready.then(() => requestAnimationFrame(() => node.querySelector('h4').scrollIntoView({block: 'start'})), () => {});
    return;
  }
  if (!/^(area|level|run|q|only)=/.test(address)) return;
  const asked = new URLSearchParams(location.hash.slice(1));
  clear();
  for (const name of ['q', 'area', 'level']) state[name] = asked.get(name) || '';
  if (!data.changes && Object.hasOwn(data.runs, asked.get('run'))) state.run = asked.get('run');
  for (const kind of (asked.get('only') || '').split(',')) if (Object.hasOwn(kinds, kind)) state.only.add(kind);
  apply(true);
  $('requirements').scrollIntoView();
}
function theme(next) {
  const names = ['system', 'light', 'dark'], root = document.documentElement;
  let now = root.dataset.theme || 'system';
  if (next) now = names[(names.indexOf(now) + 1) % 3];
  else try { now = names.includes(localStorage.gaugeblock) ? localStorage.gaugeblock : now; } catch { /* not kept here */ }
  now === 'system' ? delete root.dataset.theme : root.dataset.theme = now;
  try { localStorage.gaugeblock = now; } catch { /* not kept here */ }
  $('theme').querySelector('span').textContent = now;
}
function key(event) {
  const at = document.activeElement, typing = at && (at.matches('input,select,textarea') || $('keys').open);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && at === $('q')) { at.blur(); return; }
  if (typing) return;
  const arrows = at && at.matches('.line-of');
  const step = event.key === 'j' || (arrows && event.key === 'ArrowDown') ? 1 : event.key === 'k' || (arrows && event.key === 'ArrowUp') ? -1 : 0;
  if (step && shown.length) reveal(Math.max(0, Math.min(shown.length - 1, current + step)), 'near');
  else if (event.key === '/') $('q').focus();
  else if (event.key === 't') theme(true);
  else if (event.key === '?') $('keys').showModal();
  else if (event.key === 'Escape' && filters().length) { clear(); apply(); }
  else return;
  event.preventDefault();
}
new ResizeObserver(() => {
  const bar = $('filters'), stuck = bar.offsetHeight + Math.min(0, parseFloat(getComputedStyle(bar).top) || 0);
  document.documentElement.style.setProperty('--stuck', stuck + 'px');
}).observe($('filters'));
let waiting = 0;
$('q').addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => { await ready.catch(() => {}); state.q = $('q').value.trim(); apply(); }, 90);
});
for (const name of ['area', 'level', 'run']) $(name).addEventListener('change', () => { state[name] = $(name).value; apply(); });
$('filters').addEventListener('submit', event => event.preventDefault());
$('filters').addEventListener('reset', event => { event.preventDefault(); clear(); apply(); });
$('theme').addEventListener('click', () => theme(true));
$('keys-button').addEventListener('click', () => $('keys').showModal());
document.addEventListener('keydown', key);
addEventListener('hashchange', follow);
let unfolded = [];
addEventListener('beforeprint', () => {
  chunks.forEach(fillChunk);
  document.querySelectorAll('details.more').forEach(node => { node.open = true; });
  if (!details) return;
  unfolded = shown.filter(row => /[fctu]/.test(row.codes) && !opened.has(row.id)).slice(0, PRINTED);
  for (const row of unfolded) expand(row, $(row.id));
});
addEventListener('afterprint', () => {
  for (const row of unfolded) { const node = $(row.id); if (node) toggle(row, node, false); }
  unfolded = [];
});

theme(false);
if (data.changes) for (const kind of Object.keys(CHANGE)) if (kind !== 'same' && present.has(kind)) state.only.add(kind);
apply(true);
follow();
})();
