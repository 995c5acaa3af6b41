// Shows records of queries, streams and graph walks. They stand in the page itself, or the coordinator is asked for them.

const VIEWS = ["queries", "streams", "graphs"];
const KINDS = {query: "queries", stream: "streams", graph: "graphs"};
const LANES = 6, LANE = 14, ROW = 28;
const ENDED = new Set(["FINISHED", "FAILED"]);
const SHOWN = 2000;  // items in the list
const store = {queries: new Map(), streams: new Map(), graphs: new Map()};
const isKept = document.querySelector("#records") !== null;  // records of a log stand still
let view = "queries", chosen = null, version = 0;

// --- small helpers -------------------------------------------------------------------------------------------------

const find = (selector, inside = document) => inside.querySelector(selector);

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const number = value => (value ?? 0).toLocaleString("en");

function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) { bytes /= 1024; at += 1; }
  return `${at && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

const seconds = value => value < 0.9995 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 2 : 1)} s`;
const clock = time => new Date(time * 1000).toLocaleTimeString();
const last = path => path.split("/").filter(Boolean).pop() ?? path;
const colour = lane => `var(--lane-${lane % LANES})`;

// --- what a query has read -----------------------------------------------------------------------------------------

const scansOf = query => (query.parts ?? []).flatMap(part => part.scans ?? []);
const filtersOf = query => (query.parts ?? []).flatMap(part => part.filters ?? []);
const isApplied = filter => filter.state === "applied" || filter.state === "applied late";
const total = (list, name) => list.reduce((sum, item) => sum + (item[name] ?? 0), 0);

function took(query) {
  const end = query.ended ?? (query.state === "RUNNING" && !isKept ? Date.now() / 1000 : null);
  return end === null ? "" : seconds(Math.max(0, end - query.started));
}

function readOf(query) {
  const scans = scansOf(query);
  if (scans.length) {
    const all = total(scans, "files_total");  // scans that no filter goes to are not listed
    const files = all ? `${number(total(scans, "files_read"))} of ${number(all)} files, ` : "";
    return `${files}${size(total(scans, "bytes_read"))} of ${size(total(scans, "bytes_total"))}`;
  }
  const files = (query.reads ?? []).filter(read => read.files !== undefined);
  return files.length ? `${number(total(files, "files"))} files, ${size(total(files, "bytes"))}` : "";
}

const titleOf = {
  queries: query => query.text?.replace(/\s+/g, " ").trim() || query.where || `Query ${query.id}`,
  streams: stream => `Stream ${stream.story.query}`,
  graphs: graph => graph.text,
};

const factsOf = {
  queries: query => {
    const applied = filtersOf(query).filter(isApplied).length;
    return [took(query), readOf(query), applied ? `${applied} ${applied === 1 ? "filter" : "filters"}` : "no filter"];
  },
  streams: stream => {
    const batches = stream.story.batches ?? [];
    return [`${number(batches.length)} micro-batches`, `${number(total(batches, "lateRows"))} late rows`,
      `${number(total(batches, "filesSkipped"))} of ${number(total(batches, "files"))} files skipped`];
  },
  graphs: graph => [`${number(graph.hops?.length)} steps`, seconds(total(graph.hops ?? [], "seconds"))],
};

// --- the list ------------------------------------------------------------------------------------------------------

function matching() {
  const wanted = find("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...store[view].values()].reverse();
  if (!wanted.length) return found;
  return found.filter(record => {
    const text = JSON.stringify([titleOf[view](record), record.state, record.where, scansOf(record).map(s => s.table)]);
    return wanted.every(word => text.toLowerCase().includes(word));
  });
}

function item(record) {
  const state = record.state
    ? make("span", {class: "state", "data-state": record.state}, record.state.toLowerCase()) : null;
  return make("li", {}, make("a", {href: `#${view}/${encodeURIComponent(record.id)}`, "aria-current": record.id === chosen},
    make("span", {class: "title"}, titleOf[view](record)),
    make("span", {class: "facts"}, state, ...factsOf[view](record).filter(Boolean).map(fact => make("span", {}, fact)))));
}

function drawList() {
  for (const name of VIEWS) find(`[data-count=${name}]`).textContent = number(store[name].size);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const found = matching();
  const items = found.slice(0, SHOWN).map(item);
  if (!items.length) items.push(make("li", {class: "empty"}, store[view].size ? "Nothing matches." : `No ${view} yet.`));
  find("#items").replaceChildren(...items);
  if (chosen === null && found.length && !matchMedia("(max-width: 720px)").matches) choose(found[0].id);
}

// --- one query -----------------------------------------------------------------------------------------------------

function labelOf(filter) {
  const values = filter.values === null || filter.values === undefined ? "" : ` of ${number(filter.values)}`;
  return `${filter.id} · ${filter.kind || filter.state}${filter.kind ? values : ""} · ${size(filter.bytes ?? 0)}`;
}

// Arrows lie in lanes to the left of the plan: each filter has one, from where its values come from to what it narrows.
function drawPlan(part) {
  const rows = new Map(part.plan.map((line, at) => [line.node, at]));
  const drawn = (part.filters ?? []).filter(filter => (part.scans ?? []).some(scan => scan.filters.includes(filter.id)));
  const gutter = drawn.length * LANE + (drawn.length ? 22 : 0);
  const picture = svg("svg", {width: gutter, height: part.plan.length * ROW, role: "img",
    "aria-label": drawn.map(filter => `${labelOf(filter)} goes to ${filter.applied_to.join(", ")}`).join("; ")});
  const chips = new Map();
  drawn.forEach((filter, lane) => {
    const from = rows.get(filter.build) ?? 0, x = 8 + lane * LANE, y = from * ROW + ROW / 2;
    const note = node => chips.set(node, [...chips.get(node) ?? [], [filter, lane]]);
    note(filter.build);
    for (const scan of part.scans.filter(scan => scan.filters.includes(filter.id))) {
      const to = (rows.get(scan.node) ?? 0) * ROW + ROW / 2;
      const end = gutter - 8;
      picture.append(
        svg("path", {d: `M ${end} ${y} H ${x} V ${to} H ${end}`, fill: "none", stroke: colour(lane), "stroke-width": 1.6}),
        svg("path", {d: `M ${end - 1} ${to - 4} l 7 4 l -7 4 z`, fill: colour(lane)}),
        svg("circle", {cx: end, cy: y, r: 3, fill: colour(lane)}));
      note(scan.node);
    }
  });
  const lines = part.plan.map(line => make("li", {style: `padding-left:${gutter + line.depth * 18}px`},
    make("span", {class: line.kind}, line.text),
    ...(chips.get(line.node) ?? []).map(([filter, lane]) =>
      make("span", {class: "chip", style: `color:${colour(lane)}`}, labelOf(filter))),
    make("span", {class: "remark"}, line.remark)));
  return make("div", {class: "plan", tabindex: 0, role: "group", "aria-label": "Plan, from top to bottom"},
    make("ol", {}, picture, ...lines));
}

function drawStrip(canvas, runs) {
  const all = runs.reduce((sum, run) => sum + run, 0), width = canvas.clientWidth || 600, dense = devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(16 * dense);
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  pen.fillStyle = style.getPropertyValue("--skipped");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = style.getPropertyValue("--read");
  let at = 0;
  runs.forEach((run, i) => {
    const x = at / all * canvas.width;
    if (i % 2 === 0 && run) pen.fillRect(x, 0, Math.max(run / all * canvas.width, dense), canvas.height);
    at += run;
  });
  pen.fillStyle = style.getPropertyValue("--ground");
  if (all <= canvas.width / dense / 6) {
    for (let i = 1; i < all; i += 1) pen.fillRect(i / all * canvas.width - dense / 2, 0, dense, canvas.height);
  }
}

function strip(what, runs) {
  if (!runs?.length) return null;
  const read = runs.reduce((sum, run, i) => i % 2 ? sum : sum + run, 0), all = runs.reduce((sum, run) => sum + run, 0);
  const words = `${number(read)} of ${number(all)} ${what} left to be read`;
  const canvas = make("canvas", {role: "img", "aria-label": words});
  canvas.draw = () => drawStrip(canvas, runs);
  return make("div", {class: "strip"}, make("p", {class: "legend"}, words), canvas);
}

function drawScan(scan) {
  const facts = [scan.files_total ? `${number(scan.files_read)} of ${number(scan.files_total)} files` : "",
    scan.row_groups_total ? `${number(scan.row_groups_read)} of ${number(scan.row_groups_total)} row groups` : "",
    scan.bytes_total ? `${size(scan.bytes_read)} of ${size(scan.bytes_total)}` : "",
    scan.rows_read === null || scan.rows_read === undefined ? "" : `${number(scan.rows_read)} rows`];
  return make("div", {}, make("b", {}, last(scan.table)),
    make("span", {class: "facts"}, ...facts.filter(Boolean).map(fact => make("span", {}, fact)),
      scan.filters.length ? make("span", {}, `filtered by ${scan.filters.join(", ")}`) : null),
    strip("files", scan.file_runs), strip("row groups", scan.group_runs));
}

function table(heads, rows, numbers = []) {
  const cell = (value, at) => make("td", {class: numbers.includes(at) ? "number" : null}, value ?? "");
  return make("div", {class: "scroll"}, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(head => make("th", {scope: "col"}, head)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell))))));
}

const EVENTS = ["asked", "collected", "published", "received", "applied"];

function eventsOf(filter, start) {
  if (filter.late) {
    const events = EVENTS.map(name => [name, filter.late[name]]).filter(([, time]) => time);
    return events.map(([name, time]) => [name, Math.max(0, time - start)]);
  }
  if (!filter.kind) return [];
  const at = (filter.collect_ms ?? 0) / 1000;
  return [["asked", 0], ["collected", at], ...(isApplied(filter) ? [["applied", at]] : [])];
}

function drawTimeline(query, part) {
  const told = (part.filters ?? []).map(filter => [filter, eventsOf(filter, query.started)]).filter(([, e]) => e.length);
  if (!told.length) return null;
  const whole = Math.max(0.001, query.ended ? query.ended - query.started : 0, ...told.flatMap(([, e]) => e.map(([, t]) => t)));
  const rows = told.map(([filter, events], lane) => {
    const picture = svg("svg", {class: "timeline", viewBox: "0 0 1000 30", preserveAspectRatio: "none", "aria-hidden": "true"},
      svg("line", {x1: 5, x2: 995, y1: 15, y2: 15}),
      ...events.map(([name, time]) => svg("rect", {x: 5 + time / whole * 985, y: 7, width: 5, height: 16, fill: colour(lane)},
        svg("title", {}, `${name} ${seconds(time)}`))));
    const shown = new Map(events);
    return [filter.id, ...EVENTS.map(name => shown.has(name) ? seconds(shown.get(name)) : ""), picture];
  });
  return make("section", {}, make("h3", {}, "When"),
    make("p", {class: "legend"}, `Seconds after the query began to be planned; the whole took ${seconds(whole)}.`),
    table(["filter", ...EVENTS, `0 to ${seconds(whole)}`], rows, [1, 2, 3, 4, 5]));
}

function drawFilters(part) {
  if (!part.filters?.length) return null;
  const rows = part.filters.map(f => [f.id, f.join, f.column, f.kind, f.values === null ? "" : number(f.values),
    size(f.bytes ?? 0), f.state, (f.applied_to ?? []).join(", "), f.reason || lateWords(f.late)]);
  return make("section", {}, make("h3", {}, "Filters"), table(
    ["filter", "join", "column", "kind", "values", "size", "state", "goes to", "why not, or what it removed"], rows, [4, 5]));
}

function lateWords(late) {
  return late ? `late: ${number(late.files)} files, ${number(late.row_groups)} row groups, ${number(late.rows)} rows removed; `
    + `${number(late.opened_before)} files opened before it came` : "";
}

function drawWhyNot(part) {
  const joins = (part.joins ?? []).filter(join => join.reason).map(join => [join.condition || join.type, join.reason]);
  const scans = (part.scans ?? []).filter(scan => scan.reason).map(scan => [last(scan.table), scan.reason]);
  if (!joins.length && !scans.length) return null;
  return make("section", {}, make("h3", {}, "Why not"),
    ...[...joins, ...scans].map(([what, why]) => make("div", {class: "why"}, make("b", {}, what), why)));
}

function drawPart(query, part, name) {
  return make("section", {}, make("h3", {}, name), drawPlan(part), part.note ? make("p", {}, part.note) : null,
    part.scans?.length ? make("h3", {}, "Scans") : null,
    part.scans?.length ? make("p", {class: "legend"}, "In the order of the table's files:",
      make("i", {style: "background:var(--read)"}), "read", make("i", {style: "background:var(--skipped)"}), "skipped") : null,
    ...(part.scans ?? []).map(drawScan), drawFilters(part), drawTimeline(query, part), drawWhyNot(part));
}

const draw = {
  queries(query) {
    const parts = query.parts ?? [], main = parts.at(-1);
    const facts = [`began ${clock(query.started)}`, took(query) && `took ${took(query)}`, readOf(query),
      main ? `planning ${seconds((main.plan_ms ?? 0) / 1000)}, builds ${seconds((main.build_ms ?? 0) / 1000)}` : "", query.where];
    const reads = (query.reads ?? []).filter(read => read.files !== undefined || read.rows !== undefined);
    return [
      make("h2", {}, query.text ? "Query" : query.where || "Query"),
      make("div", {class: "facts"}, make("span", {class: "state", "data-state": query.state}, query.state.toLowerCase()),
        ...facts.filter(Boolean).map(fact => make("span", {}, fact))),
      query.text ? make("pre", {tabindex: 0}, query.text) : null,
      query.failure ? make("p", {class: "bad"}, `The query failed: ${query.failure}`) : null,
      query.note ? make("div", {class: "why"}, make("b", {}, "No filter"), query.note) : null,
      ...parts.map((part, at) => drawPart(query, part, at === parts.length - 1 ? "Plan" : `Subquery ${at + 1}`)),
      reads.length ? make("section", {}, make("h3", {}, "What Spark read"),
        table(["scan", "files", "bytes", "rows"], reads.map(read => [read.name, read.files === undefined ? "" : number(read.files),
          read.bytes === undefined ? "" : size(read.bytes), read.rows === undefined ? "" : number(read.rows)]), [1, 2, 3])) : null,
    ];
  },
  streams(stream) {
    const batches = [...stream.story.batches ?? []].reverse(), moves = [...stream.story.moves ?? []].reverse();
    const rows = batches.flatMap(batch => batch.sources.map(source => [
      String(batch.batchId), batch.watermark, source.description, source.cutOff ?? "", number(source.lateRows),
      number(source.nullRows), source.files ? `${number(source.filesSkipped)} of ${number(source.files)}` : "",
      source.rowGroups ? `${number(source.rowGroupsSkipped)} of ${number(source.rowGroups)}` : "", source.reason || batch.failure]));
    const moved = moves.map(move => [String(move.batch_id), move.operator, move.before, move.after, number(move.left_rows),
      number(move.moved_in), number(move.moved_out), number(move.rows_kept)]);
    return [
      make("h2", {}, `Stream ${stream.story.query}`),
      rows.length ? make("section", {}, make("h3", {}, "Late rows"), table(["batch", "watermark", "source", "late up to",
        "late rows", "NULL", "files skipped", "row groups skipped", "why not"], rows, [4, 5])) : null,
      moved.length ? make("section", {}, make("h3", {}, "Moving values"), table(["batch", "operator", "value before", "after",
        "left rows", "moved in", "out", "kept"], moved, [4, 5, 6, 7])) : null,
    ];
  },
  graphs(graph) {
    const widest = Math.max(1, ...(graph.hops ?? []).map(hop => hop.row_groups_total ?? 0));
    const rows = (graph.hops ?? []).map(hop => {
      const share = (hop.row_groups_read ?? 0) / widest;
      const bar = svg("svg", {width: 160, height: 14, role: "img", "aria-label": `${Math.round(share * 100)} percent of row groups`},
        svg("rect", {width: 160, height: 14, fill: "var(--skipped)"}),
        svg("rect", {width: Math.max(share * 160, share ? 1 : 0), height: 14, fill: "var(--read)"}));
      const published = (hop.publications ?? []).map(p => `${p.column}: ${number(p.vertices)} ids, ${size(p.bytes)}`).join("; ");
      return [hop.what, published, number(hop.reached),
        hop.row_groups_total ? `${number(hop.row_groups_read)} of ${number(hop.row_groups_total)}` : "all",
        hop.row_groups_total ? bar : "", hop.files_total ? `${number(hop.files_read)} of ${number(hop.files_total)}` : "all",
        seconds(hop.seconds), hop.note ?? ""];
    });
    return [make("h2", {}, graph.text),
      table(["step", "publishes", "reaches", "row groups read", "", "files read", "time", "why not"], rows, [2])];
  },
};

function drawDetail() {
  const record = chosen === null ? null : store[view].get(chosen), detail = find("#detail");
  document.body.toggleAttribute("data-open", record !== null && record !== undefined && location.hash.includes("/"));
  if (!record) {
    detail.replaceChildren(make("p", {class: "empty"}, `Choose from the ${view} on the left.`));
    return;
  }
  const back = make("a", {class: "back", href: `#${view}`}, "Back to the list");
  detail.replaceChildren(...[back, ...draw[view](record)].filter(Boolean));
  for (const canvas of detail.querySelectorAll("canvas")) canvas.draw();
}

// --- going around --------------------------------------------------------------------------------------------------

function choose(id, {follow = false} = {}) {
  chosen = id;
  for (const link of document.querySelectorAll("#items a")) {
    const own = decodeURIComponent(link.hash.slice(view.length + 2)) === id;
    link.setAttribute("aria-current", own);
    if (own && follow) link.scrollIntoView({block: "nearest"});
  }
  drawDetail();
}

function go() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  view = VIEWS.includes(name) ? name : "queries";
  chosen = rest.length ? decodeURIComponent(rest.join("/")) : null;
  drawList();
  drawDetail();
}

function step(by) {
  const links = [...document.querySelectorAll("#items a")];
  const at = links.findIndex(link => link.getAttribute("aria-current") === "true");
  const next = links[Math.min(links.length - 1, Math.max(0, at + by))];
  if (!next) return;
  history.replaceState(null, "", next.hash);
  choose(decodeURIComponent(next.hash.slice(view.length + 2)), {follow: true});
}

function shade(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("headgate-theme", theme); } catch { /* a file that is opened by itself has no storage */ }
  for (const canvas of document.querySelectorAll("canvas")) canvas.draw();
}

function listen() {
  const turn = () => shade(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  find("#theme").addEventListener("click", turn);
  find("#search").addEventListener("input", drawList);
  addEventListener("hashchange", go);
  addEventListener("resize", () => { for (const canvas of document.querySelectorAll("canvas")) canvas.draw(); });
  addEventListener("keydown", event => {
    const writing = event.target.matches?.("input");
    if (event.key === "Escape") { event.target.blur?.(); if (!writing) location.hash = `#${view}`; return; }
    if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "t") turn();
    else if (event.key === "/") { event.preventDefault(); find("#search").focus(); }
  });
}

// --- records -------------------------------------------------------------------------------------------------------

function take(records) {
  let changed = false;
  for (const record of records) {
    store[KINDS[record.record]].set(record.id, record);
    changed = true;
  }
  return changed;
}

async function ask() {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const status = find("#status");
  try {
    const answer = await fetch(`v1/history?since=${version}`, {headers: {Authorization: `Bearer ${token}`}});
    if (!answer.ok) throw new Error(answer.status === 401 ? "the token is wrong" : `answer ${answer.status}`);
    const news = await answer.json();
    if (news.version < version) for (const name of VIEWS) store[name].clear();
    version = news.version;
    status.textContent = "live";
    if (take(news.records)) {
      drawList();
      if (news.records.some(record => record.id === chosen)) drawDetail();
    }
  } catch (problem) {
    status.textContent = problem instanceof TypeError ? "the session has ended, or cannot be reached" : problem.message;
  }
}

function start() {
  let theme = null;
  try { theme = localStorage.getItem("headgate-theme"); } catch { /* see shade */ }
  shade(theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  listen();
  if (isKept) {
    take(JSON.parse(find("#records").textContent));
    find("#status").textContent = "from an event log";
    go();
  } else {
    go();
    ask();
    setInterval(ask, 1000);
  }
}

start();
